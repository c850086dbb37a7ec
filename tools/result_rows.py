"""Rows of results in a file of JSON lines: written as soon as they are known, so that a stopped tool continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ramify.arena import MatchResult


def read_rows(file: Path | None) -> list[dict[str, Any]]:
    """The rows of a file; none if there is no file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def has_row(rows: list[dict[str, Any]], key: dict[str, Any]) -> bool:
    """Whether one of the rows has all of these values."""
    return any(all(row.get(name) == value for name, value in key.items()) for row in rows)


def add_row(file: Path | None, row: dict[str, Any]) -> None:
    """Append a row, if there is a file to keep it."""
    if file is not None:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def match_row(found: MatchResult) -> dict[str, Any]:
    """What a row says of a match, from the view of the first player."""
    return {
        "games": len(found),
        "wins": found.wins,
        "draws": found.draws,
        "losses": found.losses,
        "score": found.score,
        "interval": found.interval,
    }
