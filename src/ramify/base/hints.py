"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ALIKE = 0.65  # of difflib's ratio; below, suggestions surprise more than they help: layers is not per_player


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to ``name``, or None if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=ALIKE)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str], before: str = "", after: str = "") -> str:
    """ "did you mean …?" for an error message, between ``before`` and ``after``; empty if no name is close."""
    close = nearest(name, known)
    return f"{before}did you mean {close!r}?{after}" if close is not None else ""
