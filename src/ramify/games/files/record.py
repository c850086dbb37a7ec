"""A game as files hold it: where it starts, what was played, and how it ended."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ramify.games.protocol import State

Result = Literal["1-0", "0-1", "1/2-1/2", "*"]  # from the view of player 0; "*": not finished
RESULTS: tuple[Result, ...] = get_args(Result)
CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a")  # bytes that no text has; old files end with 0x1A


def read_text(path: Path) -> str:
    """The text of a file: UTF-8 or, as in the standard of PGN and in many collections, Latin-1. Raises a
    UnicodeDecodeError if it is no text."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if not CONTROL.isdisjoint(data) or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise
        return data.decode("latin-1")


class GameFileError(ValueError):
    """A file that cannot be read or written as a game; the message names the line where there is one."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.line = line


@dataclass(frozen=True)
class MoveNote:
    """What is noted at a move: a comment, a mark such as ?!, and the line that would have been better."""

    comment: str = ""
    mark: str = ""  # one of MARKS
    better: tuple[int, ...] = ()  # actions from the position before the move on


MARKS = ("", "!", "?", "!!", "??", "!?", "?!")  # by their numbers in PGN


@dataclass(frozen=True)
class GameRecord:
    """One game, whatever kind of file it comes from or goes to."""

    start: State
    turns: tuple[tuple[int, ...], ...] = ()  # one action per acting player
    result: Result = "*"
    resigned: int | None = None  # the player who gave up
    players: tuple[str, str] = ("", "")  # names
    date: str = ""  # year-month-day
    headers: Mapping[str, str] = field(default_factory=dict)  # everything else a file says, in its own words
    person: int | None = None  # the player that a person at the terminal was
    note: str = ""  # what a reader should know about how the file was understood
    notes: tuple[MoveNote, ...] = ()  # at the turns, as far as there are any
    comment: str = ""  # what is said before the first turn

    def states(self) -> list[State]:
        """Every position of the game, the start first."""
        found = [self.start.copy()]
        for turn in self.turns:
            found.append(found[-1].copy())
            found[-1].apply(*turn)
        return found


def result_of(state: State, resigned: int | None = None) -> Result:
    """The result of a game that ended in this position, or by a resignation there."""
    if resigned is not None:
        return "0-1" if resigned == 0 else "1-0"
    if not state.is_over:
        return "*"
    first, second = (float(value) for value in state.returns)
    return "1-0" if first > second else "0-1" if first < second else "1/2-1/2"
