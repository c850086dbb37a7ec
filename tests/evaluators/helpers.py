"""Real positions, and evaluators that count what they are asked."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf


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
