"""A sequential test of which of two players is stronger: as few games as the difference allows.

The generalised likelihood ratio of wins, draws and losses, whose rate of draws is not known; docs/methods/ratings.md
derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ramify.search.settings import Settings

Verdict = Literal["stronger", "not stronger"] | None  # None: not decided yet


class SprtConfig(Settings):
    """The test of "at least elo1 stronger" against "at most elo0 stronger"."""

    what = "test"

    elo0: float = Field(0.0, ge=-2000, le=2000, description="not stronger than this is not stronger")
    elo1: float = Field(35.0, ge=-2000, le=2000, description="this much stronger is stronger")
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
    """Where the test stands after so many games."""
    config = config or SprtConfig()
    return Sprt(float(log_ratio(wins, draws, losses, config.elo0, config.elo1)), *config.bounds)


def log_ratio(wins: Any, draws: Any, losses: Any, elo0: float, elo1: float) -> NDArray[np.float64]:
    """Logarithm of how much likelier the games are at elo1 than at elo0, each with the rate of draws that suits it."""
    w, d, n = (np.asarray(count, np.float64) for count in (wins, draws, losses))
    return np.asarray(log_likelihood(w, d, n, points_at(elo1)) - log_likelihood(w, d, n, points_at(elo0)))


def points_at(elo: float) -> float:
    """Points a game to expect of a player so much stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def log_likelihood(
    wins: NDArray[np.float64], draws: NDArray[np.float64], losses: NDArray[np.float64], points: float
) -> NDArray[np.float64]:
    """The greatest there is with that mean of points: the rate of draws solves a quadratic equation."""
    games = wins + draws + losses
    b = (draws + wins * (1 - points) + losses * points) / 2
    root = np.sqrt(np.maximum(0.0, b * b - games * draws * points * (1 - points)))
    draw = np.where(draws > 0, 2 * draws * points * (1 - points) / np.where(b + root > 0, b + root, 1.0), 0.0)
    rates = (points - draw / 2, draw, 1 - points - draw / 2)
    tiny = np.finfo(np.float64).tiny
    return np.asarray(
        sum(
            np.where(n > 0, n * np.log(np.maximum(p, tiny)), 0.0)
            for n, p in zip((wins, draws, losses), rates, strict=True)
        )
    )
