"""The error of a game that does not keep what the protocol promises."""

from __future__ import annotations

from typing import Any


class BrokenGame(AssertionError):  # noqa: N818  # a finding about a game, as AssertionError is about a test
    """A game broke a promise: a method of its author gave something unusable, or check_game found problems.

    ``method`` names the author's method where one is to blame; ``report`` is check_game's report.
    """

    def __init__(self, message: str, method: str | None = None, report: Any = None) -> None:
        super().__init__(message)
        self.method = method
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.method, self.report)
