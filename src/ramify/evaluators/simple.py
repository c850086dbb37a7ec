"""Evaluators without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramify.engine.batch import Batch, Evaluation
from ramify.engine.native import GreedyRollout, Rollout, Uniform

__all__ = ["Function", "GreedyRollout", "Rollout", "Uniform"]


class Function:
    """An evaluator from a function that maps a batch to (logits, values) or to an Evaluation."""

    def __init__(self, function: Callable[[Batch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable with a batch, not {type(function).__name__}")
        self.function = function

    def evaluate(self, batch: Batch) -> Evaluation:
        answer = self.function(batch)
        return answer if isinstance(answer, Evaluation) else Evaluation(*answer)
