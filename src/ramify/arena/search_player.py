"""Players that search with any evaluator, and players that use a network's policy directly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from ramify.arena.network_files import network_file, network_identity, network_parameters, open_evaluator
from ramify.arena.player import Choice, PlayerConfig, Turn, register_player
from ramify.engine.batch import Evaluator, NativeEvaluator, batch_of, split
from ramify.engine.batching import accelerated
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig, c_puct_of
from ramify.engine.native import DEFAULT_EVALUATOR, named_evaluator
from ramify.engine.policies import Acting, NashConfig
from ramify.engine.result import SearchResult, action_by
from ramify.engine.searcher import Searcher
from ramify.evaluators import Cached
from ramify.evaluators.pending import NETWORK_C_PUCT
from ramify.games import Game


class NetworkUser(PlayerConfig):
    """Settings of players with a network."""

    network: str | None = Field(
        None,
        description=(
            "Network: a file, the folder of a run (its best-rated or newest checkpoint), or the name of a shipped one."
        ),
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Device that runs the network; not part of the player's identity."
    )
    cache: int = Field(
        20_000, ge=0, description="Maximum number of cached evaluations; not part of the player's identity."
    )
    exact: bool = Field(
        True,
        description=(
            "Evaluate so that games are bit-for-bit identical however they are batched; False is faster in batches."
        ),
    )
    backend: Literal["openvino", "torch", "onnxruntime"] | None = Field(
        None,
        description=(
            "Library that runs the network on a CPU; part of the identity only if given. None: onnxruntime with exact, "
            "otherwise the fastest."
        ),
    )
    temperature: float | None = Field(
        None,
        ge=0,
        description=(
            "Temperature of action selection during the first temperature_moves turns, or during the whole game if "
            "that is 0. None: 1 during those turns; otherwise 0, except where mixed strategies are sampled."
        ),
    )
    temperature_moves: int = Field(
        0, ge=0, description="Number of turns, counting both players, before action selection becomes greedy."
    )

    where: ClassVar[tuple[str, ...]] = ("device", "cache")  # affect the speed of a player, but not its actions

    def content(self) -> dict[str, Any]:
        """The settings, with the network's checksum in place of its file."""
        content = self.model_dump(mode="json", exclude=set(self.where))
        if self.network is not None:
            content["network"] = network_identity(network_file(self.network))
        if self.backend is None:  # it follows from the other settings and the machine
            del content["backend"]
        # As in results stored before a temperature could hold for the whole game.
        if self.temperature is None:
            content["temperature"] = 1.0
        elif self.temperature_moves == 0:
            content["temperature_moves"] = None
        return content

    def temperature_at(self, ply: int) -> float | None:
        """The temperature of a turn; None: the default of this kind of player."""
        if self.temperature is not None and self.temperature_moves == 0:
            return self.temperature
        if ply >= self.temperature_moves:
            return None
        return 1.0 if self.temperature is None else self.temperature

    @field_validator("network")
    @classmethod
    def _one_file(cls, network: str | None) -> str | None:
        """Replace a folder by the network file it currently stands for: a run in progress adds newer ones."""
        return str(network_file(network)) if network is not None and Path(network).is_dir() else network


@register_player
class SearchPlayerConfig(NetworkUser, SearchConfig):
    """A player that searches: all settings of ``SearchConfig``, and the evaluator.

    ``evaluator`` is "uniform", "rollout", "rollout:N", "greedy" or "planner"; a ``network`` (a file, the folder of a
    training run or a checkpoint, or the name of a shipped network) replaces it. Each turn is a new search.
    """

    what: ClassVar[str] = "player"

    kind: Literal["search"] = "search"
    evaluator: str = Field(
        DEFAULT_EVALUATOR,
        description=(
            "Evaluator used without a network: uniform, rollout, rollout:N, greedy, greedy:N, or planner. The strong "
            "choice for PyRat is planner, with normalize=remaining."
        ),
    )
    acting: Acting = Field("visits", description="Policy from which actions are chosen.")
    nash: NashConfig = Field(default_factory=NashConfig, description="Equilibrium of acting=nash.")

    @field_validator("evaluator")
    @classmethod
    def _known_evaluator(cls, evaluator: str) -> str:
        named_evaluator(evaluator)  # raises for any other name
        return evaluator

    @model_validator(mode="after")
    def _one_evaluator(self) -> Self:
        if self.network is not None and self.evaluator != DEFAULT_EVALUATOR:
            raise ValueError("network and evaluator cannot both be set")
        return self

    @model_validator(mode="after")
    def _average_is_kept(self) -> Self:
        if self.acting == "average" and self.selection not in ("regret", "exp3"):
            raise ValueError("acting=average needs selection=regret or selection=exp3")
        return self

    def search_config(self) -> SearchConfig:
        """The search settings alone."""
        return SearchConfig(**{name: getattr(self, name) for name in SearchConfig.model_fields})

    def content(self) -> dict[str, Any]:
        """The settings for the identity, with numbers for those that depend on the evaluator and its device."""
        found = self.resolved(
            NETWORK_C_PUCT if self.network is not None else c_puct_of(self._native()),
            self.network is not None and self.device == "cuda",
            0 if self.network is None else network_parameters(network_file(self.network)),
        )
        settings = {name: getattr(found, name) for name in ("c_puct", "batch", "in_flight")}
        content = {**super().content(), **settings}
        if self.error_scale is None:  # as in results stored before there was this setting
            del content["error_scale"]
        if self.rollout_by == "greedy":  # likewise
            del content["rollout_by"]
        if self.bundle is None:  # likewise
            del content["bundle"]
        if self.acting != "nash" or self.nash == NashConfig():  # likewise; without acting=nash it has no effect
            del content["nash"]
        return content

    def action(self, turn: Turn, result: SearchResult) -> int:
        """The action to play, by what a search of the turn's position found."""
        rng = np.random.default_rng(turn.seed)
        chosen = result.action(self.temperature_at(turn.ply), rng, self.acting, self.nash)
        return action_by(turn.player, chosen)

    def open(self, game: Game) -> SearchPlayer:
        return SearchPlayer(game, self.open_evaluator(game), self)

    def open_evaluator(self, game: Game) -> Evaluator | NativeEvaluator:
        """The evaluator of the search."""
        if self.network is None:
            return self._native()
        exact = self.exact and self.max_seconds is None
        errors = self.error_scale is not None
        return open_evaluator(game, self.network, device=self.device, exact=exact, backend=self.backend, errors=errors)

    def _native(self) -> NativeEvaluator:
        return named_evaluator(self.evaluator)


