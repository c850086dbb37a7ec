"""Settings of the Hex players and engines: the keys of ``MCTS_CONFIG``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine.config import SearchConfig


class MCTSConfig(Settings):
    """The settings of ``MCTS_CONFIG``; frozen. An unknown or out-of-range setting raises a ``ValueError``."""

    what = "MCTS"

    algorithm: Literal["mcts", "minimax"] = Field(
        "mcts", description="Search algorithm: MCTS, or alpha-beta (minimax)."
    )
    num_simulations: int = Field(800, ge=1, description="Number of simulations per move.")
    exploration_constant: float = Field(1.4, ge=0, description="Exploration constant of PUCT, c_puct.")
    temperature: float = Field(
        1.0, ge=0, description="Temperature of move selection by visits in self-play; 0: always the most visited move."
    )
    enable_transposition_table: bool = Field(
        False, description="Share nodes between equal positions and between positions rotated by 180 degrees."
    )
    enable_batching: bool = Field(False, description="Evaluate several leaves of a search together.")

    batch_size: int = Field(
        16, ge=1, le=65536, description="Number of leaves evaluated together, with enable_batching."
    )
    max_table_size: int | None = Field(
        None, ge=1, description="Maximum number of nodes; a full graph is no longer expanded. None: no limit."
    )
    minimax_depth: int = Field(3, ge=1, description="Search depth in plies for algorithm=minimax.")
    minimax_seconds: float | None = Field(
        None, gt=0, description="Time limit per move in seconds for algorithm=minimax; None: no limit."
    )
    seed: int = Field(0, ge=0, description="Seed of the random number generator.")

    @classmethod
    def read(cls, config: MCTSConfig | Mapping[str, Any] | None) -> MCTSConfig:
        """The settings from a dict with any of the keys."""
        if config is not None and not isinstance(config, MCTSConfig | Mapping):
            raise TypeError(f"mcts_config must be a dict with keys of MCTS_CONFIG, not {type(config).__name__}")
        return config if isinstance(config, MCTSConfig) else cls(**(config or {}))

    def search(self) -> SearchConfig:
        """The settings as a SearchConfig."""
        return SearchConfig(
            simulations=self.num_simulations,
            c_puct=self.exploration_constant,
            graph=self.enable_transposition_table,
            canonical=self.enable_transposition_table,
            max_nodes=self.max_table_size,
            batch=self.batch_size if self.enable_batching else 1,
        )


MCTS_CONFIG: dict[str, Any] = MCTSConfig().model_dump()
