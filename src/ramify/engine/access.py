"""Who may touch a searcher's graphs: one run at a time, and between its batches whatever other threads ask to see."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from ramify import _core

T = TypeVar("T")

OnInterrupt = Literal["raise", "return"]

POLL = 0.01  # seconds after which a look tries again whether the run has ended

BUSY = (
    "this searcher is at work already: while it is, only stop() and snapshot() may be called; "
    "give each thread a searcher of its own"
)
MID_BATCH = "an evaluator cannot look at the search that awaits its answer: call snapshot() from progress, or a thread"


def check_on_interrupt(given: str) -> None:
    """Raise a ValueError unless this says what Ctrl-C is to do."""
    if given not in ("raise", "return"):
        raise ValueError(f"on_interrupt must be 'raise' or 'return', not {given!r}")


class Request:
    """Something that another thread wants to see."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = threading.Event()

    def serve(self) -> None:
        try:
            self.answer = self.work()
        except Exception as error:  # it is the asking thread's
            self.error = error
        self.done.set()


class Access:
    """A run, and everything else that changes the graphs, is inside ``with access.alone, access.graphs``.

    ``alone`` refuses a second one; ``graphs`` waits for the moment that a look takes; ``batch`` is held while leaves
    are out for evaluation, and what the graphs say is not what was found. None of them is written in Python, where
    Ctrl-C may come while a lock is being taken and leave it locked for good.
    """

    def __init__(self) -> None:
        self.alone = _core.Exclusive(BUSY)
        self.graphs = threading.RLock()
        self.batch = _core.Exclusive(MID_BATCH)
        self._requests: deque[Request] = deque()

    def look(self, work: Callable[[], T]) -> T:
        """``work()`` at a moment when the graphs are at rest: between two batches of a run, or now if there is none."""
        request = Request(work)
        while not request.done.is_set():
            if self.graphs.acquire(blocking=False):  # nobody is at work, or this thread is
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
        """Let those who wait look: called by the run in progress, between two batches."""
        while self._requests:
            request = self._requests.popleft()
            if not request.done.is_set():  # by itself, when an earlier run had ended
                request.serve()
