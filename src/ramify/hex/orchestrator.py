"""Many games of Hex side by side, whose searches share batches."""

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
    """Runs ``games_at_once`` games of one model against itself, each with a search of its own.

    A search that needs an evaluation waits; the leaves of all that wait go to the model in one batch. What is found is
    what each search would find alone. Moves are drawn by visits at ``temperature`` all the game through.
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
            raise ValueError("only searches share batches: games side by side need algorithm='mcts'")
        self.model = model if isinstance(model, SimpleModelInference) else SimpleModelInference(model)
        self.board_size, self.games_at_once = board_size, games_at_once

    def play_games(self, games: int, first: int = 0) -> list[GameRecord]:
        """So many games, by number; what a game becomes depends on the seed and its number alone."""
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
        """The roots of searches from these positions, with the config's simulations unless told otherwise."""
        config = self.config
        engine = BatchedNeuralMCTS(
            self.model,
            config.exploration_constant,
            batch_size=config.search().batch,
            enable_transposition_table=config.enable_transposition_table,
            max_table_size=config.max_table_size,
            seed=config.seed,
        )
        return engine.search_many(root_states, config.num_simulations if num_simulations is None else num_simulations)
