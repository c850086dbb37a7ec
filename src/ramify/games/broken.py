"""The error raised for a game that violates the game protocol."""

from __future__ import annotations

from typing import Any


class BrokenGame(AssertionError):  # noqa: N818  # a finding about a game, as AssertionError is about a test
    """A game violates the protocol: one of its methods returned an invalid value, or check_game found problems.

    ``method`` is the name of the failing method, if known; ``report`` is check_game's report.
    """

    def __init__(self, message: str, method: str | None = None, report: Any = None) -> None:
        super().__init__(message)
        self.method = method
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.method, self.report)
