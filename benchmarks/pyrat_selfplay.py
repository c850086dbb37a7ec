"""Self-play of PyRat without a network: games per second of one core, searched with rollouts and with uniform values.

Boards are open, 7x7, with 10 cheese and 50 turns; a search has 1,897 simulations with one random game each. A second is
one of CPU time.

Run: ``python -m benchmarks --only pyrat_selfplay``
"""

from __future__ import annotations

from functools import partial
from typing import Any

import ramify as rf
from benchmarks._measure import best_rate, row
from ramify.selfplay import PlayConfig, SelfPlay

OPEN_7 = {"width": 7, "height": 7, "cheese": 10, "max_turns": 50, "wall_density": 0.0, "mud_density": 0.0}
SIMULATIONS = 1_897
TARGET = 35.0  # games per second, with rollouts
GAMES = 16  # of one repetition: games differ in length, so that all repetitions play the same ones
PARALLEL = 4


def play(evaluator: Any) -> tuple[int, object]:
    """Games that were played to their end, and what played them."""
    search = rf.SearchConfig(simulations=SIMULATIONS)
    games = SelfPlay(
        rf.make("pyrat", **OPEN_7), evaluator, search, PlayConfig(), games=GAMES, parallel_games=PARALLEL, seed=0
    )
    return sum(len(finished) for finished in games), games


def rows() -> list[dict[str, Any]]:
    """Games per second by evaluator."""
    label = f"PyRat 7x7 open, {SIMULATIONS:,} simulations"
    rollouts = best_rate(partial(play, rf.evaluators.Rollout()))
    uniform = best_rate(partial(play, rf.evaluators.Uniform()))
    return [
        row(f"{label}, rollouts", rollouts, "games/s", TARGET),
        row(f"{label}, uniform values", uniform, "games/s"),
    ]
