"""The Bradley–Terry model, optionally with Davidson's model of draws, fitted by Newton's method.

``ratings.py`` uses it for ratings, ``draws.py`` for draws; docs/methods/ratings.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ELO = 400 / math.log(10)  # Elo per unit of strength
STEPS, CLOSE = 100, 1e-10  # maximum steps and tolerance of Newton's method

Floats = NDArray[np.float64]
Pair = tuple[Hashable, Hashable]
Counts = Mapping[Pair, Sequence[float]]  # (first, second): wins of the first, draws, wins of the second


def probabilities(strength: Floats, draw: float) -> tuple[Floats, Floats, Floats]:
    """Probabilities of a win, a draw and a loss for differences in strength."""
    win, loss = np.exp(strength / 2), np.exp(-strength / 2)
    total = win + loss + draw
    return win / total, draw / total, loss / total


@dataclass(frozen=True)
class Problem:
    """Games as arrays, one row per ordered pair of players, and the parameters to estimate.

    Parameters are the strengths, then optionally the first player's advantage and the logarithm of nu.
    """

    design: Floats  # [rows, parameters without nu]: a row's strength is that of the first less that of the second
    counts: Floats  # [rows, 3]: wins of the first, draws, wins of the second
    draws: bool  # whether nu is a parameter
    prior: float

    @classmethod
    def of(cls, players: Sequence[Hashable], counts: Counts, prior: float, *, advantage: bool) -> Problem:
        """Build the arrays. Rows are sorted, so that not even the last digit depends on the order of the games."""
        place = {player: i for i, player in enumerate(players)}
        games = {(place[first], place[second]): tally for (first, second), tally in counts.items() if first != second}
        rows = sorted(games)
        design = np.zeros((len(rows), len(players) + advantage))
        for row, (first, second) in enumerate(rows):
            design[row, first], design[row, second] = 1.0, -1.0
            design[row, len(players) :] = 1.0
        numbers = np.array([games[row] for row in rows], np.float64).reshape(-1, 3)
        return cls(design, numbers, bool(numbers[:, 1].any()), prior)

    def split(self, x: Floats) -> tuple[Floats, float]:
        return (x[:-1], math.exp(x[-1])) if self.draws else (x, 0.0)

    def value(self, x: Floats) -> float:
        """Log-likelihood with the prior."""
        strengths, nu = self.split(x)
        chances = np.stack(probabilities(self.design @ strengths, nu), axis=1)
        played = self.counts > 0
        found = float((self.counts[played] * np.log(chances[played])).sum())
        found -= self.prior / 2 * float((np.logaddexp(0, strengths) + np.logaddexp(0, -strengths)).sum())
        if self.draws and self.prior:
            found += self.prior / 2 * (math.log(nu / (2 + nu)) + math.log(2 / (2 + nu)))
        return found

    def slope(self, x: Floats) -> tuple[Floats, Floats]:
        """Gradient, and the information matrix (the negative Hessian)."""
        strengths, nu = self.split(x)
        games = self.counts.sum(axis=1)
        win, draw, loss = probabilities(self.design @ strengths, nu)
        gradient = self.design.T @ ((self.counts[:, 0] - self.counts[:, 2] - games * (win - loss)) / 2)
        information = (self.design.T * (games / 4 * (win + loss - (win - loss) ** 2))) @ self.design
        own = 1 / (1 + np.exp(-strengths))
        gradient += self.prior / 2 * (1 - 2 * own)
        information += np.diag(self.prior * own * (1 - own))
        if not self.draws:
            return gradient, information
        even = nu / (2 + nu)
        last = float((self.counts[:, 1] - games * draw).sum()) + self.prior / 2 * (1 - 2 * even)
        mixed = self.design.T @ (-games / 2 * draw * (win - loss))
        corner = float((games * draw * (1 - draw)).sum()) + self.prior * even * (1 - even)
        return np.append(gradient, last), np.block([[information, mixed[:, None]], [mixed[None], np.array([[corner]])]])


def estimate(problem: Problem, pinned: Sequence[int] = ()) -> tuple[Floats, Floats]:
    """The maximum, by Newton's method with step halving, and the inverse information matrix there.

    Parameters that are ``pinned`` stay 0.
    """
    x = np.zeros(problem.design.shape[1] + problem.draws)
    free = np.setdiff1d(np.arange(len(x)), np.asarray(pinned, np.intp))
    value, part = problem.value(x), np.ix_(free, free)
    try:
        for _ in range(STEPS):
            gradient, information = problem.slope(x)
            change = np.zeros_like(x)
            change[free] = np.linalg.solve(information[part], gradient[free])
            while (after := problem.value(x + change)) < value - CLOSE and np.abs(change).max() > CLOSE:
                change /= 2
            x, value = x + change, after
            if np.abs(change).max() < CLOSE:
                inverse = np.zeros((len(x), len(x)))
                inverse[part] = np.linalg.inv(problem.slope(x)[1][part])
                return x, inverse
    except np.linalg.LinAlgError:
        pass
    raise ValueError("these games have no finite ratings: prior must be greater than 0")