class SearchPlayer:
    """Searches its turns, in shared batches if the evaluator is not native."""

    def __init__(self, game: Game, evaluator: Any, config: SearchPlayerConfig) -> None:
        self.game, self.evaluator, self.config = game, evaluator, config
        self.search = config.search_config()
        # Time limits are per search: searches that run together would share the time.
        self._alone = isinstance(evaluator, NativeEvaluator) or config.max_seconds is not None
        self._threads = len(os.sched_getaffinity(0)) if accelerated(evaluator) else None
        self.evaluations = 0  # of all searches
        cached = config.cache and not isinstance(evaluator, NativeEvaluator)
        self.cache = EvaluationCache(evaluator, config.cache) if cached else None  # for all turns of all games
        # Made and tried now, so that errors in the settings are raised now: at a turn they would forfeit the game.
        self._shared: Searcher | None = self._searcher(0)
        self._shared.check_settings(game.initial_state(0))

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [choice.action for choice in self.consider(turns)]

    def consider(self, turns: Sequence[Turn]) -> list[Choice]:
        """An action and the value of the position, for each turn."""
        results = self._search(turns)
        self.evaluations += sum(result.stats["evaluations"] for result in results)
        return [self._choice(turn, result) for turn, result in zip(turns, results, strict=True)]

    def _search(self, turns: Sequence[Turn]) -> list[SearchResult]:
        if self._alone:
            return [self._searcher(turn.seed).run(turn.state) for turn in turns]
        seeds = [turn.seed for turn in turns]
        assert self._shared is not None  # until the player is closed
        return self._shared.run_many([turn.state for turn in turns], seeds, threads=self._threads)

    def _searcher(self, seed: int) -> Searcher:
        return Searcher(self.game, self.evaluator, self.search, seed=seed, cache=self.cache)

    def _choice(self, turn: Turn, result: SearchResult) -> Choice:
        return Choice(self.config.action(turn, result), float(result.value[turn.player]))

    def close(self) -> None:
        self.evaluator = self.cache = self._shared = None


@register_player
class NetworkPlayerConfig(NetworkUser):
    """A player without search: plays the most likely action of its network's policy, or samples it where both act.

    ``temperature=0`` plays the most likely action in every game, and ``temperature=1`` samples in every game.
    """

    kind: Literal["network"] = "network"
    network: str = Field(
        description="Network: a .safetensors or .onnx file, the folder of a run, or the name of a shipped network."
    )

    def open(self, game: Game) -> NetworkPlayer:
        evaluator = open_evaluator(game, self.network, device=self.device, exact=self.exact, backend=self.backend)
        return NetworkPlayer(game, Cached(evaluator, self.cache) if self.cache else evaluator, self)


class NetworkPlayer:
    """Evaluates all of its turns in one batch."""

    def __init__(self, game: Game, evaluator: Any, config: NetworkPlayerConfig) -> None:
        self.game, self.evaluator, self.config = game, evaluator, config

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [choice.action for choice in self.consider(turns)]

    def consider(self, turns: Sequence[Turn]) -> list[Choice]:
        """An action and the value of the position, for each turn."""
        batch = batch_of([turn.state for turn in turns])
        logits, values = split(self.evaluator.evaluate(batch), batch)
        return [
            Choice(self._pick(turn, logits[row, turn.player]), float(values[row, turn.player]))
            for row, turn in enumerate(turns)
        ]

    def _pick(self, turn: Turn, logits: Any) -> int:
        legal = turn.state.legal_actions(turn.player)
        own = logits[legal].astype(np.float64)
        temperature = self.config.temperature_at(turn.ply)
        if temperature is None:
            temperature = float(len(turn.state.acting) == 2)
        if temperature == 0:
            return int(legal[own.argmax()])
        weights = np.exp((own - own.max()) / temperature)
        return int(np.random.default_rng(turn.seed).choice(legal, p=weights / weights.sum()))

    def close(self) -> None:
        self.evaluator = None
