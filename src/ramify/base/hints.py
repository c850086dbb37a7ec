"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to ``name``, or None if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str], before: str = "", after: str = "") -> str:
    """ "did you mean …?" for an error message, between ``before`` and ``after``; empty if no name is close."""
    close = nearest(name, known)
    return f"{before}did you mean {close!r}?{after}" if close is not None else ""
