"""Pieces of Markdown that generated pages share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text as the cell of a table: one line, without marks that Markdown would read."""
    plain = " ".join(text.split())
    for mark in ("\\", "|", "*", "_", "<", "[", "`", "$"):
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def code(text: object) -> str:
    """Text as code inside a table."""
    return f"`{str(text).replace('|', chr(92) + '|')}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
