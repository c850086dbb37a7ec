"""``python -m tools.fuzz [TARGET …] --seconds N --seed S``: random cases, and a table of what they found."""

from __future__ import annotations

import argparse
import faulthandler
import math
import secrets
import sys
import tempfile
from pathlib import Path

from tools.fuzz.case import load_targets
from tools.fuzz.runner import Tally, fuzz, run_case


def arguments(targets: list[str], words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(targets)}; default: all")
    parser.add_argument(
        "--seconds",
        type=float,
        help="for each target, 30 unless --cases says how many; a case that runs is finished",
    )
    parser.add_argument("--seed", type=int, help="of all chance; default: a new one, which is printed")
    parser.add_argument("--cases", type=int, help="at most so many of each target")
    parser.add_argument("--case", type=int, help="only this one, in this process: to see a failure again")
    given = parser.parse_args(words)
    if unknown := [name for name in given.targets if name not in targets]:
        parser.error(f"there is no target {unknown[0]}; there are {', '.join(targets)}")
    if given.case is not None and (len(given.targets) != 1 or given.seed is None):
        parser.error("--case needs one TARGET and --seed")
    return given


def show(tallies: list[Tally]) -> None:
    print(f"{'target':<12} {'cases':>7} {'seconds':>8} {'failures':>9}")
    for tally in tallies:
        print(f"{tally.target:<12} {tally.cases:>7} {tally.seconds:>8.1f} {len(tally.failures):>9}")
    for tally in tallies:
        for failure in {failure.kind[:50]: failure for failure in reversed(tally.failures)}.values():
            print(f"{failure.command}  # {failure.kind}")


def main() -> int:
    targets = load_targets()
    given = arguments(list(targets))
    with tempfile.TemporaryDirectory(prefix="ramify-fuzz-") as folder:
        root = Path(folder)
        if given.case is not None:
            faulthandler.enable()
            run_case(targets[given.targets[0]], given.seed, given.case, root)
            print("nothing wrong")
            return 0
        seed = secrets.randbelow(10**6) if given.seed is None else given.seed
        print(f"seed {seed}", flush=True)
        seconds, tallies = given.seconds or (30.0 if given.cases is None else math.inf), []
        for name in given.targets or targets:
            print(f"{name}: {targets[name].summary}", flush=True)
            tallies.append(fuzz(targets[name], seed, seconds, given.cases, root))
    show(tallies)
    return 1 if any(tally.failures for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
