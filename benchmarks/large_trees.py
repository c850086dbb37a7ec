"""One tree that grows to 30 million nodes: what a level of a descent costs on the way, and the memory it takes.

The uniform evaluator of the core, one thread, CPU time. A size is measured by the last tenth of the simulations up to
it, so that the small tree which every large one was once does not count. All values are 0, so a search visits
all actions in turn: no two simulations in a row meet below the first levels, the worst case for caches. Each game also
with bundles of 64 simulations (``bundle=64``), whose reads from memory overlap.

CPU time includes that of the system, which clears the memory that a tree takes. Where it has to get pages from a host,
that takes forty times as long as clearing pages it has, half of all time, and says nothing about the search. So a first
tree, of no row, takes the memory, and the process keeps it (on Linux). The rows "user" leave the system's part out.

Takes four minutes and 4 GiB of memory, so it runs only if it is named:
``python -m benchmarks --only large_trees``
"""

from __future__ import annotations

import ctypes
import math
import resource
import sys
import time
from typing import Any

from benchmarks._measure import row
from benchmarks.search import GAMES, settings
from ramify import _core

ON_REQUEST = True  # not among the benchmarks that run if none is named
SMALL, SIZES = 10_000, (100_000, 1_000_000, 10_000_000, 30_000_000)
SMALL_REPETITIONS = 40
BUNDLE = 64
GROWTH = 1.5  # the most that a level of the largest tree may cost, against one of the small tree
CHESS_GIB = 5.0
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt in malloc.h
MOST_MMAP = 32 << 20  # the most that glibc takes: 4 MiB, as search graphs ask for, then come from memory that it keeps


def take_memory() -> None:
    """Have the process take the memory of the largest tree from the system, and keep it."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(MMAP_THRESHOLD, MOST_MMAP)
    libc.mallopt(TRIM_THRESHOLD, -1)  # nothing is given back
    search = _core.make_search(GAMES["Hex 11x11"](), settings(bundle=BUNDLE))  # type: ignore[arg-type]
    search.begin(0)
    search.run_native(0, 0, SIZES[-1], math.inf)


def nanoseconds_per_level(search: _core.Search, done: int, size: int) -> tuple[float, float]:
    """Grow a tree of so many simulations to another size; returns the cost of a level in the last tenth.

    In all, and without the time of the system.
    """
    last = size // 10
    search.begin(0)
    search.run_native(0, 0, size - last - done, math.inf)
    search.begin(0)  # statistics from here on
    start, user = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
    search.run_native(0, 0, last, math.inf)
    levels = last * search.stats["mean_depth"] / 1e9
    return (time.process_time() - start) / levels, (resource.getrusage(resource.RUSAGE_SELF).ru_utime - user) / levels


def growth_rows(name: str, bundle: int | None = None) -> list[dict[str, Any]]:
    """The same tree at several sizes, against the best of many small ones."""

    def make() -> _core.Search:
        return _core.make_search(GAMES[name](), settings(bundle=bundle))  # type: ignore[arg-type]

    label = name if bundle is None else f"{name}, bundle={bundle}"
    small = min(nanoseconds_per_level(make(), 0, SMALL)[0] for _ in range(SMALL_REPETITIONS))
    table = [row(f"{label}, {SMALL:,} simulations", small, "ns/level")]
    search, done, cost, user = make(), 0, small, small
    for size in SIZES:
        (cost, user), done = nanoseconds_per_level(search, done, size), size
        depth = search.stats["mean_depth"]
        table.append(row(f"{label}, {size:,} simulations, mean depth {depth:.2f}", cost, "ns/level"))
        table.append(row(f"{label}, {size:,} simulations, user", user, "ns/level"))
    largest = f"{label}, {SIZES[-1]:,} simulations"
    table.append(row(f"{largest}, cost of a level against {SMALL:,}", cost / small, "times", GROWTH, at_most=True))
    table.append(row(f"{largest}, cost of a level against {SMALL:,}, user", user / small, "times"))
    gib = search.stats["bytes"] / search.stats["nodes"] * SIZES[-1] / 2**30
    table.append(row(f"{label}, {SIZES[-1]:,} nodes", gib, "GiB", CHESS_GIB if "chess" in name else None, at_most=True))
    return table


def rows() -> list[dict[str, Any]]:
    """Hex with its many actions, and chess with its deeper trees, without and with bundles."""
    take_memory()
    return [
        line
        for name in ("Hex 11x11", "chess, start")
        for bundle in (None, BUNDLE)
        for line in growth_rows(name, bundle)
    ]
