"""What commands share: errors in one line, values typed by people, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer


def fail(message: str) -> NoReturn:
    """End the command: one line on stderr, exit code 2."""
    print(f"ramify: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(2)


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
