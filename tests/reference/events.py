"""Chance events as ``docs/methods/search.md`` describes them: which outcome a visit goes to, and what each counts.

- Of the first n visits of an event, m(n) draw an outcome: all of them, or where the event widens, which it does with
  more than ``chance_explicit`` outcomes, min(n, ⌈k · n^α⌉) with k = ``chance_widening`` and α = ``chance_exponent``.
- Draw number j takes the outcome at the point u + j · 0.618… mod 1 of the cumulated probabilities; u is a function of
  the seed and the event's key.
- The other visits go to the outcome with the greatest w_o / (1 + N_o), the first of equals.
- The value is the mean over the outcomes visited with the weights w_o = p_o or, where the event widens,
  w_o = max(p_o, t) with the t for which they sum to 1.
"""

import math
from collections.abc import Sequence

import numpy as np

from .config import Config

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    """The finaliser of SplitMix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def combined(seed: int, part: int) -> int:
    return mixed((seed * _GOLDEN + part + 0x2545F4914F6CDD1D) & _MASK)


def key_of_way(key: int, first: int, second: int) -> int:
    """In a tree, the key of a child: where it is, and not its position, tells it apart."""
    return combined(combined(key, first & _MASK), second & _MASK)


def start(key: int, seed: int = 0) -> float:
    """The point u of an event: the first number of the engine's generator for that seed and key."""
    base = combined(mixed(combined(mixed(seed), 0x64696365)), key)
    return (mixed((base + _GOLDEN) & _MASK) >> 11) * 2.0**-53


def draws(config: Config, outcomes: int, visits: int) -> int:
    """m(n): how many of the first n visits draw."""
    if not config.chance_widening or outcomes <= config.chance_explicit:
        return visits
    return min(visits, math.ceil(config.chance_widening * float(visits) ** config.chance_exponent))


def outcome_at(point: float, probabilities: Sequence[float]) -> int:
    left = point * sum(probabilities)
    for place, probability in enumerate(probabilities):
        left -= probability
        if left < 0:
            return place
    return len(probabilities) - 1


def weights(config: Config, probabilities: Sequence[float], seen: np.ndarray) -> list[float]:
    """w_o of all outcomes; only those of the outcomes seen mean something."""
    if not config.chance_widening or len(probabilities) <= config.chance_explicit:
        return list(probabilities)
    least = water_level([p for p, is_seen in zip(probabilities, seen, strict=True) if is_seen])
    return [max(p, least) for p in probabilities]


def water_level(probabilities: Sequence[float]) -> float:
    """The t with Σ max(p, t) = 1: the k greatest count by themselves, and the others share what is left."""
    ordered, taken = sorted(probabilities, reverse=True), 0.0
    for k, p in enumerate(ordered):
        if p < (1.0 - taken) / (len(ordered) - k):
            return (1.0 - taken) / (len(ordered) - k)
        taken += p
    return 0.0


def next_outcome(config: Config, key: int, probabilities: Sequence[float], visits: np.ndarray) -> int:
    """The place of the outcome that the next visit goes to."""
    n, count = int(visits.sum()), len(probabilities)
    drawn = draws(config, count, n)
    if draws(config, count, n + 1) > drawn:
        point = start(key) + 0.6180339887498949 * drawn
        return outcome_at(point - math.floor(point), probabilities)
    known = [int(place) for place in np.flatnonzero(visits)]
    weight = weights(config, probabilities, visits > 0)
    return max(known, key=lambda place: weight[place] / (1.0 + visits[place]))
