"""Ratings: Bradley–Terry strengths by maximum likelihood, draws after Davidson. docs/methods/ratings.md derives it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ELO = 400 / math.log(10)  # points of Elo for one unit of strength
STEPS, CLOSE = 100, 1e-10  # of Newton's method, and when it has arrived

Floats = NDArray[np.float64]
Pair = tuple[Hashable, Hashable]
Counts = Mapping[Pair, Sequence[float]]  # (first, second): wins of the first, draws, wins of the second


@dataclass(frozen=True)
class Rating:
    """One player's."""

    player: Hashable
    elo: float
    low: float  # of the interval
    high: float
    games: float
    points: float


@dataclass(frozen=True)
class Ratings:
    """Strengths of players who have played each other, best first, in Elo above the anchor's."""

    table: tuple[Rating, ...]
    anchor: Hashable
    draw: float  # Davidson's nu: 0 without draws; between equals nu / (2 + nu) of the games are drawn
    advantage: float  # of moving first, in Elo; 0 where it was not asked for
    advantage_error: float  # its standard error
    covariance: Floats  # of all strengths, in Elo², in the table's order
    log_likelihood: float

    def __getitem__(self, player: Hashable) -> Rating:
        return self.table[self._place(player)]

    def difference(self, better: Hashable, worse: Hashable) -> tuple[float, float]:
        """How much better in Elo, and the standard error of that."""
        i, j = self._place(better), self._place(worse)
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return self.table[i].elo - self.table[j].elo, math.sqrt(max(0.0, float(variance)))

    def superiority(self, better: Hashable, worse: Hashable) -> float:
        """How likely it is, after these games, that the one is stronger than the other."""
        elo, error = self.difference(better, worse)
        return NormalDist().cdf(elo / error) if error else 0.5

    def expected(self, first: Hashable, second: Hashable) -> float:
        """Points to expect of a game: between 0 and 1."""
        strength = (self[first].elo - self[second].elo + self.advantage) / ELO
        win, draw, _ = probabilities(np.array([strength]), self.draw)
        return float(win[0] + draw[0] / 2)

    def _place(self, player: Hashable) -> int:
        for place, rating in enumerate(self.table):
            if rating.player == player:
                return place
        raise KeyError(f"no games of {player!r}")


def probabilities(strength: Floats, draw: float) -> tuple[Floats, Floats, Floats]:
    """Of a win, a draw and a loss, for differences in strength."""
    win, loss = np.exp(strength / 2), np.exp(-strength / 2)
    total = win + loss + draw
    return win / total, draw / total, loss / total


@dataclass(frozen=True)
class Problem:
    """Games as arrays, one row for every two players and who is first, and what is to be estimated from them.

    Parameters are the strengths, then the advantage of the first player and the logarithm of nu, where wanted.
    """

    design: Floats  # [rows, parameters without nu]: a row's strength is that of the first less that of the second
    counts: Floats  # [rows, 3]: wins of the first, draws, wins of the second
    draws: bool  # whether nu is a parameter
    prior: float

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
        """Gradient, and the negative of the Hessian: the information."""
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


