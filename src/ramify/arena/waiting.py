"""Games that are still to be played: by this process alone, or by several that share the work."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from ramify.arena.played import Fixture, Played
from ramify.arena.results import Results, SharedResults

SHORTEST, LONGEST = 0.05, 1.0  # seconds between two looks at games that others play
BLOCK_SECONDS = 1.0  # games are claimed for about so long
LARGEST_BLOCK = 256  # games
WINDOW = 512  # games that are looked at in one step


class Waiting:
    """Games to play, all of them by this process."""

    def __init__(self, fixtures: Sequence[Fixture]) -> None:
        self._left = deque(fixtures)

    @property
    def pause(self) -> float | None:
        """Seconds until ``take`` may have further games although it has none now; None: it will have none."""
        return None

    def take(self, number: int, *, wait: bool = False) -> list[Fixture]:
        """At most so many games to play now. With ``wait``, there are none only if all games are finished."""
        del wait
        return [self._left.popleft() for _ in range(min(number, len(self._left)))]

    def close(self) -> None:
        """Give back what is left."""


class SharedWaiting(Waiting):
    """Games to play by this and other processes. They are claimed in blocks, for about a second of play: a claim is a
    transaction, and many small ones would slow down quick games."""

    def __init__(self, fixtures: Sequence[Fixture], results: SharedResults, found: Callable[[Played], None]) -> None:
        """``found`` gets the games that others finished."""
        super().__init__(())  # what is left: games that were claimed and not taken yet
        self._results, self._found = results, found
        self._open = deque(fixtures)  # nobody has asked for them
        self._elsewhere: dict[str, Fixture] = {}  # others play them
        self._block, self._claimed_at = 0, 0.0
        self._pause, self._next_look = SHORTEST, 0.0

    def take(self, number: int, *, wait: bool = False) -> list[Fixture]:
        if number > len(self._left):
            self._claim(number)
        while wait and not self._left and self._elsewhere:
            time.sleep(max(0.0, self._next_look - time.monotonic()))
            self._claim(number)
        return super().take(number)

    @property
    def pause(self) -> float | None:
        return self._pause if self._elsewhere else None

    def close(self) -> None:
        self._results.release()

    def _claim(self, number: int) -> None:
        """Claim a block of games that nobody has asked for; when there are none, some that others left."""
        block = self._next_block(number) if self._open else 0
        while self._open and number > len(self._left):
            window = [self._open.popleft() for _ in range(min(WINDOW, len(self._open)))]
            self._open.extendleft(reversed(self._ask(window, block)))
        if not self._open and self._elsewhere and time.monotonic() >= self._next_look:
            before = len(self._elsewhere)
            self._ask(list(self._elsewhere.values())[:WINDOW], number)
            changed = len(self._elsewhere) < before
            self._pause = SHORTEST if changed else min(2 * self._pause, LONGEST)
            self._next_look = time.monotonic() + self._pause

    def _ask(self, fixtures: Sequence[Fixture], number: int) -> list[Fixture]:
        """Claim at most so many of the games; returns those that are still free."""
        claim = self._results.claim([fixture.key for fixture in fixtures], number)
        granted, free = set(claim.granted), []
        for fixture in fixtures:
            key = fixture.key
            if key in granted:
                self._left.append(fixture)
            elif key in claim.finished:
                self._found(claim.finished[key])
            elif key in claim.taken:
                self._elsewhere[key] = fixture
                continue
            else:
                free.append(fixture)
                continue
            self._elsewhere.pop(key, None)
        return free

    def _next_block(self, number: int) -> int:
        """The size of the next block: larger if the last one was played quickly, smaller if it took long."""
        now = time.monotonic()
        if self._block:
            quick = now - self._claimed_at < BLOCK_SECONDS
            self._block = min(2 * self._block, LARGEST_BLOCK) if quick else max(1, self._block // 2)
        self._block, self._claimed_at = max(number, self._block), now
        return self._block


def waiting_games(fixtures: Sequence[Fixture], results: Results, found: Callable[[Played], None]) -> Waiting:
    """Games to play: by this process alone, unless it shares its results. ``found`` gets games that others finished."""
    return SharedWaiting(fixtures, results, found) if isinstance(results, SharedResults) else Waiting(fixtures)
