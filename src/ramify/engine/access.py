"""Access to a searcher's graphs: one run at a time; other threads can read them between two batches of a run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from ramify import _core

T = TypeVar("T")

OnInterrupt = Literal["raise", "return"]

POLL = 0.01  # seconds between two checks whether the run has ended

BUSY = (
    "this searcher is already running: until it returns, only stop() and snapshot() may be called; "
    "use a separate Searcher in each thread"
)
MID_BATCH = (
    "snapshot() cannot be called from an evaluator, because the search is waiting for its evaluation: "
    "call it from progress or from another thread"
)


def check_on_interrupt(given: str) -> None:
    """Raise a ValueError unless ``given`` is a valid value of ``on_interrupt``."""
    if given not in ("raise", "return"):
        raise ValueError(f"on_interrupt must be 'raise' or 'return', not {given!r}")


class Request:
    """A read of the graphs requested by another thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = threading.Event()

    def serve(self) -> None:
        try:
            self.answer = self.work()
        except Exception as error:  # raised in the requesting thread
            self.error = error
        self.done.set()


class Access:
    """Locks of a searcher. Everything that changes the graphs runs inside ``with access.alone, access.graphs``.

    ``alone`` raises if a second caller enters; ``graphs`` waits while a snapshot is taken; ``batch`` is held while
    leaves are in flight, when the graphs contain visits without values. None of them is implemented in Python: Ctrl-C
    during the acquisition of a lock could otherwise leave it locked for good.
    """

    def __init__(self) -> None:
        self.alone = _core.Exclusive(BUSY)
        self.graphs = threading.RLock()
        self.batch = _core.Exclusive(MID_BATCH)
        self._requests: deque[Request] = deque()

    def look(self, work: Callable[[], T]) -> T:
        """Call ``work()`` when no leaves are in flight: between two batches of a run, or now if there is no run."""
        request = Request(work)
        while not request.done.is_set():
            if self.graphs.acquire(blocking=False):  # no run in progress, or this thread's
                try:
                    with self.batch:
                        request.serve()
                finally:
                    self.graphs.release()
            else:
                if request not in self._requests:
                    self._requests.append(request)
                request.done.wait(POLL)
        if request.error is not None:
            raise request.error
        answer: T = request.answer
        return answer

    def serve(self) -> None:
        """Serve waiting requests; called by the run in progress between two batches."""
        while self._requests:
            request = self._requests.popleft()
            if not request.done.is_set():  # served by its own thread after an earlier run had ended
                request.serve()
