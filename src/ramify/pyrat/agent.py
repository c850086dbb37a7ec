"""An agent that searches every position and plays an equilibrium, or the visits, of what it found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.policies import Method
from ramify.pyrat.game import PyRatGame
from ramify.pyrat.mcgs import FPU_OFFSET
from ramify.pyrat.predict import Predictor, evaluator_of


class DecoupledPUCTConfig(Settings):
    """Settings of ``MCTSAgent``; frozen. An unknown or out-of-range setting raises a ``ValueError`` that names it."""

    what = "decoupled PUCT"

    simulations: int = Field(800, ge=1, le=2**62, description="Number of simulations per move.")
    c_puct: float | None = Field(
        None, ge=0, le=1e9, description="Exploration constant of PUCT; None: the evaluator's own, as in SearchConfig."
    )
    force_k: float = Field(
        0.0,
        ge=0,
        le=1e9,
        description="SearchConfig.forced_playouts, whose visits are pruned from policies; 0: none.",
    )
    fpu: Literal["zero", "parent", "reduction"] = Field("parent", description="First-play urgency, as in SearchConfig.")
    fpu_offset: float = Field(FPU_OFFSET, ge=0, le=1e9, description="Offset of fpu, as in SearchConfig.")
    graph: bool = Field(True, description="Share nodes between equal positions.")
    action_method: Literal["nash", "visits"] = Field(
        "nash", description="What actions are drawn from: an equilibrium of the payoffs found, or the visits."
    )
    action_temperature: float = Field(
        1.0, ge=0, description="Actions are drawn in proportion to weights ** (1 / temperature); 0: the best one."
    )
    seed: int = Field(0, ge=0, description="Seed of the draws.")

    def search(self) -> SearchConfig:
        """The settings of the search."""
        return SearchConfig(
            simulations=self.simulations,
            c_puct=self.c_puct,
            forced_playouts=self.force_k,
            fpu=self.fpu,
            fpu_offset=self.fpu_offset,
            graph=self.graph,
            parent_visits="edges",
            opponent_weights="conditional",
        )


class MCTSAgent:
    """Plays PyRat by search. ``nn``: any object with ``predict(game)``, or an evaluator; None for uniform policies.

    Moves are drawn from one random stream, so an agent with the same seed and the same positions plays the same game.
    """

    def __init__(
        self,
        config: DecoupledPUCTConfig | Mapping[str, Any] | None = None,
        nn: Predictor | Evaluator | NativeEvaluator | None = None,
    ) -> None:
        self.config = config if isinstance(config, DecoupledPUCTConfig) else DecoupledPUCTConfig(**(config or {}))
        self.nn = nn
        self._rng = np.random.default_rng(self.config.seed)

    def search(self, game: PyRatGame) -> SearchResult:
        """A new search of the game's position."""
        state = PyRatGame.state_of(game)
        return Searcher(state.game, evaluator_of(self.nn, state), self.config.search(), seed=self.config.seed).run(
            state
        )

    def policy(self, result: SearchResult, player: int) -> NDArray[np.float32]:
        """What the agent draws from as player 1 or 2, [5]."""
        if player not in (1, 2):
            raise ValueError(f"player must be 1 or 2, not {player!r}")
        method: Method = self.config.action_method
        if method == "visits" and self.config.force_k > 0:
            method = "pruned"
        return result.policy(player - 1, method, self.config.action_temperature)

    def get_move(self, game: PyRatGame, player: int = 1) -> int:
        """The move to play as player 1 or 2: 0 to 4, as in ``DIRECTIONS``."""
        policy = self.policy(self.search(game), player).astype(np.float64)
        return int(self._rng.choice(len(policy), p=policy / policy.sum()))
