"""Evaluators and shorthands that the tests of the engine share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from tests.reference.evaluators import HashEvaluator

__all__ = ["HashEvaluator", "Observing", "Recorder", "assert_same_result", "searcher_of", "tictactoe"]


class Recorder:
    """Passes batches on to another evaluator and remembers their keys."""

    def __init__(self, inner: Any, before: Callable[[int], None] | None = None) -> None:
        self.inner = inner
        self.batches: list[NDArray[np.uint64]] = []
        self.before = before  # called with the number of the batch; may raise

    def evaluate(self, batch: rf.Batch) -> Any:
        self.batches.append(batch.keys.copy())
        if self.before is not None:
            self.before(len(self.batches))
        return self.inner.evaluate(batch)

    @property
    def rows(self) -> list[int]:
        return [len(keys) for keys in self.batches]


@cache
def drawn_weights(seed: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Weights of a random linear function; kept, because drawing those of chess takes a fifth of a second."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


class Observing:
    """Numbers drawn from what the acting player sees, whatever the keys are."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        weights = drawn_weights(self.seed, batch.observations[0].size, batch.legal.shape[2] + 1)
        seen = batch.observations.reshape(len(batch), -1).astype(np.float64)
        # Row by row: a product over a whole batch may round differently with the number of rows.
        numbers = np.stack([np.sin(3 * row @ weights) for row in seen]).astype(np.float32)
        return rf.Evaluation(2 * numbers[:, 1:], numbers[:, 0])


def tictactoe(*actions: int) -> rf.State:
    """Native tic-tac-toe after these actions."""
    state = rf.make("tictactoe").initial_state()
    for action in actions:
        state.apply(action)
    return state


def searcher_of(state: rf.State, evaluator: Any = None, seed: int = 0, **settings: Any) -> rf.Searcher:
    """A searcher for the state's game."""
    return rf.Searcher(state.game, evaluator, rf.SearchConfig(**settings), seed=seed)


def assert_same_result(first: rf.SearchResult, second: rf.SearchResult, stats: bool = True) -> None:
    """Equal bit for bit; ``stats``: with the same work."""
    for name in ("visits", "payoffs", "value", "evaluation"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for name in ("outcomes", "priors", "q"):
        for player in (0, 1):
            np.testing.assert_array_equal(getattr(first, name)[player], getattr(second, name)[player], err_msg=name)
    assert first.principal_variation == second.principal_variation
    if stats:
        other = {"seconds": 0, "backend": ""}  # what may differ
        assert {**first.stats, **other} == {**second.stats, **other}
