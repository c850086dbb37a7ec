"""Self-play and a player for tournaments, by search or by alpha-beta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.games import make
from ramify.hex.config import MCTSConfig
from ramify.hex.mcts import BatchedNeuralMCTS, NeuralMCTS
from ramify.hex.model import SimpleModelInference
from ramify.hex.node import MCTSNode
from ramify.hex.state import HexGameState, Move
from ramify.search.alphabeta import alphabeta
from ramify.search.policies import tempered
from ramify.selfplay import GameRecord, PlayConfig, SelfPlay, decode


class BatchedMCTSPlayer:
    """Chooses the most visited move, or with ``algorithm="minimax"`` the move that alpha-beta finds."""

    def __init__(self, model: Any, mcts_config: MCTSConfig | dict[str, Any] | None = None) -> None:
        self.config = MCTSConfig.read(mcts_config)
        self.num_simulations = self.config.num_simulations
        self.mcts_engine = make_engine(model, self.config) if self.config.algorithm == "mcts" else None

    def select_move(self, state: HexGameState) -> Move:
        """The move to play; the same one each time."""
        if self.mcts_engine is None:
            return minimax_move(state, self.config)
        return select_move(self.mcts_engine.search(state, self.num_simulations))


class BatchedMCTSSelfPlayEngine:
    """Games of one model against itself, ``games_at_once`` of them with shared batches.

    The settings are those of ``MCTS_CONFIG``; moves are drawn by visits at ``temperature`` all the game through.
    """

    def __init__(
        self,
        model: Any,
        board_size: int = 11,
        mcts_simulations: int = 800,
        *,
        games_at_once: int = 16,
        mcts_config: MCTSConfig | dict[str, Any] | None = None,
    ) -> None:
        self.config = MCTSConfig.read(mcts_config).replace(num_simulations=mcts_simulations)
        self.board_size, self.mcts_simulations, self.games_at_once = board_size, mcts_simulations, games_at_once
        self.player = BatchedMCTSPlayer(model, self.config)
        self._model = SimpleModelInference(model) if self.config.algorithm == "mcts" else None
        self._rng = np.random.default_rng(self.config.seed)

    def play_games(self, games: int, first: int = 0) -> list[GameRecord]:
        """So many games, by number; what a game becomes depends on the seed and its number alone."""
        if self._model is None:
            raise ValueError("records of self-play hold what simulations found: they need algorithm='mcts'")
        temperature = self.config.temperature
        play = SelfPlay(
            make("hex", size=self.board_size),
            self._model.evaluator,
            self.config.search(),
            PlayConfig(temperature=temperature, temperature_end=temperature),
            games=games,
            places=self.games_at_once,
            seed=self.config.seed,
            first=first,
        )
        records = [decode(record) for finished in play for record in finished]
        return sorted(records, key=lambda record: record.number)

    def select_move(self, state: HexGameState) -> Move:
        """One move as in self-play: drawn by visits."""
        engine = self.player.mcts_engine
        if engine is None:
            return self.player.select_move(state)
        return select_move(engine.search(state, self.mcts_simulations), self.config.temperature, self._rng)


def make_engine(model: Any, config: MCTSConfig) -> NeuralMCTS:
    """The search that these settings describe."""
    common: dict[str, Any] = {
        "enable_transposition_table": config.enable_transposition_table,
        "max_table_size": config.max_table_size,
        "seed": config.seed,
    }
    if config.enable_batching:
        return BatchedNeuralMCTS(model, config.exploration_constant, batch_size=config.batch_size, **common)
    return NeuralMCTS(model, config.exploration_constant, **common)


def select_move(root: MCTSNode, temperature: float = 0.0, rng: np.random.Generator | None = None) -> Move:
    """A move drawn in proportion to visits ** (1 / temperature); at 0 the most visited, of equals the likelier."""
    priors = root.policy_priors
    if priors is None:
        raise ValueError("the root has not been expanded: there is no move to choose")
    moves = list(root.children)
    visits = np.array([root.children[move].visits for move in moves], np.float64)
    if temperature == 0 or not visits.any():
        return max(moves, key=lambda move: (root.children[move].visits, priors[move]))
    rng = rng if rng is not None else np.random.default_rng()
    return moves[int(rng.choice(len(moves), p=tempered(visits, temperature)))]


def minimax_move(state: HexGameState, config: MCTSConfig) -> Move:
    """What alpha-beta plays here."""
    found = alphabeta(state.state, depth=config.minimax_depth, seconds=config.minimax_seconds)
    row, column = divmod(found.action, state.size)
    return row, column
