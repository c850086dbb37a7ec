"""Ensembles of evaluators."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ramify.engine.batch import Batch, Evaluation, split
from ramify.engine.batching import backend_of
from ramify.engine.config import c_puct_of
from ramify.evaluators.pending import (
    Later,
    Pending,
    Submitting,
    as_logits,
    checked,
    policies,
    submit,
    version_of,
)


class Ensemble(Submitting):
    """The weighted mean of the probabilities (not logits) and values of several evaluators."""

    def __init__(self, inners: Sequence[Any], weights: Sequence[float] | None = None) -> None:
        if not inners:
            raise ValueError("an ensemble needs at least one evaluator")
        self.inners = [checked(inner) for inner in inners]
        given = np.ones(len(self.inners)) if weights is None else np.asarray(weights, np.float64)
        if given.shape != (len(self.inners),) or not np.isfinite(given).all() or (given < 0).any() or not given.sum():
            raise ValueError(
                f"weights must be {len(self.inners)} non-negative numbers, one per evaluator, not {weights}"
            )
        self.weights = given / given.sum()

    @property
    def version(self) -> Hashable:
        """The versions of the inner evaluators."""
        return tuple(version_of(inner) for inner in self.inners)

    @property
    def backend(self) -> str | None:
        """The ``backend`` of the inner evaluators."""
        names = {name for inner in self.inners for name in (backend_of(inner) or "").split("+") if name}
        return "+".join(sorted(names)) or None

    @property
    def c_puct(self) -> float:
        """The weighted mean of the inner evaluators' ``c_puct``."""
        return float(np.dot(self.weights, [c_puct_of(inner) for inner in self.inners]))

    def submit(self, batch: Batch) -> Pending:
        kept = Batch(batch.observations, batch.legal.copy(), batch.acting.copy(), batch.keys)
        answers = [submit(inner, batch) for inner in self.inners]

        def finish() -> Evaluation:
            parts = [split(answer.result(), kept) for answer in answers]
            shares = sum(w * policies(logits, kept.legal) for w, (logits, _) in zip(self.weights, parts, strict=True))
            values = sum(w * values.astype(np.float64) for w, (_, values) in zip(self.weights, parts, strict=True))
            return Evaluation(as_logits(np.asarray(shares), kept.legal), np.asarray(values).astype(np.float32))

        return Later(finish)
