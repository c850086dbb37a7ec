"""Random PyRat turns per second of one core, the generation of the games included.

Run: ``python -m benchmarks.pyrat_turns``
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import ramify as rf

TARGET = 5e6
OPEN_7 = {"width": 7, "height": 7, "cheese": 9, "max_turns": 50, "wall_density": 0.0, "mud_density": 0.0}


def _rates(params: dict[str, Any], games: int, runs: int = 7) -> list[float]:
    """Turns per second of this thread's CPU time, so that other programs on the machine matter little."""
    game = rf.make("pyrat", **params)
    rates = []
    for run in range(runs):
        start = time.thread_time()
        turns = game.random_turns(run, games)  # type: ignore[attr-defined]  # native games have it
        rates.append(turns / (time.thread_time() - start))
    return rates


def rows() -> list[dict[str, Any]]:
    """One row per measurement; ``ok`` compares the median of the runs with the target, if there is one."""
    measured = [
        ("PyRat 21x15 random turns", _rates({}, 1000), "turns/s", TARGET),
        ("PyRat 7x7 open random turns", _rates(OPEN_7, 10_000), "turns/s", None),
        ("PyRat 41x31 random turns", _rates({"preset": "huge"}, 300), "turns/s", None),
        ("PyRat 21x15 games made", _rates({"max_turns": 1}, 3000), "games/s", None),
    ]
    table = []
    for name, rates, unit, target in measured:
        value = statistics.median(rates)
        ok = target is None or value >= target
        table.append({"name": name, "value": value, "unit": unit, "target": target, "ok": ok})
    return table


if __name__ == "__main__":
    for row in rows():
        goal = f"target {row['target']:,.0f}" if row["target"] else ""
        print(f"{row['name']:30} {row['value']:14,.0f} {row['unit']:8} {goal}")
