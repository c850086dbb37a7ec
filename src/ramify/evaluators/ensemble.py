"""Several evaluators asked together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ramify.engine.batch import Batch, Evaluation, split
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
    """The mean of what several evaluators say: of probabilities (not logits) and of values, by ``weights``."""

    def __init__(self, inners: Sequence[Any], weights: Sequence[float] | None = None) -> None:
        if not inners:
            raise ValueError("an ensemble needs at least one evaluator")
        self.inners = [checked(inner) for inner in inners]
        given = np.ones(len(self.inners)) if weights is None else np.asarray(weights, np.float64)
        if given.shape != (len(self.inners),) or not np.isfinite(given).all() or (given < 0).any() or not given.sum():
            raise ValueError(f"an ensemble of {len(self.inners)} needs as many weights, none negative: {weights}")
        self.weights = given / given.sum()

    @property
    def version(self) -> Hashable:
        """Those of the evaluators inside."""
        return tuple(version_of(inner) for inner in self.inners)

    @property
    def c_puct(self) -> float:
        """The weighted mean of those of the evaluators inside."""
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
