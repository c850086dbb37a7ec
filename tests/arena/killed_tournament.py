"""A tournament in a process of its own, for tests that kill it: store, workers, progress to a file."""

from __future__ import annotations

import sys
from pathlib import Path

import ramify as rf
from ramify.arena import ParallelSettings, Standings, Tournament, round_robin
from ramify.store import Store
from tests.arena.helpers import DiceConfig


def plan(log: str = "") -> Tournament:
    """Slow enough to be killed in the middle."""
    players = [DiceConfig(skill=skill, seconds=0.002 if log else 0.0, log=log) for skill in (0.0, 0.4, 0.8)]
    return Tournament(rf.make("tictactoe"), tuple(round_robin(players)), games=20)


def run(path: Path, log: str, workers: int) -> Standings:
    with Store(path) as store:
        return plan(log).run(results=store.results(), parallel=ParallelSettings(3, workers))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
