"""Standard errors of ratings, from the observed variance of the points of game pairs.

The two games of a pair share an opening and are not independent, and draws vary less than decided games. Neither is
modelled: the variance is estimated from the pairs that were played. docs/methods/ratings.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ramify.arena.bradley_terry import Counts, Floats, Pair

# (one, other): {(the one's points moving first, its points moving second): how many such pairs of games}
Pairs = Mapping[Pair, Mapping[tuple[float, float], float]]
Expected = Mapping[Pair, float]  # (first, second): expected points of the first
EVEN = 0.5  # variance of the points of two decided games between equals
KIND = {1.0: 0, 0.5: 1, 0.0: 2}  # points: index among wins, draws and losses


@dataclass(frozen=True)
class Spread:
    """Covariance of the estimates, by pairing.

    A pairing contributes through the sum of a pair's points and through the difference between moving first and second.
    """

    influence: Floats  # [parameters, pairings, 2]: change of an estimate per residual point
    moments: Floats  # [pairings, 2, 2]: variance of these points, summed over all pairs
    pairs: Floats  # [pairings]: number of pairs and single games it was estimated from

    def error(self, contrast: Floats) -> tuple[float, float]:
        """Standard error of a linear combination of parameters, and its degrees of freedom (Satterthwaite)."""
        moved = np.tensordot(contrast, self.influence, axes=1)
        parts = np.maximum(0.0, np.einsum("pi,pij,pj->p", moved, self.moments, moved))
        variance = float(parts.sum())
        below = float((parts**2 / self.pairs).sum())
        return math.sqrt(variance), variance**2 / below if below else math.inf


def spread_of(
    players: Sequence[Hashable], counts: Counts, pairs: Pairs, expected: Expected, inverse: Floats, *, advantage: bool
) -> Spread:
    """The sandwich estimator: ``inverse`` information around the variance of the pairs' scores."""
    place = {player: i for i, player in enumerate(players)}
    brought = clusters(players, counts, pairs, expected)
    pairings = sorted(brought, key=lambda pair: (place[pair[0]], place[pair[1]]))
    moved = np.zeros((len(inverse), len(pairings), 2))
    moments, numbers = np.zeros((len(pairings), 2, 2)), np.zeros(len(pairings))
    for row, (one, other) in enumerate(pairings):
        moved[:, row, 0] = inverse[:, place[one]] - inverse[:, place[other]]
        if advantage:
            moved[:, row, 1] = inverse[:, len(players)]
        for first, second, number in brought[one, other]:
            both = np.array([first + second, first - second])
            moments[row] += number * np.outer(both, both)
            numbers[row] += number
    # Residuals are too small, because the ratings were fitted to the same games; after nothing but wins they are 0. To
    # correct for this, each pairing gets one even pair, scaled by the observed variance relative to decided games.
    decided = sum(
        sum(tally) * expected[pair] * (1 - expected[pair])
        for pair, tally in sorted(counts.items(), key=str)
        if pair in expected
    )
    varied = (float(moments[:, 0, 0].sum()) + EVEN) / (decided + EVEN)
    return Spread(moved, moments + EVEN * varied * np.eye(2), np.maximum(numbers, 1.0))


def clusters(
    players: Sequence[Hashable], counts: Counts, pairs: Pairs, expected: Expected
) -> dict[Pair, list[tuple[float, float, float]]]:
    """{pairing: (residual points moving first, moving second, count)}; a game without a partner has a 0."""
    left = {pair: list(tally) for pair, tally in counts.items() if pair[0] != pair[1]}
    found: dict[Pair, list[tuple[float, float, float]]] = {}
    for a, one in enumerate(players):
        for other in players[a + 1 :]:
            if (one, other) not in left and (other, one) not in left:
                continue
            ahead, behind = expected.get((one, other), 0.0), 1 - expected.get((other, one), 1.0)
            here = found.setdefault((one, other), [])
            for (first, second), number in sorted(both_ways(pairs, one, other).items()):
                take(left, (one, other), first, number)
                take(left, (other, one), 1 - second, number)
                here.append((first - ahead, second - behind, number))
            for points, kind in KIND.items():
                here.append((points - ahead, 0.0, left.get((one, other), [0, 0, 0])[kind]))
                here.append((0.0, 1 - points - behind, left.get((other, one), [0, 0, 0])[kind]))
    return found


def both_ways(pairs: Pairs, one: Hashable, other: Hashable) -> dict[tuple[float, float], float]:
    """Pairs of these two players from the view of ``one``, in either order of names."""
    found = dict(pairs.get((one, other), {}))
    for (first, second), number in pairs.get((other, one), {}).items():
        seen = (1 - second, 1 - first)
        found[seen] = found.get(seen, 0) + number
    return found


def take(left: dict[Pair, list[float]], pair: Pair, points: float, number: float) -> None:
    """Remove the games that belong to pairs from the single games."""
    if points not in KIND or left.get(pair, [0, 0, 0])[KIND[points]] < number:
        raise ValueError(f"pairs of {pair[0]} and {pair[1]} contain games that are missing in counts")
    left[pair][KIND[points]] -= number


def pair_up(
    games: Iterable[tuple[Hashable, Hashable, Hashable, float]],
) -> dict[Pair, dict[tuple[float, float], float]]:
    """Find pairs among games (key of the pair, first, second, points of the first)."""
    waiting: dict[Hashable, tuple[Hashable, Hashable, float]] = {}
    pairs: dict[Pair, dict[tuple[float, float], float]] = {}
    for key, first, second, points in games:
        if first == second:
            continue
        one, other = sorted((first, second), key=str)
        before = waiting.pop((key, one, other), None)
        if before is None:
            waiting[key, one, other] = (first, second, points)
        elif before[:2] == (second, first):
            seen = (points, 1 - before[2]) if first == one else (before[2], 1 - points)
            tally = pairs.setdefault((one, other), {})
            tally[seen] = tally.get(seen, 0) + 1
    return pairs


def quantile(confidence: float, freedom: float) -> float:
    """Two-sided quantile of Student's distribution, by the Cornish–Fisher expansion."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def likelihood_above_zero(value: float, error: float, freedom: float) -> float:
    """Probability that the estimated quantity is positive, by Student's distribution (Abramowitz, Stegun 26.7.8)."""
    t = value / error if error else 0.0
    return NormalDist().cdf(t * (1 - 1 / (4 * freedom)) / math.sqrt(1 + t * t / (2 * freedom)))
