"""The clocks of two players, as in chess: minutes for the game and seconds added for every move."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ramify.protocols.clock import seconds_for_move

CONTROLS = {  # title: minutes for the game and seconds added for every move
    "no clock": None,
    "1 + 0": (1, 0),
    "3 + 2": (3, 2),
    "5 + 3": (5, 3),
    "10 + 5": (10, 5),
    "30 + 20": (30, 20),
}


@dataclass
class GameClock:
    """Seconds left of both players; one of them runs, or none."""

    minutes: float
    increment: float
    now: Callable[[], float] = time.monotonic
    left: list[float] = field(init=False)
    running: int | None = None
    _since: float = 0.0
    _kept: dict[int, list[float]] = field(default_factory=dict)  # seconds left by turns played, for moves taken back

    def __post_init__(self) -> None:
        self.left = [60.0 * self.minutes, 60.0 * self.minutes]

    def start(self, player: int | None) -> None:
        """Let this player's clock run, and no other's. Whoever has moved gets the increment."""
        if self.running is not None and player != self.running:
            self.left[self.running] = self.remaining(self.running)
            if self.left[self.running] > 0 and player is not None:
                self.left[self.running] += self.increment
        if player != self.running:
            self.running, self._since = player, self.now()

    def keep(self, turns: int) -> None:
        """Remember the times of the position after so many turns."""
        self._kept[turns] = [self.remaining(0), self.remaining(1)]

    def take_back(self, turns: int) -> None:
        """The game is again where it was after so many turns, and nobody's clock runs yet."""
        self.left, self.running = list(self._kept.get(turns, self.left)), None

    def remaining(self, player: int) -> float:
        spent = self.now() - self._since if player == self.running else 0.0
        return max(0.0, self.left[player] - spent)

    @property
    def fallen(self) -> int | None:
        """The player whose time is up."""
        return next((player for player in (0, 1) if self.remaining(player) == 0.0), None)

    def budget(self, player: int) -> float:
        """Seconds that a program should take for its next move."""
        return max(0.05, seconds_for_move(self.remaining(player), self.increment, None, 0.1))


def clock_text(seconds: float) -> str:
    """Minutes and seconds; tenths when there are few."""
    if seconds < 20:
        return f"0:{seconds:04.1f}"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
