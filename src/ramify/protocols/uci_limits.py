"""The limits that ``go`` sets to a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ramify.protocols.clock import seconds_for_move

NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime")
WORDS = ("infinite", "ponder", "searchmoves")
LARGEST, DIGITS = 10**12, 20  # of any number; larger ones are cut


@dataclass(frozen=True)
class Limits:
    """What ``go`` says: milliseconds, moves, plies and nodes by the names of the protocol."""

    numbers: dict[str, int] = field(default_factory=dict)
    infinite: bool = False
    ponder: bool = False
    moves: tuple[str, ...] = ()  # the only ones to search; empty: all
    unknown: tuple[str, ...] = ()  # words that were not understood

    @classmethod
    def read(cls, words: Sequence[str]) -> Limits:
        """The limits of the words after ``go``. What is not understood is left out."""
        numbers, moves, unknown, said = dict[str, int](), list[str](), list[str](), set[str]()
        left = list(words)
        while left:
            word = left.pop(0)
            if word in NUMBERS:
                if left and left[0].lstrip("-").isdecimal() and left[0].isascii():
                    numbers[word] = max(-LARGEST, min(LARGEST, int(left.pop(0)[:DIGITS])))
                else:
                    unknown.append(word)
            elif word in WORDS:
                said.add(word)
                while word == "searchmoves" and left and left[0] not in (*NUMBERS, *WORDS):
                    moves.append(left.pop(0))
            else:
                unknown.append(word)
        return cls(numbers, "infinite" in said, "ponder" in said, tuple(moves), tuple(unknown))

    def get(self, name: str) -> int | None:
        """A number of at least 1, if it was given."""
        return max(1, self.numbers[name]) if name in self.numbers else None

    @property
    def has_clock(self) -> bool:
        """Whether the game is played with a clock."""
        return "wtime" in self.numbers or "btime" in self.numbers

    def seconds(self, player: int, overhead: float) -> float | None:
        """Time for this move in seconds; 0: at once, None: no limit."""
        if self.infinite:
            return None
        limits = []
        if (movetime := self.get("movetime")) is not None:
            limits.append(movetime / 1000)
        if self.has_clock:
            own, other = ("btime", "wtime") if player else ("wtime", "btime")
            left = max(0, self.numbers.get(own, self.numbers.get(other, 0))) / 1000
            increment = max(0, self.numbers.get("binc" if player else "winc", 0)) / 1000
            limits.append(seconds_for_move(left, increment, self.get("movestogo"), overhead))
        return min(limits, default=None)
