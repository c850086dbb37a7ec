"""Ratings in Elo: what points to expect. docs/methods/ratings.md derives how they and their intervals are estimated."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ramify.arena.bradley_terry import ELO, Counts, Pair, Problem, estimate, probabilities
from ramify.arena.groups import Group, anchor_of, check_counts, groups_of, named
from ramify.arena.spread import Pairs, Spread, likelihood_above_zero, quantile, spread_of

MEANING = "Elo says what points to expect of a game: 1 / (1 + 10^(-difference/400)), a draw being half a point"


@dataclass(frozen=True)
class Rating:
    """One player's."""

    player: Hashable
    elo: float
    low: float  # of the interval
    high: float
    games: float
    points: float
    group: int = 0  # ratings of different groups cannot be compared


@dataclass(frozen=True)
class Ratings:
    """Players in Elo above the anchor of their group, best first, group by group.

    A group are players connected by games. Ratings say what points to expect of a game (``expected``), draws included.
    """

    table: tuple[Rating, ...]
    groups: tuple[Group, ...]  # in each, its anchor first
    advantage: float  # of moving first, in Elo; 0 where it was not asked for
    advantage_error: float  # its standard error
    spread: Spread  # of the players' strengths, in the table's order

    def __getitem__(self, player: Hashable) -> Rating:
        return self.table[self._place(player)]

    @property
    def anchor(self) -> Hashable:
        """Whose rating was given: the anchor of the first group."""
        return self.groups[0][0]

    def difference(self, better: Hashable, worse: Hashable) -> tuple[float, float]:
        """How much better in Elo, and the standard error of that."""
        elo, error, _ = self._difference(better, worse)
        return elo, error

    def interval(self, better: Hashable, worse: Hashable, confidence: float = 0.95) -> tuple[float, float]:
        """Between which limits the difference lies, in Elo."""
        elo, error, freedom = self._difference(better, worse)
        wide = quantile(confidence, freedom) * error
        return elo - wide, elo + wide

    def superiority(self, better: Hashable, worse: Hashable) -> float:
        """How likely it is, after these games, that the one is stronger than the other."""
        return likelihood_above_zero(*self._difference(better, worse))

    def expected(self, first: Hashable, second: Hashable) -> float:
        """Points to expect of a game: between 0 and 1."""
        self._check_group(first, second)
        return points_at(self[first].elo - self[second].elo + self.advantage)

    def _difference(self, better: Hashable, worse: Hashable) -> tuple[float, float, float]:
        self._check_group(better, worse)
        i, j = self._place(better), self._place(worse)
        contrast = np.zeros(len(self.table))
        contrast[i] += 1
        contrast[j] -= 1
        error, freedom = self.spread.error(contrast)
        return self.table[i].elo - self.table[j].elo, error * ELO, freedom

    def _check_group(self, one: Hashable, other: Hashable) -> None:
        if self[one].group != self[other].group:
            raise ValueError(f"{one} and {other} cannot be compared: no chain of games connects them")

    def _place(self, player: Hashable) -> int:
        for place, rating in enumerate(self.table):
            if rating.player == player:
                return place
        raise KeyError(f"no games of {player!r}")


def points_at(elo: float) -> float:
    """Points a game to expect of a player so much stronger."""
    return float(1 / (1 + 10 ** (-elo / 400)))


def rate(
    counts: Counts,
    pairs: Pairs | None = None,
    *,
    anchor: Hashable | None = None,
    anchor_elo: float = 0.0,
    prior: float = 1.0,
    advantage: bool = False,
    confidence: float = 0.95,
) -> Ratings:
    """Ratings from counts of games: {(first, second): (wins of the first, draws, wins of the second)}.

    ``pairs`` says which of these games were played as a pair, with the same opening and seats exchanged (``pair_up``
    finds them): intervals account for what such games have in common. Without it, games count as independent.
    ``anchor`` is the player whose rating is ``anchor_elo`` (default: the first named); in every other group of players
    who have met, the first by name is the anchor, at 0. ``prior`` is a number of virtual draws of every player against
    one of middling strength: they keep the unbeaten finite. With 0, players must be connected by points in both
    directions. ``advantage`` also estimates what moving first is worth.
    """
    check_counts(counts, prior)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence}")
    groups = groups_of(counts, anchor_of(counts, anchor))
    players = sorted(named(counts), key=str)
    halves = {pair: (wins + draws / 2, 0.0, losses + draws / 2) for pair, (wins, draws, losses) in counts.items()}
    problem = Problem.of(players, halves, prior, advantage=advantage)
    x, inverse = estimate(problem, () if prior else [players.index(group[0]) for group in groups])
    edge = float(x[len(players)]) if advantage else 0.0
    theta = dict(zip(players, x, strict=False))
    expected = {
        (first, second): float(probabilities(np.array([theta[first] - theta[second] + edge]), 0.0)[0][0])
        for first, second in counts
        if first != second
    }
    spread = spread_of(players, counts, pairs or {}, expected, inverse, advantage=advantage)
    elo = {
        player: (0.0 if number else anchor_elo) + float(theta[player] - theta[group[0]]) * ELO
        for number, group in enumerate(groups)
        for player in group
    }
    table, order = _table(players, groups, elo, spread, counts, confidence)
    error = spread.error(np.eye(len(x))[-1])[0] * ELO if advantage else 0.0
    shown = Spread(spread.influence[order], spread.moments, spread.pairs)
    return Ratings(tuple(table), groups, edge * ELO, error, shown)


def _table(
    players: list[Hashable],
    groups: tuple[Group, ...],
    elo: dict[Hashable, float],
    spread: Spread,
    counts: Counts,
    confidence: float,
) -> tuple[list[Rating], list[int]]:
    """The list, and the place of each of its players in the order of the estimate."""
    own = dict(zip(players, zip(*tallies(players, counts), strict=True), strict=True))
    place = {player: i for i, player in enumerate(players)}
    table = []
    for number, group in enumerate(groups):
        for player in sorted(group, key=lambda player: (-elo[player], str(player))):
            contrast = np.zeros(len(spread.influence))
            contrast[place[player]] += 1
            contrast[place[group[0]]] -= 1
            error, freedom = spread.error(contrast)
            wide = quantile(confidence, freedom) * error * ELO
            table.append(Rating(player, elo[player], elo[player] - wide, elo[player] + wide, *own[player], number))
    return table, [place[rating.player] for rating in table]


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
