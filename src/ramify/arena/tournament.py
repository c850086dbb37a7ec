"""Tournaments: pairings and standings. Only games that are not stored yet are played."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ramify.arena.bradley_terry import Counts
from ramify.arena.draws import DrawModel, draw_model
from ramify.arena.matches import Interrupted, MatchConfig, ParallelSettings, Watch, fixtures, play
from ramify.arena.played import Fixture, Played
from ramify.arena.player import PlayerConfig, player_config, player_kind
from ramify.arena.ratings import Ratings, count, rate
from ramify.arena.results import Results
from ramify.arena.spread import Pairs, pair_up
from ramify.arena.text import as_player
from ramify.base.deprecation import renamed_arguments
from ramify.engine.access import OnInterrupt, check_on_interrupt
from ramify.games import Game

Pairing = tuple[PlayerConfig, PlayerConfig]


def round_robin(players: Sequence[PlayerConfig | str]) -> list[Pairing]:
    """All pairings of the players."""
    return list(itertools.combinations(map(as_player, players), 2))


def gauntlet(player: PlayerConfig | str, others: Sequence[PlayerConfig | str]) -> list[Pairing]:
    """One player against each of the others."""
    return [(as_player(player), as_player(other)) for other in others]


@dataclass(frozen=True)
class Line:
    """Wins, draws and losses of one player against another."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Points scored: 1 for a win, half for a draw."""
        return self.wins + self.draws / 2


@dataclass(frozen=True)
class Standings:
    """Players and the games between them."""

    players: tuple[PlayerConfig, ...]
    games: tuple[Played, ...]
    complete: bool = True  # False: it was stopped, and the rest can still be played
    count_forfeits: bool = False  # count forfeited games as losses; otherwise they are left out

    @property
    def counted(self) -> list[Played]:
        """The games that count for points and ratings."""
        return [game for game in self.games if self.count_forfeits or not game.forfeited]

    def counts(self) -> Counts:
        """Counts of games by the players' identities, for ``rate``."""
        return count((*game.fixture.players, game.points[0]) for game in self.counted)

    def pairs(self) -> Pairs:
        """Pairs among the games: the same players, opening, seed and limits, with seats exchanged."""
        return pair_up((_in_common(game.fixture), *game.fixture.players, game.points[0]) for game in self.counted)

    def ratings(self, **settings: Any) -> Ratings:
        """Ratings of the players, by identity; settings are those of ``rate``."""
        return rate(self.counts(), self.pairs(), **settings)

    def draw_model(self, **settings: Any) -> DrawModel:
        """Davidson's model of draws, by identity; settings are those of ``draw_model``."""
        return draw_model(self.counts(), **settings)

    def crosstable(self) -> dict[tuple[str, str], Line]:
        """{(player, other): wins, draws and losses of the player}, by identity, in both directions."""
        tallies: dict[tuple[str, str], list[int]] = {}
        for (first, second), numbers in self.counts().items():
            wins, draws, losses = (int(number) for number in numbers)
            for pair, tally in (((first, second), (wins, draws, losses)), ((second, first), (losses, draws, wins))):
                so_far = tallies.setdefault((str(pair[0]), str(pair[1])), [0, 0, 0])
                for i, number in enumerate(tally):
                    so_far[i] += number
        return {pair: Line(*tally) for pair, tally in tallies.items()}

    @property
    def forfeits(self) -> list[Played]:
        """Games that a player forfeited by an error, a timeout or an illegal action."""
        return [game for game in self.games if game.forfeited]


def _in_common(fixture: Fixture) -> tuple[Any, ...]:
    """What the two games of a pair share, besides the players."""
    return fixture.opening, fixture.seed, fixture.limits


@renamed_arguments(conditions="config")
@dataclass(frozen=True)
class Tournament:
    """Pairings, and the number of games of each."""

    game: Game
    pairings: tuple[Pairing, ...]
    games: int = 100  # of every pairing; half of them with each player first
    config: MatchConfig = field(default_factory=MatchConfig)

    @property
    def players(self) -> tuple[PlayerConfig, ...]:
        """All players, in order of appearance."""
        return tuple({config.identity: config for pairing in self.pairings for config in pairing}.values())

    def fixtures(self) -> list[Fixture]:
        """All games. Raises a ValueError if the two players of a pairing are the same."""
        for first, second in self.pairings:
            if first.identity == second.identity:
                raise ValueError(f"{first.label} and {second.label} are the same player: give two different players")
        return fixtures(self.game, self.pairings, self.games, self.config)

    @renamed_arguments(pace="parallel")
    def run(
        self,
        *,
        results: Results | None = None,
        parallel: ParallelSettings | None = None,
        watch: Watch | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> Standings:
        """Play the missing games. Call it again after Ctrl-C to resume.

        ``on_interrupt``: Ctrl-C raises ``Interrupted``, a KeyboardInterrupt with the games played so far; with
        ``"return"`` it ends the tournament, which returns the standings so far.
        """
        check_on_interrupt(on_interrupt)
        players = self.players
        try:
            games = play(self.game, players, self.fixtures(), results=results, parallel=parallel, watch=watch)
        except Interrupted as stopped:
            if on_interrupt == "raise":
                raise
            return Standings(players, tuple(stopped.played), complete=False)
        return Standings(players, tuple(games))


REFERENCES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("random", {}),
    ("greedy", {}),
    ("alphabeta", {"depth": 1}),
    ("alphabeta", {"depth": 2}),
    ("alphabeta", {"depth": 3}),
    ("search", {"simulations": 50}),
    ("search", {"simulations": 200}),
    ("search", {"simulations": 800}),
)


def reference_pool(game: Game) -> list[PlayerConfig]:
    """Reference players of increasing strength without training, limited to those that can play this game."""
    pool = []
    for kind, settings in REFERENCES:
        if player_kind(kind) is None:
            continue
        config = player_config(kind, **settings)
        try:
            config.open(game).close()
        except ValueError:  # a kind that says it cannot play this game
            continue
        pool.append(config)
    return pool
