"""What somebody may have meant who wrote a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like it, if any does."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str], before: str = "", after: str = "") -> str:
    """A question for an error message, between ``before`` and ``after``; nothing at all where no name is near."""
    close = nearest(name, known)
    return f"{before}did you mean {close!r}?{after}" if close is not None else ""
