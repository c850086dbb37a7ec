"""Sources of evaluations: an evaluator for a game with rules, or a latent model in place of both."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.engine.batch import (
    Arrays,
    Evaluation,
    Evaluator,
    LatentModel,
    LatentOutput,
    first_rows,
    new_arrays,
    per_player,
    split,
)
from ramify.engine.config import SearchConfig
from ramify.games import Game, State

Answer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]  # logits, values, rewards


class Source(Protocol):
    """Creates searches, provides the arrays of their batches, and evaluates the batches."""

    num_actions: int
    name: str

    @property
    def backend(self) -> str | None:
        """The libraries that run the network of the evaluator, if it names them."""
        ...

    def new_search(self, state: State, config: SearchConfig) -> _core.Search: ...
    def begin(self, states: Sequence[State]) -> None:
        """Prepare for new searches from these root states."""
        ...

    def arrays(self, rows: int) -> Arrays:
        """Arrays with at least this many rows."""
        ...

    def answer(self, rows: Sequence[int]) -> Answer:
        """Evaluate the first rows; ``counts`` says how many belong to each search, in order."""
        ...


class RulesSource:
    """Rows are positions, evaluated by an evaluator."""

    def __init__(self, game: Game, evaluator: Evaluator | None) -> None:
        self.game = game
        self.evaluator = evaluator  # None: the core answers itself
        self.num_actions = game.num_actions
        self.name = game.name
        self._arrays: Arrays = {}
        self._rows = 0

    @property
    def backend(self) -> str | None:
        return getattr(self.evaluator, "backend", None)

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        settings = config.model_dump()
        if isinstance(state, _core.State):
            return _core.make_search(state.copy(), settings)
        return _core.make_python_search(state.copy(), settings)

    def begin(self, states: Sequence[State]) -> None:
        pass  # positions speak for themselves

    def arrays(self, rows: int) -> Arrays:
        if rows > self._rows:
            self._rows = rows
            self._arrays = new_arrays(rows, self.game.observation_shape, self.num_actions)
        return self._arrays

    def answer(self, rows: Sequence[int]) -> Answer:
        assert self.evaluator is not None
        batch = first_rows(self._arrays, sum(rows))
        answer = self.evaluator.evaluate(batch)
        try:
            logits, values = answer.logits, answer.values
        except AttributeError:
            raise _core.EvaluatorError(
                f"evaluate() must return an Evaluation with logits and values, not {type(answer).__name__}"
            ) from None
        return *split(Evaluation(logits, values), batch), None


class LatentSource:
    """Rows are (latent state, action) pairs, evaluated by the model; latent states are stored here by slot."""

    backend = None

    def __init__(self, model: LatentModel) -> None:
        if model.acting not in ("alternating", "single", "both"):
            raise ValueError(
                f"a latent model's attribute acting must be 'alternating', 'single' or 'both', not {model.acting!r}"
            )
        self.model = model
        self.num_actions = int(model.num_actions)
        self.name = type(model).__name__
        self._arrays: Arrays = {}
        self._rows = 0
        self._roots: list[State] = []
        self._latents: list[list[Any]] = []

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        legal = [state.legal_actions(player).tolist() if player in state.acting else [] for player in (0, 1)]
        acting = sum(1 << player for player in state.acting)
        return _core.make_latent_search(
            self.num_actions, self.model.acting, acting, legal[0], legal[1], config.model_dump()
        )

    def begin(self, states: Sequence[State]) -> None:
        self._roots = list(states)
        self._latents = [[] for _ in states]

    def arrays(self, rows: int) -> Arrays:
        if rows > self._rows:
            self._rows = rows
            self._arrays = {
                "legal": np.zeros((rows, 2, self.num_actions), np.uint8),
                "acting": np.zeros((rows, 2), np.uint8),
                "parents": np.zeros(rows, np.int32),
                "actions": np.zeros((rows, 2), np.int32),
                "slots": np.zeros(rows, np.int32),
            }
        return self._arrays

    def answer(self, rows: Sequence[int]) -> Answer:
        n = sum(rows)
        owner = np.repeat(np.arange(len(rows)), rows)
        parents, actions = self._arrays["parents"][:n], self._arrays["actions"][:n]
        output = self._initial(owner) if n and parents[0] < 0 else self._recurrent(owner, parents, actions)
        if not all(hasattr(output, name) for name in ("latents", "logits", "values", "rewards")):
            raise _core.EvaluatorError(f"the model must return a LatentOutput, not {type(output).__name__}")
        if not hasattr(output.latents, "__len__") or len(output.latents) != n:
            given = len(output.latents) if hasattr(output.latents, "__len__") else type(output.latents).__name__
            raise _core.EvaluatorError(f"the model must return {n} latent states, not {given}")
        for i, (search, slot) in enumerate(zip(owner, self._arrays["slots"][:n], strict=True)):
            store = self._latents[search]
            store.extend([None] * (int(slot) + 1 - len(store)))
            store[slot] = output.latents[i]
        return self._per_player(output, n, actions)

    def _initial(self, owner: NDArray[np.int64]) -> LatentOutput:
        return self.model.initial(np.stack([self._roots[search].observation(self._viewer(search)) for search in owner]))

    def _viewer(self, search: int) -> int:
        return 0 if 0 in self._roots[search].acting else 1

    def _recurrent(
        self, owner: NDArray[np.int64], parents: NDArray[np.int32], actions: NDArray[np.int32]
    ) -> LatentOutput:
        latents = stack([self._latents[search][slot] for search, slot in zip(owner, parents, strict=True)])
        return self.model.recurrent(latents, actions if self.model.acting == "both" else actions.max(axis=1))

    def _per_player(self, output: LatentOutput, n: int, actions: NDArray[np.int32]) -> Answer:
        acting = self._arrays["acting"][:n].view(np.bool_)
        zero_sum = self.model.acting != "single"
        logits = per_player(output.logits, n, acting, what="logits", actions=self.num_actions, zero_sum=zero_sum)
        values = per_player(output.values, n, acting, what="values", actions=None, zero_sum=zero_sum)
        if output.rewards is None:
            return logits, values, np.zeros((n, 2), np.float32)
        moved = actions >= 0  # the reward belongs to whoever acted on the way here
        rewards = per_player(output.rewards, n, moved, what="rewards", actions=None, zero_sum=zero_sum)
        return logits, values, rewards


def stack(latents: list[Any]) -> Any:
    """Stack latent states to one array of their own type (torch tensors stay torch tensors)."""
    torch = sys.modules.get("torch")  # not imported here: there are torch latents only if the model has imported it
    if torch is not None and isinstance(latents[0], torch.Tensor):
        return torch.stack(latents)
    return np.stack(latents)
