"""Parallel self-play games of Hex with shared batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramify.games import make
from ramify.hex.config import MCTSConfig
from ramify.hex.mcts import BatchedNeuralMCTS
from ramify.hex.model import SimpleModelInference
from ramify.hex.node import MCTSNode
from ramify.hex.state import HexGameState
from ramify.selfplay import GameRecord, PlayConfig, SelfPlay, decode


class Orchestrator:
    """Plays ``games_at_once`` self-play games in parallel, each with its own search.

    The leaves of all searches are evaluated in one batch; the result of each search is the same as if it ran alone.
    Moves are sampled by visits at ``temperature`` throughout the game.
    """

    def __init__(
        self,
        model: Any,
        board_size: int = 11,
        games_at_once: int = 16,
        mcts_config: MCTSConfig | Mapping[str, Any] | None = None,
    ) -> None:
        self.config = MCTSConfig.read(mcts_config)
        if self.config.algorithm != "mcts":
            raise ValueError("Orchestrator needs algorithm='mcts': alpha-beta has no evaluations to batch")
        self.model = model if isinstance(model, SimpleModelInference) else SimpleModelInference(model)
        self.board_size, self.games_at_once = board_size, games_at_once

    def play_games(self, games: int, first: int = 0) -> list[GameRecord]:
        """Play games; each depends only on the seed and its number."""
        temperature = self.config.temperature
        play = SelfPlay(
            make("hex", size=self.board_size),
            self.model.evaluator,
            self.config.search(),
            PlayConfig(temperature=temperature, temperature_end=temperature),
            games=games,
            parallel_games=self.games_at_once,
            seed=self.config.seed,
            first=first,
        )
        records = [decode(record) for finished in play for record in finished]
        return sorted(records, key=lambda record: record.number)

    def search(self, root_states: Sequence[HexGameState], num_simulations: int | None = None) -> list[MCTSNode]:
        """Search these positions; returns the roots. ``simulations`` overrides the config's."""
        config = self.config
        engine = BatchedNeuralMCTS(
            self.model,
            config.exploration_constant,
            batch_size=config.search().batch_size,
            enable_transposition_table=config.enable_transposition_table,
            max_table_size=config.max_table_size,
            seed=config.seed,
        )
        return engine.search_many(root_states, config.num_simulations if num_simulations is None else num_simulations)
