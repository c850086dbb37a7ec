"""What commands share: errors in one line, values typed by people, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120  # columns of a table that goes to a file or a pipe


def fail(problem: str | Exception) -> NoReturn:
    """End the command: one line on stderr, exit code 2."""
    message = explain(problem) if isinstance(problem, Exception) else problem
    print(f"ramify: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(2)


def explain(error: Exception) -> str:
    """What an error says, without the position that some errors show below their first line."""
    return str(error).partition("\n")[0].removesuffix(" in")


def parse_settings(words: Sequence[str]) -> dict[str, Any]:
    """key=value words; a value is JSON (7, 0.5, true, [1, 2]) and any other text stands for itself."""
    settings: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key:
            fail(f"settings are written key=value, not {word!r}")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = {"True": True, "False": False, "None": None}.get(value, value)
    return settings


def print_json(data: Any) -> None:
    """For machines: one JSON document on stdout."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def table_console() -> Console:
    """A console that does not squeeze tables into 80 columns when nobody looks."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
