"""Answers that come later, and what every evaluator around another one needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import Batch, Evaluation, Evaluator

NETWORK_C_PUCT = 1.4  # suits networks: docs/decisions/0031-exploration-by-evaluator.md


class Pending(Protocol):
    """A batch that is being evaluated."""

    def result(self) -> Evaluation:
        """Waits for the answer; the same one every time."""
        ...


class Ready:
    """An answer that is there already."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def result(self) -> Evaluation:
        return self._evaluation


class Later:
    """An answer that ``finish()`` completes when it is asked for."""

    def __init__(self, finish: Callable[[], Evaluation]) -> None:
        self._finish: Callable[[], Evaluation] | None = finish
        self._evaluation: Evaluation | None = None

    def result(self) -> Evaluation:
        if self._finish is not None:
            self._evaluation, self._finish = self._finish(), None
        assert self._evaluation is not None
        return self._evaluation


class Submitting(ABC):
    """An evaluator with ``submit``: the caller may do something else until it asks for the result.

    The arrays of a batch belong to the caller again as soon as ``submit`` returns.
    """

    @abstractmethod
    def submit(self, batch: Batch) -> Pending:
        """Hand the batch over; the answer comes when it is asked for."""

    def evaluate(self, batch: Batch) -> Evaluation:
        return self.submit(batch).result()


def checked(evaluator: Any) -> Evaluator:
    """The evaluator, if it can be called from Python; a TypeError otherwise."""
    if not hasattr(evaluator, "evaluate"):
        raise TypeError(f"{type(evaluator).__name__} has no method evaluate(batch), so nothing can be put around it")
    found: Evaluator = evaluator
    return found


def submit(evaluator: Evaluator, batch: Batch) -> Pending:
    """Hands the batch over; an evaluator without ``submit`` answers at once."""
    if isinstance(evaluator, Submitting) or hasattr(evaluator, "submit"):
        pending: Pending = evaluator.submit(batch)
        return pending
    return Ready(evaluator.evaluate(batch))


def version_of(evaluator: object) -> Hashable:
    """Changes whenever the evaluator's weights do; None for one that has none."""
    version: Hashable = getattr(evaluator, "version", None)
    return version


def policies(logits: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Probabilities over legal actions, 0 elsewhere. Logits that are not finite give nan, to be noticed."""
    bad: NDArray[np.bool_] = np.any(legal & ~np.isfinite(logits), axis=-1)
    masked = np.where(legal & ~bad[..., None], logits.astype(np.float64), -np.inf)
    best = masked.max(axis=-1, keepdims=True)
    weights = np.exp(masked - np.where(np.isfinite(best), best, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    probabilities: NDArray[np.float64] = weights / np.where(total > 0, total, 1.0)
    probabilities[bad] = np.nan
    return probabilities


def as_logits(probabilities: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Logits of these probabilities; 0 for actions that are not legal."""
    tiny = np.finfo(np.float64).tiny  # what has underflowed stays possible
    logits: NDArray[np.float32] = np.where(legal, np.log(np.maximum(probabilities, tiny)), 0.0).astype(np.float32)
    return logits
