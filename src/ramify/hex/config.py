"""What the players and engines of Hex can be told: the keys of ``MCTS_CONFIG``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine.config import SearchConfig


class MCTSConfig(Settings):
    """Settings as ``MCTS_CONFIG`` has them; frozen. An unknown or impossible one raises a ``ValueError``."""

    what = "MCTS"

    algorithm: Literal["mcts", "minimax"] = Field("mcts", description="search by simulations, or alpha-beta")
    num_simulations: int = Field(800, ge=1, description="per move")
    exploration_constant: float = Field(1.4, ge=0, description="weight of exploration, c_puct")
    temperature: float = Field(1.0, ge=0, description="of moves drawn by visits in self-play; 0: the most visited")
    enable_transposition_table: bool = Field(
        False, description="equal positions, and those turned by 180 degrees, share a node"
    )
    enable_batching: bool = Field(False, description="evaluate several leaves of a search together")

    batch_size: int = Field(16, ge=1, le=65536, description="how many, with enable_batching")
    max_table_size: int | None = Field(None, ge=1, description="bound on the nodes; when full the graph stops growing")
    minimax_depth: int = Field(3, ge=1, description="of algorithm minimax")
    minimax_seconds: float | None = Field(None, gt=0, description="time per move of algorithm minimax")
    seed: int = Field(0, ge=0, description="of all chance")

    @classmethod
    def read(cls, config: MCTSConfig | Mapping[str, Any] | None) -> MCTSConfig:
        """The settings from a dict with some of the keys."""
        if config is not None and not isinstance(config, MCTSConfig | Mapping):
            raise TypeError(f"mcts_config is a dict with keys of MCTS_CONFIG, not {type(config).__name__}")
        return config if isinstance(config, MCTSConfig) else cls(**(config or {}))

    def search(self) -> SearchConfig:
        """As the engine takes them."""
        return SearchConfig(
            simulations=self.num_simulations,
            c_puct=self.exploration_constant,
            graph=self.enable_transposition_table,
            canonical=self.enable_transposition_table,
            max_nodes=self.max_table_size,
            batch=self.batch_size if self.enable_batching else 1,
        )


MCTS_CONFIG: dict[str, Any] = MCTSConfig().model_dump()
