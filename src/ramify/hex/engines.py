"""Self-play engines and a player, by MCTS or by alpha-beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine.alphabeta import alphabeta
from ramify.engine.policies import tempered
from ramify.hex.config import MCTSConfig
from ramify.hex.mcts import BatchedNeuralMCTS, NeuralMCTS
from ramify.hex.model import SimpleModelInference
from ramify.hex.node import MCTSNode
from ramify.hex.orchestrator import Orchestrator
from ramify.hex.state import HexGameState, Move
from ramify.selfplay import GameRecord


class BatchedMCTSPlayer:
    """Chooses the most visited move, or with ``algorithm="minimax"`` the move that alpha-beta finds.

    ``model_path``: a file, the name of a shipped network, or any other model that ``SimpleModelInference`` takes.
    """

    def __init__(self, model_path: Any, mcts_config: MCTSConfig | Mapping[str, Any] | None = None) -> None:
        self.config = MCTSConfig.read(mcts_config)
        self.num_simulations = self.config.num_simulations
        self.model, self.mcts_engine = make_engine(model_path, self.config)

    def select_move(self, state: HexGameState) -> Move:
        """The move to play; deterministic."""
        if self.mcts_engine is None:
            return minimax_move(state, self.config)
        return self._select_best_move(self.mcts_engine.search(state, self.num_simulations))

    def _select_best_move(self, root: MCTSNode) -> Move:
        return select_move(root)


class SelfPlayEngine:
    """Self-play games of Hex. This class chooses moves by alpha-beta, without the model; subclasses may differ.

    Settings are those of ``MCTS_CONFIG``; keyword arguments override ``mcts_config``.
    """

    def __init__(
        self,
        model: Any = None,
        board_size: int = 11,
        *,
        mcts_config: MCTSConfig | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.config = MCTSConfig.read(mcts_config).replace(**settings)
        self.board_size, self.temperature = board_size, self.config.temperature
        self.model = model
        self._rng = np.random.default_rng(self.config.seed)

    def play_game(self) -> HexGameState:
        """Play one game from the empty board; returns its final position, which has the moves."""
        state = HexGameState(self.board_size)
        while not state.game_over:
            state = state.make_move(*self._select_move(state))
        return state

    def _select_move(self, state: HexGameState) -> Move:
        return minimax_move(state, self.config)


class BatchedMCTSSelfPlayEngine(SelfPlayEngine):
    """Self-play games by MCTS. ``play_games`` plays ``games_at_once`` in parallel with shared batches.

    ``mcts_simulations`` is an alias of ``num_simulations`` of ``MCTS_CONFIG``.
    """

    def __init__(
        self,
        model: Any = None,
        board_size: int = 11,
        mcts_simulations: int | None = None,
        *,
        games_at_once: int = 16,
        mcts_config: MCTSConfig | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        if mcts_simulations is not None:
            if "num_simulations" in settings:
                raise ValueError("mcts_simulations and num_simulations are the same setting: give only one of them")
            settings["num_simulations"] = mcts_simulations
        super().__init__(model, board_size, mcts_config=mcts_config, **settings)
        self.model, self.mcts_engine = make_engine(model, self.config)
        self.mcts_simulations, self.games_at_once = self.config.num_simulations, games_at_once

    def play_games(self, games: int, first: int = 0) -> list[GameRecord]:
        """Play games; each depends only on the seed and its number."""
        if self.mcts_engine is None:
            raise ValueError("play_games needs algorithm='mcts': its records contain search statistics")
        return Orchestrator(self.model, self.board_size, self.games_at_once, self.config).play_games(games, first)

    def select_move(self, state: HexGameState) -> Move:
        """A move as in self-play: sampled by visits."""
        return self._select_move(state)

    def _select_move(self, state: HexGameState) -> Move:
        if self.mcts_engine is None:
            return super()._select_move(state)
        return self._select_move_from_visits(self.mcts_engine.search(state, self.mcts_simulations))

    def _select_move_from_visits(self, root: MCTSNode) -> Move:
        """A move sampled by visits at the temperature."""
        return select_move(root, self.temperature, self._rng)

    def _temperature_scale(self, visit_counts: Sequence[int], temperature: float) -> NDArray[np.float64]:
        """Probabilities in proportion to visits ** (1 / temperature); at 0 the most visited move alone."""
        visits = np.asarray(visit_counts, np.float64)
        if temperature == 0:
            visits, temperature = np.eye(len(visits))[visits.argmax()], 1.0
        return tempered(visits, temperature)


def make_engine(model: Any, config: MCTSConfig) -> tuple[SimpleModelInference | None, NeuralMCTS | None]:
    """The model and the search of these settings; None for alpha-beta."""
    if config.algorithm != "mcts":
        return None, None
    inference = model if isinstance(model, SimpleModelInference) else SimpleModelInference(model)
    common: dict[str, Any] = {
        "enable_transposition_table": config.enable_transposition_table,
        "max_table_size": config.max_table_size,
        "seed": config.seed,
    }
    if config.enable_batching:
        return inference, BatchedNeuralMCTS(
            inference, config.exploration_constant, batch_size=config.batch_size, **common
        )
    return inference, NeuralMCTS(inference, config.exploration_constant, **common)


def select_move(root: MCTSNode, temperature: float = 0.0, rng: np.random.Generator | None = None) -> Move:
    """A move sampled in proportion to visits ** (1 / temperature); at 0 the most visited, ties by prior."""
    priors = root.policy_priors
    if priors is None:
        raise ValueError("cannot select a move: the root has not been expanded")
    moves = list(root.children)
    visits = np.array([root.children[move].visits for move in moves], np.float64)
    if temperature == 0 or not visits.any():
        return max(moves, key=lambda move: (root.children[move].visits, priors[move]))
    rng = rng if rng is not None else np.random.default_rng()
    return moves[int(rng.choice(len(moves), p=tempered(visits, temperature)))]


def minimax_move(state: HexGameState, config: MCTSConfig) -> Move:
    """The move of alpha-beta."""
    found = alphabeta(state.state, depth=config.minimax_depth, seconds=config.minimax_seconds)
    row, column = divmod(found.action, state.size)
    return row, column
