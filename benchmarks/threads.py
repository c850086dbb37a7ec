"""Threads on one tree: million simulations per second by the wall, with 1, 2, 4, 8 and 16 threads.

The uniform evaluator of the core, one tree of 2 million simulations, the better of two runs. Numbers of threads above
the number of cores are left out. What threads should reach is said against one thread of commit 139f8b3, which is not
here to compare with: docs/decisions/0123-bundles-of-descents.md has these figures.

Takes two minutes on one core and needs cores of its own, so it runs only if it is named:
``python -m benchmarks --only threads``
"""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks._measure import row
from benchmarks.search import GAMES, run_native, settings
from ramify import _core

ON_REQUEST = True  # not among the benchmarks that run if none is named
SIMULATIONS, REPETITIONS = 2_000_000, 2
THREADS = (1, 2, 4, 8, 16)
NAMES = ("Hex 11x11", "chess, start", "connect four")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rate(name: str, threads: int) -> float:
    """Million simulations per second of the best run."""
    best = 0.0
    for _ in range(REPETITIONS):
        search = _core.make_search(GAMES[name](), settings(threads=threads))  # type: ignore[arg-type]
        start = time.perf_counter()
        run_native(search, SIMULATIONS)
        best = max(best, SIMULATIONS / (time.perf_counter() - start) / 1e6)
    return best


def rows() -> list[dict[str, Any]]:
    """Every game with every number of threads that has cores, and how many times one thread that is."""
    table = []
    for name in NAMES:
        one = 0.0
        for threads in (count for count in THREADS if count <= cores()):
            found = rate(name, threads)
            one = one or found
            label = f"{name}, {SIMULATIONS:,} simulations, {threads} thread{'s' * (threads > 1)} on one tree"
            table.append(row(label, found, "million simulations/s"))
            if threads > 1:
                table.append(row(f"{label}, against one", found / one, "times"))
    return table
