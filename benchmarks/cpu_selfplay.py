"""Self-play with a network on two cores, against twice what the fastest library evaluates on one.

Both take turns, so that what disturbs the machine disturbs both. By the wall, which needs two idle cores, and per
second of CPU time, which shows on a busy machine too how much of it goes into the network.

Run: ``python -m benchmarks --only cpu_selfplay``
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import ramify as rf
from benchmarks._measure import row
from benchmarks.network_evaluator import label_of, positions
from ramify.selfplay import PlayConfig, SelfPlay

GAME, PARAMS, SIZE = "hex", {"size": 7}, "6x64"
CORES = 2
ROWS = 64  # of the batches that libraries are given alone
PARALLEL_GAMES = 512
ROUNDS = 6
PLAY_SECONDS, ALONE_SECONDS = 4.0, 1.0  # of self-play, and of each library, in one round
IDLE_SECONDS = 0.25  # without work until nothing is in flight, on a busy machine too
SHARE = 0.9  # of the ceiling


def settle() -> float:
    """Wait until batches that self-play has in flight are evaluated; it uses them when it goes on. Returns the time
    since then, in seconds."""
    while True:
        cpu, idle = time.process_time(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        if time.process_time() - cpu < 0.002:
            return time.perf_counter() - idle


class Clock:
    """Rows evaluated, and the time that they took."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.work = work
        self.rows, self.wall, self.cpu = 0, 0.0, 0.0

    def run(self, seconds: float) -> None:
        """Repeat the work, which returns a number of rows, for this long."""
        wall, cpu = time.perf_counter(), time.process_time()
        while True:
            self.rows += self.work()
            if time.perf_counter() - wall >= seconds:
                break
        idle = settle()
        self.wall += time.perf_counter() - wall - idle
        self.cpu += time.process_time() - cpu


def alone(evaluator: Any, batch: rf.Batch) -> Clock:
    """A library that evaluates one batch again and again."""
    evaluator.evaluate(batch)

    def work() -> int:
        evaluator.evaluate(batch)
        return len(batch)

    return Clock(work)


def self_play(game: rf.Game, evaluator: Any) -> Clock:
    """Self-play whose games are of different ages."""
    config = rf.SearchConfig(simulations=200, noise_fraction=0.25)
    play = SelfPlay(game, evaluator, config, PlayConfig(), parallel_games=PARALLEL_GAMES, threads=CORES, seed=0)
    rounds = iter(play)

    def work() -> int:
        before = play.evaluated
        next(rounds)
        return play.evaluated - before

    Clock(work).run(PLAY_SECONDS)
    return Clock(work)


def rows() -> list[dict[str, Any]]:
    """The speed of self-play, and its share of the ceiling; nothing without torch or a second core."""
    if find_spec("torch") is None or len(os.sched_getaffinity(0)) < CORES:
        return []
    from ramify.evaluators.backends import installed

    game = rf.make(GAME, **PARAMS)
    module = rf.networks.make(game, SIZE)
    label, batch = label_of(game, SIZE), positions(game, ROWS)
    libraries = {name: alone(rf.evaluators.Network(module, "cpu", backend=name), batch) for name in installed()}
    evaluator = rf.evaluators.Network(module, "cpu", threads=CORES)
    played = self_play(game, evaluator)
    for _ in range(ROUNDS):
        played.run(PLAY_SECONDS)
        for clock in libraries.values():
            clock.run(ALONE_SECONDS)
    rates = {name: clock.rows / clock.cpu for name, clock in libraries.items()}
    best = max(rates.values())
    table = [row(f"{label}, {name} on one core, batch {ROWS}", rate, "positions/s") for name, rate in rates.items()]
    name = f"{label}, self-play on {CORES} cores by {evaluator.backend}"
    table.append(row(name, played.rows / played.wall, "evaluations/s", SHARE * CORES * best))
    table.append(row(f"{name}, share of the fastest per CPU second", played.rows / played.cpu / best, "", SHARE))
    return table
