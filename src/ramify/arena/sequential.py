"""A sequential test of which of two players is stronger: as few games as the difference allows.

The generalised likelihood ratio of what pairs of games with seats exchanged brought, or of wins, draws and losses: only
the mean of points is tested, all rates with that mean are allowed. docs/methods/ratings.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ramify.arena.ratings import points_at
from ramify.base.settings import Settings

Floats = NDArray[np.float64]
GAME = np.array([1.0, 0.5, 0.0])  # points of a win, a draw and a loss
PAIR = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # points a game of a pair that brought 0, ½, 1, 1½ and 2
STEPS, CLOSE = 100, 1e-10  # of Newton's method within a bracket, and when it has arrived
Verdict = Literal["stronger", "not stronger"] | None  # None: not decided yet


class SprtConfig(Settings):
    """The test of "at least elo1 stronger" against "at most elo0 stronger"."""

    what = "test"

    elo0: float = Field(0.0, ge=-2000, le=2000, description="not stronger than this is not stronger")
    elo1: float = Field(50.0, ge=-2000, le=2000, description="this much stronger is stronger")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="how often a player at elo0 may be called stronger")
    beta: float = Field(0.05, gt=0, lt=0.5, description="how often a player at elo1 may be called not stronger")

    @model_validator(mode="after")
    def _in_order(self) -> SprtConfig:
        if self.elo0 >= self.elo1:
            raise ValueError(f"elo0 must lie below elo1, not {self.elo0} and {self.elo1}")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which the ratio's logarithm leaves the question open."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True)
class Sprt:
    """Where a test stands."""

    ratio: float  # logarithm of the likelihood ratio
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        if self.ratio >= self.high:
            return "stronger"
        return "not stronger" if self.ratio <= self.low else None


def sprt(wins: float, draws: float, losses: float, config: SprtConfig | None = None) -> Sprt:
    """Where the test stands after so many games that have nothing in common."""
    config = config or SprtConfig()
    return Sprt(float(log_ratio(wins, draws, losses, config.elo0, config.elo1)), *config.bounds)


def sprt_pairs(pairs: Sequence[float], config: SprtConfig | None = None) -> Sprt:
    """Where the test stands after pairs of games: how many brought 0, ½, 1, 1½ and 2 points."""
    config = config or SprtConfig()
    if len(pairs) != len(PAIR):
        raise ValueError(f"pairs of games are counted by 0, ½, 1, 1½ and 2 points: five numbers, not {len(pairs)}")
    return Sprt(float(pair_log_ratio(pairs, config.elo0, config.elo1)), *config.bounds)


def log_ratio(wins: Any, draws: Any, losses: Any, elo0: float, elo1: float) -> Floats:
    """Logarithm of how much likelier the games are at elo1 than at elo0, each with the rate of draws that suits it."""
    counts = np.stack(np.broadcast_arrays(*(np.asarray(count, np.float64) for count in (wins, draws, losses))), axis=-1)
    return log_likelihood(counts, GAME, points_at(elo1)) - log_likelihood(counts, GAME, points_at(elo0))


def pair_log_ratio(pairs: Any, elo0: float, elo1: float) -> Floats:
    """The same for pairs of games: [..., 5] counts of those that brought 0, ½, 1, 1½ and 2 points."""
    counts = np.asarray(pairs, np.float64)
    return log_likelihood(counts, PAIR, points_at(elo1)) - log_likelihood(counts, PAIR, points_at(elo0))


def log_likelihood(counts: Floats, values: Floats, mean: float) -> Floats:
    """The greatest there is among all rates of ``values`` with that mean, less what does not depend on the mean.

    The likeliest rates are ``count / (total * (1 + tilt * (value - mean)))``.
    """
    flat = np.ascontiguousarray(counts.reshape(-1, len(values)).T)  # sums over the values are many times faster so
    away = (values - mean)[:, None]
    rates = np.where(flat > 0, 1 + likeliest_tilt(flat, away) * away, 1.0)
    return np.asarray(-(flat * np.log(rates)).sum(axis=0).reshape(counts.shape[:-1]))


def likeliest_tilt(counts: Floats, away: Floats) -> Floats:
    """Where the sum of ``count * away / (1 + tilt * away)``, which falls as the tilt rises, is zero.

    It lies between the tilts that leave the lowest or the highest value no rate. If it is not zero before such an end,
    the end is what is sought: then that value, which was never seen, takes what rate is needed for the mean.
    """
    low, high = -1 / float(away.max()), -1 / float(away.min())
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # where the value at an end was seen, the sum is infinite there
        at_low, at_high = (
            np.where(counts > 0, counts * away / np.maximum(0.0, 1 + end * away), 0.0).sum(axis=0)
            for end in (low, high)
        )
    tilt = np.where(at_high >= 0, high, np.where(at_low <= 0, low, 0.0))
    tilt[counts.sum(axis=0) == 0] = 0.0
    open_still = np.flatnonzero((at_high < 0) & (at_low > 0))
    below, above = np.full(len(tilt), low), np.full(len(tilt), high)
    for _ in range(STEPS):
        if not len(open_still):
            break
        now, own = tilt[open_still], counts[:, open_still]
        shares = away / (1 + now * away)
        slope = (own * shares).sum(axis=0)
        below[open_still] = np.where(slope >= 0, now, below[open_still])
        above[open_still] = np.where(slope <= 0, now, above[open_still])
        after = now + slope / (own * shares**2).sum(axis=0)
        inside = (after > below[open_still]) & (after < above[open_still])
        after = np.where(inside | (slope == 0), after, (below[open_still] + above[open_still]) / 2)
        tilt[open_still] = after
        open_still = open_still[np.abs(after - now) > CLOSE]
    return tilt
