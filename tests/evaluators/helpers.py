"""Batches of real positions, and evaluators that count what they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ramify as rf


def viewer(state: rf.State) -> int:
    """Whose view an evaluator is shown."""
    return 0 if 0 in state.acting else 1


def batch_of(states: Sequence[rf.State]) -> rf.Batch:
    """A batch as a search would make it."""
    actions = states[0].game.num_actions
    legal = np.zeros((len(states), 2, actions), np.bool_)
    acting = np.zeros((len(states), 2), np.bool_)
    for row, state in enumerate(states):
        for player in state.acting:
            legal[row, player, state.legal_actions(player)] = True
            acting[row, player] = True
    observations = np.stack([state.observation(viewer(state)) for state in states])
    return rf.Batch(observations, legal, acting, np.array([state.key for state in states], np.uint64))


def some_states(game: rf.Game, count: int, turns: int = 6, seed: int = 0) -> list[rf.State]:
    """Different positions from random games, none of them over."""
    rng, found = np.random.default_rng(seed), {}
    while len(found) < count:
        state = game.initial_state(int(rng.integers(2**31)))
        for _ in range(int(rng.integers(turns + 1))):
            state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
            if state.is_over:
                break
        if not state.is_over:
            found[state.key] = state
    return list(found.values())


class Counting:
    """Passes batches on, and remembers how many rows each had."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.rows: list[int] = []
        self.version = 0

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        self.rows.append(len(batch))
        return self.inner.evaluate(batch)


def legal_probabilities(evaluation: rf.Evaluation, batch: rf.Batch) -> Any:
    """[B, 2, num_actions] in float64, computed plainly."""
    logits = np.asarray(evaluation.logits, np.float64)
    if logits.ndim == 2:
        logits = np.repeat(logits[:, None], 2, axis=1)
    weights = np.where(batch.legal, np.exp(logits), 0.0)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