def estimate(problem: Problem, free: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The maximum, by Newton's method with halved steps, and the covariance there; others than ``free`` stay 0."""
    x = np.zeros(problem.design.shape[1] + problem.draws)
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
                covariance = np.zeros((len(x), len(x)))
                covariance[part] = np.linalg.inv(problem.slope(x)[1][part])
                return x, covariance
    except np.linalg.LinAlgError:
        pass
    raise ValueError("these games have no finite ratings; give a prior above 0")


def rate(
    counts: Counts,
    *,
    anchor: Hashable | None = None,
    anchor_elo: float = 0.0,
    prior: float = 1.0,
    advantage: bool = False,
    confidence: float = 0.95,
) -> Ratings:
    """Ratings from counts of games: {(first, second): (wins of the first, draws, wins of the second)}.

    ``anchor`` is the player whose rating is ``anchor_elo`` (default: the first named). ``prior`` is a number of virtual
    draws of every player against one of middling strength: they keep the unbeaten finite. With 0, players must be
    connected by wins in both directions. ``advantage`` also estimates what moving first is worth.
    """
    named = list(dict.fromkeys(player for pair in counts for player in pair))
    anchor = anchor if anchor is not None else (named[0] if named else None)
    players = sorted(named, key=str)  # and pairs below: the last digits must not depend on the order of games
    _check(players, counts, anchor, prior, confidence)
    place = {player: i for i, player in enumerate(players)}
    games = {(place[first], place[second]): tally for (first, second), tally in counts.items() if first != second}
    rows = sorted(games)
    design = np.zeros((len(rows), len(players) + advantage))
    for row, (first, second) in enumerate(rows):
        design[row, first], design[row, second] = 1.0, -1.0
        design[row, len(players) :] = 1.0
    numbers = np.array([games[row] for row in rows], np.float64).reshape(-1, 3)
    problem = Problem(design, numbers, bool(numbers[:, 1].any()), prior)
    free = np.arange(design.shape[1] + problem.draws)
    x, covariance = estimate(problem, free if prior else np.delete(free, place[anchor]))
    return _ratings(players, anchor, anchor_elo, problem, x, covariance, counts, advantage, confidence)


def _check(players: list[Hashable], counts: Counts, anchor: Hashable | None, prior: float, confidence: float) -> None:
    if not players:
        raise ValueError("there are no games to rate")
    if anchor not in players:
        raise ValueError(f"the anchor {anchor!r} has played no games; there are {', '.join(map(str, players))}")
    for (first, second), tally in counts.items():
        if len(tally) != 3 or not all(number >= 0 and math.isfinite(number) for number in tally):
            raise ValueError(f"games of {first} and {second} are wins, draws and losses, 0 or more each, not {tally}")
    if not (prior >= 0 and math.isfinite(prior)):
        raise ValueError(f"a prior is a number of virtual draws, 0 or more, not {prior}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence}")
    if prior == 0 and (lost := unreachable(players, counts)):
        raise ValueError(
            f"without a prior {', '.join(map(str, lost))} cannot be rated: "
            "everybody must be connected to everybody by points won, and by points lost"
        )


def unreachable(players: Sequence[Hashable], counts: Counts) -> list[Hashable]:
    """Players who have no chain of points from, or to, the first."""
    took: dict[Hashable, set[Hashable]] = {player: set() for player in players}
    for (first, second), (wins, draws, losses) in counts.items():
        if wins or draws:
            took[first].add(second)
        if losses or draws:
            took[second].add(first)
    gave = {player: {other for other in players if player in took[other]} for player in players}
    reached = [reachable(players[0], links) for links in (took, gave)]
    return [player for player in players if not all(player in found for found in reached)]


def reachable(start: Hashable, links: Mapping[Hashable, set[Hashable]]) -> set[Hashable]:
    found, ahead = {start}, [start]
    while ahead:
        new = links[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def _ratings(
    players: list[Hashable],
    anchor: Hashable,
    anchor_elo: float,
    problem: Problem,
    x: Floats,
    covariance: Floats,
    counts: Counts,
    advantage: bool,
    confidence: float,
) -> Ratings:
    n, pin = len(players), players.index(anchor)
    above = np.eye(n) - np.eye(n)[pin]  # strengths above the anchor's
    spread = above @ covariance[:n, :n] @ above.T * ELO**2
    elo = anchor_elo + above @ x[:n] * ELO
    wide = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(np.maximum(0.0, np.diag(spread)))
    games, points = tallies(players, counts)
    order = sorted(range(n), key=lambda i: -elo[i])
    table = [
        Rating(players[i], float(elo[i]), float(elo[i] - wide[i]), float(elo[i] + wide[i]), games[i], points[i])
        for i in order
    ]
    return Ratings(
        tuple(table),
        anchor,
        problem.split(x)[1],
        float(x[n]) * ELO if advantage else 0.0,
        math.sqrt(covariance[n, n]) * ELO if advantage else 0.0,
        spread[np.ix_(order, order)],
        problem.value(x),
    )


def tallies(players: Sequence[Hashable], counts: Counts) -> tuple[list[float], list[float]]:
    """Games and points of each player."""
    games, points = dict.fromkeys(players, 0.0), dict.fromkeys(players, 0.0)
    for (first, second), (wins, draws, losses) in counts.items():
        for player, won in ((first, wins), (second, losses)):
            games[player] += wins + draws + losses
            points[player] += won + draws / 2
    return list(games.values()), list(points.values())


def count(games: Iterable[tuple[Hashable, Hashable, float]]) -> dict[Pair, list[float]]:
    """Counts from games: (first, second, points of the first)."""
    counts: dict[Pair, list[float]] = {}
    for first, second, points in games:
        tally = counts.setdefault((first, second), [0.0, 0.0, 0.0])
        tally[{1.0: 0, 0.5: 1, 0.0: 2}[points]] += 1
    return counts
