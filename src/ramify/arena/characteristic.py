"""Operating characteristic of a gate: how often each verdict occurs, and after how many games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ramify.arena.gating import MAX_GAMES
from ramify.arena.matches import check_pairs
from ramify.arena.ratings import points_at
from ramify.arena.sequential import PAIR, Floats, SprtConfig, pair_log_ratio

SHARES = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)  # default strengths, as fractions of the way from elo0 to elo1
LOOK = 25  # pairs simulated before finished tests are dropped


@dataclass(frozen=True)
class Operation:
    """Verdict probabilities and mean length of a gate for a candidate of a given strength."""

    elo: float
    stronger: float  # probability of this verdict, 0 to 1
    not_stronger: float
    undecided: float  # probability that max_games is reached first
    games: float  # mean number of games


def operating_characteristic(
    test: SprtConfig | None = None,
    max_games: int = MAX_GAMES,
    elos: Sequence[float] | None = None,
    *,
    draw: float = 0.0,
    seat: float = 0.0,
    runs: int = 2000,
    seed: int = 0,
) -> list[Operation]:
    """The operating characteristic of a gate, from ``runs`` simulated gates for each true Elo difference in ``elos``.

    ``draw`` is the fraction of drawn games; ``seat`` is the advantage of one seat by the opening in points, 0 to ½:
    both make gates shorter. A fraction p of the runs has a standard error of sqrt(p (1 - p) / runs).
    """
    test = test or SprtConfig()
    check_pairs(max_games)
    if not (0 <= draw < 1 and 0 <= seat <= 0.5):
        raise ValueError(f"draw must be from 0 to 1 and seat from 0 to 0.5, not {draw} and {seat}")
    if elos is None:
        elos = [test.elo0 + share * (test.elo1 - test.elo0) for share in SHARES]
    rng = np.random.default_rng(seed)
    return [simulate(test, max_games, elo, pair_rates(elo, draw, seat), runs, rng) for elo in elos]


def pair_rates(elo: float, draw: float = 0.0, seat: float = 0.0) -> Floats:
    """Probabilities of 0, ½, 1, 1½ and 2 points from a pair of games, with openings that favour one seat."""
    points, rates = points_at(elo), np.zeros(len(PAIR))
    edge = min(seat, points, 1 - points)
    first, second = (
        [won, drawn, 1 - won - drawn] for won, drawn in (game_rates(points + e, draw) for e in (edge, -edge))
    )
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            rates[4 - i - j] += one * other
    return rates


def game_rates(points: float, draw: float) -> tuple[float, float]:
    """Probabilities of wins and draws with that mean; fewer draws if the mean does not allow that many."""
    draw = min(draw, 2 * points, 2 * (1 - points))
    return points - draw / 2, draw


def simulate(
    test: SprtConfig, max_games: int, elo: float, rates: Floats, runs: int, rng: np.random.Generator
) -> Operation:
    """Simulate many gates at once; each ends at the first pair that decides it."""
    low, high = test.bounds
    counts = np.zeros((runs, len(PAIR)))
    stronger = ended = games = 0
    for start in range(0, max_games // 2, LOOK):
        ahead = min(LOOK, max_games // 2 - start)
        drawn = rng.choice(len(PAIR), size=(len(counts), ahead), p=rates / rates.sum())
        so_far = counts[:, None] + np.cumsum(drawn[..., None] == np.arange(len(PAIR)), axis=1)
        ratio = pair_log_ratio(so_far, test.elo0, test.elo1)
        over = (ratio <= low) | (ratio >= high)
        done, last = over.any(axis=1), over.argmax(axis=1)
        stronger += int((ratio[done, last[done]] >= high).sum())
        ended += int(done.sum())
        games += 2 * int((start + 1 + last[done]).sum())
        counts = so_far[~done, -1]
        if not len(counts):
            break
    games += len(counts) * (max_games // 2 * 2)
    return Operation(elo, stronger / runs, (ended - stronger) / runs, 1 - ended / runs, games / runs)
