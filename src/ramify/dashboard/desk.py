"""Where the work is done: searches run in threads, the page never waits for them, and no client takes all the time.

Quick moves are answered in the order in which they are asked for, and never wait for moves that take seconds, which
have threads of their own. An analysis works in short slices and queues up again
after each, in threads of its own: any number of analyses share the processor evenly, and a move never waits for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class BusyError(RuntimeError):
    """More is asked for than the server does at once."""


class Desk:
    """The threads of the server."""

    def __init__(self, workers: int, analyses: int) -> None:
        self._moves = ThreadPoolExecutor(workers, "move")
        self._long_moves = ThreadPoolExecutor(analyses, "long move")
        self._slices = ThreadPoolExecutor(workers, "analysis")
        self._reads = ThreadPoolExecutor(2, "read")
        self._places, self._taken = analyses, 0

    async def move(self, work: Callable[[], T], *, long: bool = False) -> T:
        """Something a person waits for: a move, a hint. ``long``: it may take seconds."""
        return await asyncio.get_running_loop().run_in_executor(self._long_moves if long else self._moves, work)

    async def slice(self, work: Callable[[], T]) -> T:
        """A part of something long."""
        return await asyncio.get_running_loop().run_in_executor(self._slices, work)

    async def read(self, work: Callable[[], T]) -> T:
        """A question to the store or the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._reads, work)

    def enter(self) -> None:
        """Begin something long. Raises a BusyError if there is too much of it already."""
        if self._taken >= self._places:
            raise BusyError(f"{self._taken} analyses are running, which is as many as this server does at once")
        self._taken += 1

    def leave(self) -> None:
        """It has ended."""
        self._taken -= 1

    @property
    def analyses(self) -> int:
        """How many analyses are running."""
        return self._taken

    def close(self) -> None:
        for pool in (self._moves, self._long_moves, self._slices, self._reads):
            pool.shutdown(wait=False, cancel_futures=True)
