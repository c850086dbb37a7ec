"""Run the benchmarks and print one table.

A benchmark is a module in this folder with ``rows() -> list[dict]``; each row has name, value, unit, target
(None where there is none) and ok (whether the target is met). One with ``ON_REQUEST = True`` takes minutes and runs
only if it is named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

import benchmarks

KEYS = ("name", "value", "unit", "target", "ok")


def names() -> list[str]:
    """Benchmark modules of this folder, by name."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def usual() -> list[str]:
    """Those that run if none is named."""
    return [name for name in names() if not getattr(importlib.import_module(f"benchmarks.{name}"), "ON_REQUEST", False)]


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    from ramify import __version__, _core
    from ramify.evaluators.speeds import cpu_model

    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "compiler": _core.build_info()["compiler"],
        "ramify": __version__,
    }


def run(name: str) -> list[dict[str, Any]]:
    """The rows of one benchmark; none for a module without rows()."""
    rows = getattr(importlib.import_module(f"benchmarks.{name}"), "rows", None)
    results = rows() if rows else []
    for row in results:
        if missing := [key for key in KEYS if key not in row]:
            raise ValueError(f"benchmarks/{name}.py: a row lacks {', '.join(missing)}: {row}")
    return [{"benchmark": name, **row} for row in results]


def show(value: Any) -> str:
    """A number as people read it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: list[dict[str, Any]]) -> Table:
    """All rows, with a mark where a target is met or missed."""
    columns = (
        "benchmark",
        "what",
        Column("value", justify="right"),
        "unit",
        Column("target", justify="right"),
        "met",
    )
    result = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        texts = [row["benchmark"], row["name"], show(row["value"]), row["unit"], show(row["target"])]
        mark = "" if row["target"] is None else "[green]yes[/]" if row["ok"] else "[red]no[/]"
        result.add_row(*map(escape, map(str, texts)), mark)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the project's speed.")
    parser.add_argument("--only", metavar="NAME", action="append", choices=names(), help=", ".join(names()))
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the rows and the machine there")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    facts = machine()
    console.print(", ".join(f"{key} {value}" for key, value in facts.items()), soft_wrap=True)
    rows = []
    for name in options.only or usual():
        started = time.perf_counter()
        with console.status(f"{name} ..."):
            rows += run(name)
        console.print(f"[dim]{name}: {time.perf_counter() - started:.1f} s[/]")
    console.print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": rows}, indent=2, default=float) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
