"""How long a fresh Python takes to import ramify, and the command line to answer."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

RUNS = 7
COMMANDS = (
    ("start Python alone", ["-c", "pass"], None),
    ("import ramify", ["-c", "import ramify"], 0.5),
    ("ramify --version", ["-m", "ramify", "--version"], None),
)


def seconds(arguments: list[str]) -> float:
    """Median wall time of a fresh Python with these arguments."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def rows() -> list[dict[str, Any]]:
    """One row per command; the time of Python itself is part of each."""
    results = []
    for name, arguments, target in COMMANDS:
        value = seconds(arguments)
        ok = None if target is None else value <= target
        results.append({"name": name, "value": value, "unit": "s", "target": target, "ok": ok})
    return results
