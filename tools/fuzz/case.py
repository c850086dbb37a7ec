"""What a target of fuzzing is, and how its cases are numbered."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODULES = ("states", "settings", "damage", "protocols", "lines", "kills")  # of this package: those with targets


class Violation(AssertionError):  # noqa: N818 - what a case found
    """A promise that does not hold."""


@dataclass(frozen=True)
class Target:
    """One kind of case. ``run`` gets chance and an empty folder, and raises where something is wrong."""

    name: str
    run: Callable[[random.Random, Path], None]
    seconds: float  # after which a case counts as hanging
    summary: str


TARGETS: dict[str, Target] = {}


def target(
    name: str, seconds: float = 60.0
) -> Callable[[Callable[[random.Random, Path], None]], Callable[[random.Random, Path], None]]:
    """Register a function as a target."""

    def add(function: Callable[[random.Random, Path], None]) -> Callable[[random.Random, Path], None]:
        TARGETS[name] = Target(name, function, seconds, (function.__doc__ or "").partition("\n")[0])
        return function

    return add


def load_targets() -> dict[str, Target]:
    """All of them, by name."""
    for module in MODULES:
        importlib.import_module(f"tools.fuzz.{module}")
    return TARGETS


def chance(name: str, seed: int, number: int) -> random.Random:
    """The chance of one case: nothing else decides what it does."""
    return random.Random(f"{name}/{seed}/{number}")


def expect(holds: bool, message: str) -> None:
    """Raise a Violation unless something holds."""
    if not holds:
        raise Violation(message)
