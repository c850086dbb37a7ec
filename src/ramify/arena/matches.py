"""Matches: pairs of games with the same opening and the seats exchanged, many of them at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from ramify.arena.match_result import MatchResult
from ramify.arena.openings import Openings
from ramify.arena.played import Fixture, Limits, Played, plain_params
from ramify.arena.player import PlayerConfig
from ramify.arena.results import Memory, Results
from ramify.arena.runner import Finish, MatchRunner, deliver
from ramify.arena.text import as_player
from ramify.arena.waiting import Waiting, waiting_games
from ramify.arena.workers import WorkerPool, play_in_workers
from ramify.base.deprecation import renamed_arguments
from ramify.base.seeds import derive
from ramify.games import Game, number_of_players
from ramify.games.registry import checked_game


@dataclass(frozen=True)
class MatchConfig:
    """What games depend on, apart from the players: openings, seed and limits."""

    openings: Openings = field(default_factory=Openings)
    seed: int = 0
    limits: Limits = field(default_factory=Limits)


@renamed_arguments(together="concurrency")
@dataclass(frozen=True)
class ParallelSettings:
    """How many games are played at once; the games themselves do not depend on it."""

    concurrency: int = 16  # games at once in each process
    workers: int = 0  # processes; 0: this one

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.workers < 0:
            raise ValueError(
                f"concurrency is at least 1 and workers at least 0, not {self.concurrency} and {self.workers}"
            )


@dataclass(frozen=True)
class Progress:
    """Progress of a match: games wanted, games done, how many of these were found and not played, and the time."""

    wanted: int
    done: int
    found: int
    seconds: float
    last: Played | None = None

    @property
    def games_per_s(self) -> float:
        """Games played per second."""
        return (self.done - self.found) / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Time left at that rate; None before the first game has been played."""
        return (self.wanted - self.done) / self.games_per_s if self.done > self.found else None


Watch = Callable[[Progress], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed. ``played`` are the finished games, all of which are kept."""

    def __init__(self, played: list[Played], wanted: int) -> None:
        super().__init__(f"stopped after {len(played)} of {wanted} games")
        self.played, self.wanted = played, wanted


def check_pairs(games: int) -> None:
    """Raise a ValueError unless so many games come in pairs."""
    if games < 2 or games % 2:
        raise ValueError(f"games come in pairs, one with each player first: give an even number, not {games}")


def fixtures(
    game: Game, pairings: Iterable[tuple[PlayerConfig, PlayerConfig]], games: int, config: MatchConfig
) -> list[Fixture]:
    """All games of some pairings: ``games`` each, half of them with each player first.

    Pairings (a, b) and (b, a) have the same games. The order is such that all pairings advance evenly.
    """
    check_pairs(games)
    if number_of_players(game) == 1:
        raise ValueError(f"{game.name} is a game of one player: there are no matches in it")
    params, limits = plain_params(game), config.limits
    openings = config.openings.take(game, games // 2, config.seed)
    pairs = [(first.identity, second.identity) for first, second in pairings]
    found = []
    for number, opening in enumerate(openings):
        seed = derive(config.seed, "game", number)
        for first, second in pairs:
            # Against itself a player would only repeat the game: then the other one of the pair has its own seed.
            other = derive(seed, "other") if first == second else seed
            found.append(Fixture(game.name, params, (first, second), opening, seed, limits))
            found.append(Fixture(game.name, params, (second, first), opening, other, limits))
    return found


@renamed_arguments(pace="parallel")
def play(
    game: Game,
    players: Sequence[PlayerConfig],
    wanted: Sequence[Fixture],
    *,
    results: Results | None = None,
    parallel: ParallelSettings | None = None,
    watch: Watch | None = None,
    pool: WorkerPool | None = None,
) -> list[Played]:
    """The games asked for, in order. Those that ``results`` has are not played again, the others are added to it.

    If ``results`` is shared, as a store is, processes that play the same games at the same time divide them. The
    workers of ``parallel`` are those of a ``pool``, if one is given, which has them ready for the next call.

    Settings with which a player cannot play raise a ValueError before the first game. A player that fails in a game
    loses it. Ctrl-C raises ``Interrupted`` with the finished games.
    """
    results, parallel = results if results is not None else Memory(), parallel or ParallelSettings()
    there = results.find([fixture.key for fixture in wanted])
    missing = list({fixture.key: fixture for fixture in wanted if fixture.key not in there}.values())
    needed = {identity for fixture in missing for identity in fixture.players}
    configs = [config for config in players if config.identity in needed]
    results.meet(players)
    total, found, start = len({fixture.key for fixture in wanted}), len(there), time.perf_counter()
    if watch is not None:
        watch(Progress(total, found, found, 0.0))

    def finish(played: Played) -> None:
        results.add(played)
        note(played)

    def note(played: Played, elsewhere: int = 0) -> None:
        nonlocal found
        found += elsewhere
        there[played.key] = played
        if watch is not None:
            watch(Progress(total, len(there), found, time.perf_counter() - start, played))

    waiting = waiting_games(missing, results, lambda played: note(played, 1))
    try:
        if missing:
            fitting = replace(parallel, workers=min(parallel.workers, len(missing)))
            play_missing(game, configs, waiting, fitting, finish, pool)
    except KeyboardInterrupt:
        raise Interrupted([there[fixture.key] for fixture in wanted if fixture.key in there], len(wanted)) from None
    finally:
        waiting.close()
    return [there[fixture.key] for fixture in wanted]


def play_missing(
    game: Game,
    configs: Sequence[PlayerConfig],
    waiting: Waiting,
    parallel: ParallelSettings,
    finish: Finish,
    pool: WorkerPool | None,
) -> None:
    """Play these games; ``finish`` gets each one when it ends."""
    if parallel.workers:
        workers, concurrency = parallel.workers, parallel.concurrency
        with WorkerPool() if pool is None else nullcontext(pool) as chosen:
            play_in_workers(game, configs, waiting, finish, pool=chosen, workers=workers, concurrency=concurrency)
        return
    runner = MatchRunner.open(game, configs)
    try:
        while True:
            for fixture in waiting.take(parallel.concurrency - len(runner), wait=not len(runner)):
                runner.add(fixture)
            if not len(runner):
                break
            deliver(runner.round(), finish)
    finally:
        runner.close()


@renamed_arguments(conditions="config", pace="parallel")
def match(
    game: Game,
    first: PlayerConfig | str,
    second: PlayerConfig | str,
    games: int = 100,
    *,
    config: MatchConfig | None = None,
    results: Results | None = None,
    parallel: ParallelSettings | None = None,
    watch: Watch | None = None,
    pool: WorkerPool | None = None,
) -> MatchResult:
    """Play games between two players, in pairs with the same opening and the seats exchanged.

    The result is a sequence of the games, and has the score, the Elo difference and their intervals.
    """
    checked_game(game, "match")
    pair = as_player(first), as_player(second)
    wanted = fixtures(game, [pair], games, config or MatchConfig())
    played = play(game, pair, wanted, results=results, parallel=parallel, watch=watch, pool=pool)
    return MatchResult(pair, tuple(played))
