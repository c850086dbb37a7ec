"""What the benchmarks share: the best of several repetitions, and rows of the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

SECONDS = 1.5  # how long one measurement repeats itself, by the wall
REPETITIONS = 5  # and how often at least
ROUNDS = 4  # of measurements that take turns


Work = Callable[[], tuple[int, object]]


def best_rate(work: Work, clock: Callable[[], float] = time.process_time, share: float = 1.0) -> float:
    """Units of work per second in the best repetition; ``work`` returns (units, what to free outside the time taken).

    Other programs on the machine can only slow a repetition down, so the best one is nearest to an idle machine. The
    default clock is this process's CPU time, which does not count the time that others have the processor.
    """
    best, count, started = 0.0, 0, time.perf_counter()
    while count < REPETITIONS or time.perf_counter() - started < share * SECONDS:
        start = clock()
        units, kept = work()
        best = max(best, units / (clock() - start))
        del kept
        count += 1
    return best


def best_rates(works: Sequence[Work]) -> list[float]:
    """As ``best_rate`` of each. They take turns: what disturbs a machine for seconds does not fall on one alone."""
    rounds = [[best_rate(work, share=1 / ROUNDS) for work in works] for _ in range(ROUNDS)]
    return [max(rates) for rates in zip(*rounds, strict=True)]


def row(name: str, value: float, unit: str, target: float | None = None, *, at_most: bool = False) -> dict[str, Any]:
    """One row of the table; larger is better unless ``at_most``."""
    ok = target is None or (value <= target if at_most else value >= target)
    return {"name": name, "value": value, "unit": unit, "target": target, "ok": ok}


def on_each_device(
    measure: Callable[..., list[dict[str, Any]]], small: Mapping[str, Any], large: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The rows of a small case on the CPU, and of a large one on a GPU where there is one; none without torch."""
    if find_spec("torch") is None:
        return []
    import torch

    return measure(**small) + (measure(**large) if torch.cuda.is_available() else [])


def print_rows(table: list[dict[str, Any]]) -> None:
    """Rows of one case, for a benchmark that is run by itself."""
    for one in table:
        print(f"{one['value']:14,.2f} {one['unit']:14} {one['name']}")
