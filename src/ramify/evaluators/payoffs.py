"""Payoff matrices as an evaluator predicts them, and how well they agree with better ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.engine.batch import Evaluator, batch_of, split
from ramify.games import State

ROWS = 1024  # positions per batch


@dataclass(frozen=True)
class Agreement:
    """How well predicted payoffs agree with better ones, pair by pair."""

    pairs: int
    error: float  # mean absolute error
    correlation: float | None  # None where one side does not vary
    explained: float | None  # fraction of the variance explained: 1 is all, 0 is no better than the mean


def predicted_payoffs(
    evaluator: Evaluator, states: Sequence[State], discount: float = 1.0
) -> list[NDArray[np.float64]]:
    """Payoffs [2, n0, n1] of each position by one step: the reward of a pair of outcomes plus the value after it.

    A player who does not act has one outcome. Positions must not be over.
    """
    found, waiting = list[NDArray[np.float64]](), list[tuple[NDArray[np.float64], State]]()
    for state in states:
        outcomes = [state.outcomes(p)[0].tolist() if p in state.acting else [-1] for p in (0, 1)]
        payoffs = np.zeros((2, len(outcomes[0]), len(outcomes[1])))
        for (i, first), (j, second) in product(enumerate(outcomes[0]), enumerate(outcomes[1])):
            child = state.copy()
            payoffs[:, i, j] = child.apply(*(action for action in (first, second) if action >= 0))
            if not child.is_over:
                waiting.append((payoffs[:, i, j], child))
        found.append(payoffs)
    for start in range(0, len(waiting), ROWS):
        part = waiting[start : start + ROWS]
        batch = batch_of([child for _, child in part])
        values = split(evaluator.evaluate(batch), batch)[1]
        for (payoff, _), value in zip(part, values, strict=True):
            payoff += discount * value
    return found


def agreement(predicted: ArrayLike, better: ArrayLike) -> Agreement:
    """Compare payoffs, each an array of the same shape; pairs that are unknown (nan) on either side are left out."""
    x, y = np.asarray(predicted, np.float64).ravel(), np.asarray(better, np.float64).ravel()
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not len(x):
        return Agreement(0, 0.0, None, None)
    spread = float(y.var())
    varies = spread > 0 and float(x.var()) > 0
    return Agreement(
        len(x),
        float(np.abs(x - y).mean()),
        float(np.corrcoef(x, y)[0, 1]) if varies else None,
        1 - float((y - x).var()) / spread if spread > 0 else None,
    )


def agreement_by_visits(
    predicted: ArrayLike, better: ArrayLike, visits: ArrayLike, bounds: Sequence[int] = (1, 5, 20, 100)
) -> dict[str, Agreement]:
    """``agreement`` of the pairs with so many visits; the bounds begin each group, such as "5 to 19"."""
    counts = np.asarray(visits).ravel()
    x, y = np.asarray(predicted, np.float64).ravel(), np.asarray(better, np.float64).ravel()
    found = {}
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        inside = (counts >= low) & (True if high is None else counts < high)
        name = f"{low} or more" if high is None else f"{low} to {high - 1}"
        found[name] = agreement(x[inside], y[inside])
    return found
