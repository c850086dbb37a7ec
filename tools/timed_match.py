"""A match that ends when its time is over, with the games that are finished by then."""

from __future__ import annotations

import time

from ramify.arena import MatchConfig, MatchResult, ParallelSettings
from ramify.arena.matches import Interrupted, Progress, fixtures, play
from ramify.arena.player import PlayerConfig
from ramify.arena.results import Memory
from ramify.arena.text import as_player
from ramify.arena.workers import WorkerPool
from ramify.games import Game


def timed_match(
    game: Game,
    first: PlayerConfig | str,
    second: PlayerConfig | str,
    games: int,
    *,
    config: MatchConfig,
    parallel: ParallelSettings,
    seconds: float | None = None,
    pool: WorkerPool | None = None,
) -> MatchResult:
    """As ``match``, for at most so many seconds; a pair of games counts only if both are finished.

    Games that take long are more often cut off than short ones, so a match should end with most of its games played.
    """
    pair = as_player(first), as_player(second)
    wanted, results = fixtures(game, [pair], games, config), Memory()
    ends = None if seconds is None else time.monotonic() + seconds

    def stop_in_time(progress: Progress) -> None:
        if progress.last is not None and ends is not None and time.monotonic() > ends:
            raise KeyboardInterrupt

    try:
        play(game, pair, wanted, results=results, parallel=parallel, watch=stop_in_time, pool=pool)
    except Interrupted:
        if ends is None or time.monotonic() < ends:
            raise  # somebody pressed Ctrl-C
    there = results.find([fixture.key for fixture in wanted])
    pairs = [(there.get(a.key), there.get(b.key)) for a, b in zip(wanted[::2], wanted[1::2], strict=True)]
    return MatchResult(pair, tuple(one for both in pairs if None not in both for one in both if one is not None))
