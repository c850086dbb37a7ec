"""A sequential probability ratio test (SPRT) of the Elo difference of two players.

It uses the generalised likelihood ratio of the points of game pairs, or of wins, draws and losses: the hypotheses fix
only the mean of the points. docs/methods/ratings.md derives it.
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
    """Settings of the test of H1 (the Elo difference is at least elo1) against H0 (it is at most elo0)."""

    what = "test"

    elo0: float = Field(0.0, ge=-2000, le=2000, description="H0: the Elo difference is at most this.")
    elo1: float = Field(50.0, ge=-2000, le=2000, description="H1: the Elo difference is at least this.")
    alpha: float = Field(
        0.05,
        gt=0,
        lt=0.5,
        description="Type I error rate: the probability of accepting H1 when the Elo difference is elo0.",
    )
    beta: float = Field(
        0.05,
        gt=0,
        lt=0.5,
        description="Type II error rate: the probability of accepting H0 when the Elo difference is elo1.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> SprtConfig:
        if self.elo0 >= self.elo1:
            raise ValueError(f"elo0 must be less than elo1, not {self.elo0} and {self.elo1}")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the log-likelihood ratio: H0 is accepted below the lower one, H1 above the upper one."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True)
class Sprt:
    """State of a test."""

    ratio: float  # logarithm of the likelihood ratio
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """What the test has decided so far."""
        if self.ratio >= self.high:
            return "stronger"
        return "not stronger" if self.ratio <= self.low else None


def sprt(wins: float, draws: float, losses: float, config: SprtConfig | None = None) -> Sprt:
    """State of the test after independent games."""
    config = config or SprtConfig()
    return Sprt(float(log_ratio(wins, draws, losses, config.elo0, config.elo1)), *config.bounds)


def sprt_pairs(pairs: Sequence[float], config: SprtConfig | None = None) -> Sprt:
    """State of the test after pairs of games: the numbers of pairs with 0, ½, 1, 1½ and 2 points."""
    config = config or SprtConfig()
    if len(pairs) != len(PAIR):
        raise ValueError(f"pairs must be five counts (of 0, ½, 1, 1½ and 2 points), not {len(pairs)}")
    return Sprt(float(pair_log_ratio(pairs, config.elo0, config.elo1)), *config.bounds)


def log_ratio(wins: Any, draws: Any, losses: Any, elo0: float, elo1: float) -> Floats:
    """Generalised log-likelihood ratio of H1 to H0, maximised over the draw rate under each hypothesis."""
    counts = np.stack(np.broadcast_arrays(*(np.asarray(count, np.float64) for count in (wins, draws, losses))), axis=-1)
    return log_likelihood(counts, GAME, points_at(elo1)) - log_likelihood(counts, GAME, points_at(elo0))


def pair_log_ratio(pairs: Any, elo0: float, elo1: float) -> Floats:
    """The same for pairs of games: [..., 5] counts of pairs with 0, ½, 1, 1½ and 2 points."""
    counts = np.asarray(pairs, np.float64)
    return log_likelihood(counts, PAIR, points_at(elo1)) - log_likelihood(counts, PAIR, points_at(elo0))


def log_likelihood(counts: Floats, values: Floats, mean: float) -> Floats:
    """The maximum log-likelihood over all distributions of ``values`` with that mean, up to a constant.

    The maximum is at the rates ``count / (total * (1 + tilt * (value - mean)))``.
    """
    flat = np.ascontiguousarray(counts.reshape(-1, len(values)).T)  # sums over the values are many times faster so
    away = (values - mean)[:, None]
    rates = np.where(flat > 0, 1 + likeliest_tilt(flat, away) * away, 1.0)
    return np.asarray(-(flat * np.log(rates)).sum(axis=0).reshape(counts.shape[:-1]))


def likeliest_tilt(counts: Floats, away: Floats) -> Floats:
    """The zero of the sum of ``count * away / (1 + tilt * away)``, which decreases in the tilt.

    The tilt is bounded by the values at which the lowest or the highest value would get a negative rate. If there is no
    zero within, the bound is returned: that value, which never occurred, then gets the rate needed for the mean.
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
