"""Gates: a sequential test of whether a candidate is stronger than the current champion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ramify.arena.matches import MatchConfig, ParallelSettings, Watch, fixtures, play
from ramify.arena.played import Played
from ramify.arena.player import PlayerConfig
from ramify.arena.results import Memory, Results
from ramify.arena.sequential import GAME, PAIR, Sprt, SprtConfig, Verdict, pair_log_ratio, sprt_pairs
from ramify.arena.text import as_player
from ramify.arena.workers import WorkerPool
from ramify.base.deprecation import renamed_arguments
from ramify.games import Game

MAX_GAMES = 1000  # with the test's defaults, few gates end undecided: ``operating_characteristic`` says how few


@dataclass(frozen=True)
class Gate:
    """Result of a gate. ``games`` are the games that counted, in order."""

    test: Sprt
    verdict: Verdict
    games: tuple[Played, ...]
    wins: int
    draws: int
    losses: int
    pairs: tuple[int, ...]  # pairs of games that brought the candidate 0, ½, 1, 1½ and 2 points


@renamed_arguments(conditions="config", pace="parallel")
def gate(
    game: Game,
    candidate: PlayerConfig | str,
    champion: PlayerConfig | str,
    *,
    test: SprtConfig | None = None,
    max_games: int = MAX_GAMES,
    config: MatchConfig | None = None,
    results: Results | None = None,
    parallel: ParallelSettings | None = None,
    watch: Watch | None = None,
) -> Gate:
    """Play pairs of games until the test decides or ``max_games`` are played (then the verdict is None).

    The test is evaluated after every pair, in order, so the verdict does not depend on how many are played in parallel.
    ``operating_characteristic(test, max_games)`` gives the probabilities of the verdicts and the expected length.
    """
    test, config, parallel = test or SprtConfig(), config or MatchConfig(), parallel or ParallelSettings()
    results = results if results is not None else Memory()
    candidate, champion = as_player(candidate), as_player(champion)
    if candidate.identity == champion.identity:
        raise ValueError(f"{candidate.label} and {champion.label} are the same player: give two different players")
    wanted = fixtures(game, [(candidate, champion)], max_games, config)
    players, size = [candidate, champion], max(2, parallel.concurrency * max(1, parallel.workers) // 2 * 2)
    games: list[Played] = []
    with WorkerPool() as pool:
        for start in range(0, len(wanted), size):
            batch = wanted[start : start + size]
            games += play(game, players, batch, results=results, parallel=parallel, watch=watch, pool=pool)
            decided = decide(games, candidate.identity, test)
            if decided.verdict is not None:
                return decided
    return decide(games, candidate.identity, test)


def decide(games: Sequence[Played], candidate: str, test: SprtConfig) -> Gate:
    """The result of the test on these games; it stops at the first pair that decides."""
    points = np.array([played.points[played.fixture.players.index(candidate)] for played in games])
    both = points[: len(points) // 2 * 2].reshape(-1, 2).sum(axis=1)
    counts = np.cumsum(both[:, None] == 2 * PAIR, axis=0)  # of all pairs up to each
    low, high = test.bounds
    ratios = pair_log_ratio(counts, test.elo0, test.elo1)
    decisive = np.flatnonzero((ratios <= low) | (ratios >= high))
    used = int(decisive[0]) + 1 if len(decisive) else len(both)
    pairs = tuple(int(number) for number in counts[used - 1]) if used else (0,) * len(PAIR)
    wins, draws, losses = (int((points[: 2 * used] == value).sum()) for value in GAME)
    found = sprt_pairs(pairs, test)
    return Gate(found, found.verdict, tuple(games[: 2 * used]), wins, draws, losses, pairs)
