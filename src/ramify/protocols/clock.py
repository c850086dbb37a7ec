"""Time for the next move: by a game clock that is kept here, or by the times that a client sends with every move."""

from __future__ import annotations

from dataclasses import dataclass, field

SAFETY = 0.05  # seconds that an answer takes on its way
LEAST = 0.01  # seconds for any move
HELD_BACK, HELD_SHARE = 0.35, 0.4  # seconds of the clock that are not planned with, and at most this share of it
USUAL_MOVES = 40  # to go, where nobody says how many
AT_ONCE = 0.8  # most that one move may take of what is planned with, and the share of an increment that it may use


def seconds_for_move(left: float, increment: float, moves_to_go: int | None, overhead: float) -> float:
    """Time for one move in seconds, with ``left`` seconds on the clock; 0 if the move has to be made at once.

    ``overhead``: seconds that every move loses on its way. Some of the clock is never planned with, so that a delay of
    the machine does not cost the game; and the less there is besides, the more of the increment is saved.
    """
    planned = max(0.0, left - overhead - min(HELD_BACK, HELD_SHARE * left))
    saved = planned / max(left, 1e-9)
    wanted = planned / (moves_to_go or USUAL_MOVES) + AT_ONCE * saved * increment
    return min(wanted, AT_ONCE * planned)


@dataclass
class Clock:
    """Seconds left per player (None: no limit), and the number of moves they are for (0: the rest of the game)."""

    main: float | None = None
    period: float = 0.0
    moves: int = 0
    left: list[float | None] = field(default_factory=lambda: [None, None])
    for_moves: list[int] = field(default_factory=lambda: [0, 0])

    def set_all(self, main: float, period: float, moves: int) -> None:
        """Set the time control: ``main`` seconds, then ``period`` for every ``moves`` moves (0 moves: no limit)."""
        self.main, self.period, self.moves = (None if period and not moves else main), period, moves
        self.restart()

    def restart(self) -> None:
        """Reset the clock to the start of a game."""
        self.left, self.for_moves = [self.main, self.main], [0, 0]

    def set(self, player: int, seconds: float, moves: int) -> None:
        """Set the remaining time of a player."""
        self.left[player], self.for_moves[player] = seconds, moves

    def spend(self, player: int, seconds: float) -> None:
        """Subtract the time of a move."""
        left = self.left[player]
        if left is None:
            return
        self.left[player] = max(0.0, left - seconds)
        self.for_moves[player] = max(0, self.for_moves[player] - 1)

    def seconds_for(self, player: int, moves_left: int) -> float | None:
        """Time for the next move in seconds; None: no limit."""
        left = self.left[player]
        if left is None:
            return None
        share = self.for_moves[player] or moves_left
        if self.moves and not self.for_moves[player]:  # what comes after the main time may be used as well
            return max(LEAST, left / share + self.period / self.moves - SAFETY)
        return max(LEAST, min(left / share, left - SAFETY))

    def show(self, player: int) -> str:
        """The remaining time in the form of the protocol."""
        left = self.left[player]
        return "none" if left is None else f"{left:.1f}"
