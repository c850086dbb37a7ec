"""Single-threaded evaluator calls, run in parallel in a thread pool.

Libraries split one call over threads that wait for each other at every layer: if another program takes a core for a
moment, all of them wait. Here every call is single-threaded, and several of them run at once.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 512  # threads of one kind in a process


class CallThreads:
    """A pool of threads that are started on demand and reused; one object per process and kind.

    ``prepare`` is called first in each of them.
    """

    def __init__(self, name: str, prepare: Callable[[], None] | None = None) -> None:
        self._name, self._prepare = name, prepare
        self._local = threading.local()
        self._restart()
        os.register_at_fork(after_in_child=self._restart)  # threads are not copied

    def _restart(self) -> None:
        self._executor = ThreadPoolExecutor(MOST, self._name, self._begin)

    def _begin(self) -> None:
        self._local.ours = True
        if self._prepare is not None:
            self._prepare()

    def run(self, calls: Sequence[Callable[[], T]], threads: int, *, here: bool) -> list[T]:
        """The results of the calls, in order, with at most ``threads`` at once. ``here``: this thread takes part.

        It always does where it is one of these threads, so that a call may make further ones.
        """
        here = here or getattr(self._local, "ours", False)
        wanted = min(threads, len(calls))
        if here and wanted <= 1:
            return [call() for call in calls]
        results: list[Any] = [None] * len(calls)
        todo = deque(enumerate(calls))

        def work() -> None:
            try:
                while todo:
                    try:
                        number, call = todo.popleft()
                    except IndexError:  # another thread has taken the last one
                        return
                    results[number] = call()
            except BaseException:
                todo.clear()
                raise

        others = [self._executor.submit(work) for _ in range(wanted - here)]
        try:
            if here:
                work()
            wait(others)
        except BaseException:  # Ctrl-C, say: what calls read or change is the caller's again once none is under way
            todo.clear()
            wait(others)
            raise
        for other in others:
            other.result()
        return results


class CallQueue:
    """Runs the calls of several callers in the order in which they were made, at most ``threads`` at once.

    The threads turn to the calls of the next caller while the last one of this caller is in progress, so none waits.
    ``prepare`` is called first in each of them.
    """

    def __init__(self, name: str, threads: int, prepare: Callable[[], None] | None = None) -> None:
        self._settings = threads, name, prepare
        self._restart()

    def _restart(self) -> None:
        self._process, self._executor = os.getpid(), ThreadPoolExecutor(*self._settings)

    def run(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the calls, in order. If one fails, those that have not begun are left out."""
        if self._process != os.getpid():  # threads are not copied by a fork
            self._restart()
        futures = [self._executor.submit(call) for call in calls]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # what calls read or change is the caller's again once none is under way
            begun = [future for future in futures if not future.cancel()]
            wait(begun)
        for future in begun:
            future.result()
        return [future.result() for future in futures]
