"""One tree that grows to 30 million nodes: what a level of a descent costs on the way, and the memory it takes.

The uniform evaluator of the core, one thread, CPU time. A size is measured by the last tenth of the simulations up to
it, so that the small tree which every large one was once does not count. All values are 0, so a search visits
all actions in turn: no two simulations in a row meet below the first levels, the worst case for caches.

Takes four minutes and 4 GiB of memory, so it runs only if it is named:
``python -m benchmarks --only large_trees``
"""

from __future__ import annotations

import math
import time
from typing import Any

from benchmarks._measure import row
from benchmarks.search import GAMES, settings
from ramify import _core

ON_REQUEST = True  # not among the benchmarks that run if none is named
SMALL, SIZES = 10_000, (100_000, 1_000_000, 10_000_000, 30_000_000)
SMALL_REPETITIONS = 40
GROWTH = 1.5  # the most that a level of the largest tree may cost, against one of the small tree
CHESS_GIB = 5.0


def nanoseconds_per_level(search: _core.Search, done: int, size: int) -> float:
    """Grow a tree of so many simulations to another size; returns the cost of a level in the last tenth."""
    last = size // 10
    search.begin(0)
    search.run_native(0, 0, size - last - done, math.inf)
    search.begin(0)  # statistics from here on
    start = time.process_time()
    search.run_native(0, 0, last, math.inf)
    return 1e9 * (time.process_time() - start) / (last * search.stats["mean_depth"])


def growth_rows(name: str) -> list[dict[str, Any]]:
    """The same tree at several sizes, against the best of many small ones."""

    def make() -> _core.Search:
        return _core.make_search(GAMES[name](), settings())  # type: ignore[arg-type]

    small = min(nanoseconds_per_level(make(), 0, SMALL) for _ in range(SMALL_REPETITIONS))
    table = [row(f"{name}, {SMALL:,} simulations", small, "ns/level")]
    search, done, cost = make(), 0, small
    for size in SIZES:
        cost, done = nanoseconds_per_level(search, done, size), size
        depth = search.stats["mean_depth"]
        table.append(row(f"{name}, {size:,} simulations, mean depth {depth:.2f}", cost, "ns/level"))
    label = f"{name}, {SIZES[-1]:,} simulations"
    table.append(row(f"{label}, cost of a level against {SMALL:,}", cost / small, "times", GROWTH, at_most=True))
    gib = search.stats["bytes"] / search.stats["nodes"] * SIZES[-1] / 2**30
    table.append(row(f"{name}, {SIZES[-1]:,} nodes", gib, "GiB", CHESS_GIB if "chess" in name else None, at_most=True))
    return table


def rows() -> list[dict[str, Any]]:
    """Hex with its many actions, and chess with its deeper trees."""
    return [*growth_rows("Hex 11x11"), *growth_rows("chess, start")]
