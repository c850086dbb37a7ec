"""What a sweep has found: its trials, the best of them, and games that confirm it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any, Literal

CONFIDENCE = 1.96  # standard errors
SAME = 1.0  # Elo differences below this are decided by the margin


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and their strength against the pool."""

    number: int
    settings: dict[str, Any]
    state: Literal["complete", "stopped"]  # stopped: it was worse than the best one
    elo: float
    error: float  # standard error of elo
    margin: float  # mean difference of the returns, from the view of the trial's player
    games: int
    player: str

    @property
    def low(self) -> float:
        """Lower end of the interval of its Elo."""
        return self.elo - CONFIDENCE * self.error

    @property
    def high(self) -> float:
        """Upper end of the interval of its Elo."""
        return self.elo + CONFIDENCE * self.error


@dataclass(frozen=True)
class Confirmation:
    """New games of the best settings against the player as it is."""

    wins: int
    draws: int
    losses: int
    elo: float
    low: float
    high: float


@dataclass(frozen=True)
class SweepResult:
    """Trials in order, and the confirmation of the best one; None if there was nothing to confirm."""

    trials: tuple[Trial, ...]
    confirmation: Confirmation | None = None

    @property
    def best(self) -> Trial:
        """The best trial."""
        return best_of(self.trials)

    @property
    def ranked(self) -> list[Trial]:
        """Trials from the best to the worst."""
        return sorted(self.trials, key=_strength, reverse=True)


def _strength(trial: Trial) -> tuple[bool, float, float]:
    return trial.state == "complete", round(trial.elo / SAME) * SAME, trial.margin


def best_of(trials: Sequence[Trial]) -> Trial:
    """The strongest complete trial; of equal ones, the one with the larger margin."""
    if not trials:
        raise ValueError("the sweep has no trials yet")
    return max(trials, key=_strength)


def hopeless(elo: float, error: float, best: Trial | None) -> bool:
    """Whether a trial is worse than the best one with 95 % confidence."""
    return best is not None and elo + CONFIDENCE * hypot(error, best.error) < best.elo
