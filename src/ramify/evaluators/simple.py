"""Evaluators without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ramify.engine.batch import Batch, Evaluation, NativeEvaluator


class Uniform(NativeEvaluator):
    """Uniform priors and value 0. Runs inside the core."""

    rollouts = 0

    def evaluate(self, batch: Batch) -> Evaluation:
        return Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))


class Rollout(NativeEvaluator):
    """Uniform priors; the value is the mean return of ``games`` random games. Runs inside the core."""

    c_puct = 3.0  # measured: docs/decisions/0031-exploration-by-evaluator.md

    def __init__(self, games: int = 1) -> None:
        if isinstance(games, bool) or not isinstance(games, int) or not 1 <= games < 2**31:
            raise ValueError(f"games must be a whole number of at least 1, not {games!r}")
        self.rollouts = games

    def __repr__(self) -> str:
        return f"Rollout({self.rollouts})"


class Function:
    """An evaluator from a function that maps a batch to (logits, values) or to an Evaluation."""

    def __init__(self, function: Callable[[Batch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable with a batch, not {type(function).__name__}")
        self.function = function

    def evaluate(self, batch: Batch) -> Evaluation:
        answer = self.function(batch)
        return answer if isinstance(answer, Evaluation) else Evaluation(*answer)
