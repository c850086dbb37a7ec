"""Asynchronous evaluation, and helpers for evaluators that wrap other evaluators."""

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
        """Wait for the evaluation; repeated calls return the same one."""
        ...


class Ready:
    """A completed evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def result(self) -> Evaluation:
        return self._evaluation


class Later:
    """An evaluation that ``finish()`` completes when its result is requested."""

    def __init__(self, finish: Callable[[], Evaluation]) -> None:
        self._finish: Callable[[], Evaluation] | None = finish
        self._evaluation: Evaluation | None = None

    def result(self) -> Evaluation:
        if self._finish is not None:
            self._evaluation, self._finish = self._finish(), None
        assert self._evaluation is not None
        return self._evaluation


class Submitting(ABC):
    """An evaluator with ``submit``, which lets the caller continue until it needs the result.

    The arrays of a batch may be changed as soon as ``submit`` returns.
    """

    @abstractmethod
    def submit(self, batch: Batch) -> Pending:
        """Start the evaluation of a batch."""

    def evaluate(self, batch: Batch) -> Evaluation:
        return self.submit(batch).result()


def checked(evaluator: Any) -> Evaluator:
    """The evaluator, if it has a method evaluate(batch); raises a TypeError otherwise."""
    if not hasattr(evaluator, "evaluate"):
        raise TypeError(f"{type(evaluator).__name__} cannot be wrapped: it has no method evaluate(batch)")
    found: Evaluator = evaluator
    return found


def submit(evaluator: Evaluator, batch: Batch) -> Pending:
    """Start the evaluation of a batch; an evaluator without ``submit`` evaluates it at once."""
    if isinstance(evaluator, Submitting) or hasattr(evaluator, "submit"):
        pending: Pending = evaluator.submit(batch)
        return pending
    return Ready(evaluator.evaluate(batch))


def version_of(evaluator: object) -> Hashable:
    """A value that changes with the evaluator's weights; None if it has none."""
    version: Hashable = getattr(evaluator, "version", None)
    return version


def backend_of(evaluator: object) -> str | None:
    """The libraries with which an evaluator, or the one inside it, runs its network; None without a network."""
    backend: str | None = getattr(evaluator, "backend", None)
    return backend


def policies(logits: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Probabilities of legal actions, 0 elsewhere; nan where logits are not finite."""
    bad: NDArray[np.bool_] = np.any(legal & ~np.isfinite(logits), axis=-1)
    masked = np.where(legal & ~bad[..., None], logits.astype(np.float64), -np.inf)
    best = masked.max(axis=-1, keepdims=True)
    weights = np.exp(masked - np.where(np.isfinite(best), best, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    probabilities: NDArray[np.float64] = weights / np.where(total > 0, total, 1.0)
    probabilities[bad] = np.nan
    return probabilities


def as_logits(probabilities: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Logits of these probabilities; 0 for illegal actions."""
    tiny = np.finfo(np.float64).tiny  # an underflowed probability must not become impossible
    logits: NDArray[np.float32] = np.where(legal, np.log(np.maximum(probabilities, tiny)), 0.0).astype(np.float32)
    return logits
