"""Positions and models for the tests of ramify.hex."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import ramify as rf
from ramify.hex import HexGameState, Move


def after(size: int, *moves: Move) -> HexGameState:
    """The position after these moves."""
    state = HexGameState(size)
    for move in moves:
        state = state.make_move(*move)
    return state


def fixed(value: float = 0.0, size: int = 3) -> rf.evaluators.Function:
    """A dummy network: every move alike, every position worth ``value`` to the player to move."""
    return rf.evaluators.Function(
        lambda batch: (np.zeros((len(batch), size * size), np.float32), np.full(len(batch), value, np.float32))
    )


def values_by_stones(values: dict[int, float], size: int) -> rf.evaluators.Function:
    """A dummy network that knows a position by its number of stones."""

    def evaluate(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
        stones = batch.observations[:, :2].sum(axis=(1, 2, 3)).astype(int)
        told = np.array([values[n] for n in stones], np.float32)
        return np.zeros((len(batch), size * size), np.float32), told

    return rf.evaluators.Function(evaluate)


def random_game(size: int, rng: np.random.Generator) -> Iterable[HexGameState]:
    """Every position of a random game, the last one finished."""
    state = HexGameState(size)
    yield state
    while not state.game_over:
        moves = state.get_legal_moves()
        state = state.make_move(*moves[rng.integers(len(moves))])
        yield state
