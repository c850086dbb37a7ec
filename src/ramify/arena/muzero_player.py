"""Players that search a learned model (MuZero) in place of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ramify.arena.network_files import load_module, network_file, trained_search
from ramify.arena.player import Turn, register_player
from ramify.arena.search_player import SearchPlayer, SearchPlayerConfig
from ramify.engine.batch import LatentModel
from ramify.engine.result import SearchResult
from ramify.engine.searcher import Searcher
from ramify.games import Game
from ramify.games.chance import refuse_learned_model

SHARED_NODES = ("graph", "canonical", "short_circuit")  # settings of graphs, which a learned model's search has not


@register_player
class MuZeroPlayerConfig(SearchPlayerConfig):
    """A player that searches with a learned network: the rules say who acts and what is legal now, and nothing else.

    ``network`` is one of the kinds muzero*; settings of the search have MuZero's defaults, or those that a network was
    trained with, if it is a shipped one or lies in the folder of its run. Each turn is a new search.
    (``search:network=…`` with the same network searches the rules, and evaluates positions by the network.)
    """

    what: ClassVar[str] = "player"

    kind: Literal["muzero"] = "muzero"  # type: ignore[assignment]
    c_puct: float | None = Field(1.25, ge=0, le=1e9, description="Exploration constant of PUCT.")
    c_base: float | None = Field(19652.0, ge=1e-6, le=1e12, description="Base of the growth of c_puct; None: constant.")
    normalize: Literal["none", "minmax", "remaining"] = Field(
        "minmax", description="Normalisation of values in selection."
    )

    @model_validator(mode="before")
    @classmethod
    def _as_trained(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        network = given.get("network")
        trained = trained_search(network) if isinstance(network, str) else {}
        if "selection" in given:
            trained.pop("acting", None)  # belongs to the selection of the training
        return {**trained, **given}

    @model_validator(mode="after")
    def _learned(self) -> Self:
        if self.network is None:
            raise ValueError("network is required: a learned network, of one of the kinds muzero*")
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Searchers ignore these, so that settings of a run serve any network; who names them for a player is told."""
        for name in SHARED_NODES:
            if getattr(self, name):
                raise ValueError(f"{name}=true needs the rules of a game: latent states have no keys to share nodes by")
        return self

    def open(self, game: Game) -> MuZeroPlayer:
        return MuZeroPlayer(game, self.open_model(game), self)

    def open_model(self, game: Game) -> LatentModel:
        """The latent model of the search."""
        assert self.network is not None
        refuse_learned_model(game)
        path = network_file(self.network)
        if path.suffix == ".onnx":
            raise ValueError(f"a learned model is a .safetensors file, not {path}")
        module = load_module(game, path)
        from ramify.evaluators import LatentNetwork
        from ramify.networks import LearnedModel

        if not isinstance(module, LearnedModel):
            raise ValueError(f"{path} is a network of kind {module.config.kind!r}: use search:network={self.network}")
        return LatentNetwork(module, self.device)


class MuZeroPlayer(SearchPlayer):
    """Searches its turns: with ``exact`` one by one, so that their rounding does not depend on other games."""

    def __init__(self, game: Game, model: LatentModel, config: MuZeroPlayerConfig) -> None:
        super().__init__(game, model, config.replace(cache=0))  # latent states have no keys
        self._alone = self._alone or config.exact

    def _search(self, turns: Sequence[Turn]) -> list[SearchResult]:
        found = super()._search(turns)
        if self._shared is not None:
            self._shared.reset()  # results keep what they show; latent states are not needed any more
        return found

    def _searcher(self, seed: int) -> Searcher:
        return Searcher(self.evaluator, config=self.search, seed=seed)
