"""Result of a match: its games, the score and the Elo difference, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from ramify.arena.played import Played
from ramify.arena.player import PlayerConfig
from ramify.arena.ratings import FEW_GAMES, Ratings, count, elo_text, rate
from ramify.arena.spread import EVEN, pair_up, quantile
from ramify.arena.text import short_names

CONFIDENCE = 0.95  # of all intervals in this module
FIRST, SECOND = "first", "second"


@dataclass(frozen=True, eq=False, repr=False)
class MatchResult(Sequence[Played]):
    """The games of a match, as a sequence, and their summary from the view of the first player.

    Forfeited games are in the sequence but do not count, because they say nothing about strength.
    """

    players: tuple[PlayerConfig, PlayerConfig]
    games: tuple[Played, ...]  # in pairs: the first player moves first, then the second

    @overload
    def __getitem__(self, index: int) -> Played: ...
    @overload
    def __getitem__(self, index: slice) -> list[Played]: ...
    def __getitem__(self, index: int | slice) -> Played | list[Played]:
        return list(self.games[index]) if isinstance(index, slice) else self.games[index]

    def __len__(self) -> int:
        return len(self.games)

    def __eq__(self, other: object) -> bool:
        """Compare the games only, also with lists and tuples."""
        return isinstance(other, MatchResult | list | tuple) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def points(self) -> tuple[float | None, ...]:
        """Points of the first player, game by game: 1, ½ or 0; None for a forfeit."""
        return tuple(
            None if game.forfeited else game.points[number % 2] for number, game in enumerate(self.games)
        )  # in every second game the seats are exchanged

    @property
    def wins(self) -> int:
        """Games won by the first player."""
        return self.points.count(1.0)

    @property
    def draws(self) -> int:
        """Games drawn."""
        return self.points.count(0.5)

    @property
    def losses(self) -> int:
        """Games lost by the first player."""
        return self.points.count(0.0)

    @property
    def forfeits(self) -> int:
        """Number of games lost by an error of a player."""
        return self.points.count(None)

    @property
    def score(self) -> float:
        """Points of the first player per game, between 0 and 1; nan without a game that counts."""
        return (self.wins + self.draws / 2) / counted if (counted := self._counted) else math.nan

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the score.

        Wilson's interval for an effective number of games, estimated from the variance of the pairs: the two games of a
        pair share an opening and are not independent, and draws vary less than decided games.
        """
        games, score = self._counted, self.score
        if not games:
            return 0.0, 1.0
        pairs = [
            [points for points in self.points[start : start + 2] if points is not None]
            for start in range(0, len(self.points), 2)
        ]
        varied = sum((sum(pair) - len(pair) * score) ** 2 for pair in pairs) + EVEN
        effective = games * (games * score * (1 - score) + EVEN) / varied
        z = quantile(CONFIDENCE, sum(bool(pair) for pair in pairs))
        middle = (score + z * z / (2 * effective)) / (1 + z * z / effective)
        wide = z / (1 + z * z / effective) * math.sqrt(score * (1 - score) / effective + (z / (2 * effective)) ** 2)
        return max(0.0, middle - wide), min(1.0, middle + wide)

    @property
    def elo(self) -> float:
        """Estimated Elo difference between the first and the second player; nan without a game that counts."""
        return self.ratings.difference(FIRST, SECOND)[0] if self._counted else math.nan

    @property
    def elo_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the Elo difference."""
        return self.ratings.interval(FIRST, SECOND, CONFIDENCE) if self._counted else (-math.inf, math.inf)

    @cached_property
    def ratings(self) -> Ratings:
        """Ratings of the two players, named "first" and "second", from ``rate``."""
        games = []
        for number, points in enumerate(self.points):
            if points is not None:
                seats, won = ((FIRST, SECOND), points) if number % 2 == 0 else ((SECOND, FIRST), 1 - points)
                games.append((number // 2, *seats, won))
        return rate(count(game[1:] for game in games), pair_up(games), anchor=SECOND)

    @property
    def _counted(self) -> int:
        return len(self.games) - self.forfeits

    def summary(self) -> str:
        """The result in one line."""
        first, second = short_names([config.label for config in self.players], [one.name for one in self.players])
        text = f"{first} vs. {second}: {_number(self.wins, 'win', 'wins')}, {_number(self.draws, 'draw', 'draws')}"
        text += f", {_number(self.losses, 'loss', 'losses')}"
        if self._counted:
            low, high = self.interval
            text += f", score {100 * self.score:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"
            worst, best = map(elo_text, self.elo_interval)
            text += f", Elo {elo_text(self.elo)} (95 %: {worst} to {best})"
            text += ", too few games for a rating" if self._counted < FEW_GAMES else ""
        lost = _number(self.forfeits, "forfeited game", "forfeited games")
        return text + (f", {lost} not counted" if self.forfeits else "")

    __str__ = summary

    def __repr__(self) -> str:
        return f"<MatchResult {self.summary()}>"


def _number(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
