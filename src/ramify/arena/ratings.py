"""Elo ratings with confidence intervals; docs/methods/ratings.md derives the estimates."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ramify.arena.bradley_terry import ELO, Counts, Pair, Problem, estimate, probabilities
from ramify.arena.groups import Group, anchor_of, check_counts, groups_of, named
from ramify.arena.spread import Pairs, Spread, likelihood_above_zero, quantile, spread_of

MEANING = "An Elo difference predicts the points per game: 1 / (1 + 10^(-difference/400)), with half a point for a draw"

FEW_GAMES = 20  # of a player; below this its rating is little more than a guess


def elo_text(elo: float, digits: int = 0) -> str:
    """Elo as every list shows it: with a sign, except zero."""
    text = f"{elo:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


@dataclass(frozen=True)
class Rating:
    """The rating of one player."""

    player: Hashable
    elo: float
    low: float  # of the interval
    high: float
    games: float
    points: float
    group: int = 0  # ratings of different groups cannot be compared


@dataclass(frozen=True)
class Ratings:
    """Elo ratings relative to the anchor of each group, best first, group by group.

    A group is a set of players connected by games. Rating differences predict expected points (``expected``).
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
        """The anchor of the first group."""
        return self.groups[0][0]

    def difference(self, better: Hashable, worse: Hashable) -> tuple[float, float]:
        """Elo difference of the two players, and its standard error."""
        elo, error, _ = self._difference(better, worse)
        return elo, error

    def interval(self, better: Hashable, worse: Hashable, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the Elo difference."""
        elo, error, freedom = self._difference(better, worse)
        wide = quantile(confidence, freedom) * error
        return elo - wide, elo + wide

    def superiority(self, better: Hashable, worse: Hashable) -> float:
        """Likelihood of superiority: how likely it is that the first player is stronger."""
        return likelihood_above_zero(*self._difference(better, worse))

    def expected(self, first: Hashable, second: Hashable) -> float:
        """Expected points of a game, from 0 to 1."""
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
            raise ValueError(f"{one} and {other} cannot be compared: they are not connected by games")

    def _place(self, player: Hashable) -> int:
        for place, rating in enumerate(self.table):
            if rating.player == player:
                return place
        raise KeyError(f"{player!r} has no games")


def points_at(elo: float) -> float:
    """Expected points per game at this Elo difference."""
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
    """Estimate ratings from counts of games: {(first, second): (wins of the first, draws, wins of the second)}.

    ``pairs`` are the games played in pairs, with the same opening and seats exchanged (``pair_up`` finds them):
    intervals account for the correlation within pairs. Without it, games are treated as independent. ``anchor`` is the
    player whose rating is ``anchor_elo`` (default: the first one); in every other group the first player by name is the
    anchor, at 0. ``prior`` is the number of virtual draws of every player against one of average strength, which keeps
    the ratings of unbeaten players finite. With 0, players must be connected by points in both directions.
    ``advantage`` also estimates the advantage of moving first.
    """
    check_counts(counts, prior)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
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
    """The rating list, and the index of each player in the estimate."""
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
    """Counts for ``rate`` from games (first, second, points of the first)."""
    counts: dict[Pair, list[float]] = {}
    for first, second, points in games:
        tally = counts.setdefault((first, second), [0.0, 0.0, 0.0])
        tally[{1.0: 0, 0.5: 1, 0.0: 2}[points]] += 1
    return counts
