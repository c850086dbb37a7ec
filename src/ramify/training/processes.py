"""Processes of a run: tasks for several of them; all end with the trainer, which Ctrl-C and SIGTERM end cleanly."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from ramify.base.processes import end_with_parent

AHEAD = 4  # per process: how many tasks are begun before the first result is taken
HERE = 2  # so few tasks are done without other processes, which take seconds to start

Result = TypeVar("Result")


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM, which ends a run like Ctrl-C: the run is saved."""


@contextmanager
def terminable() -> Iterator[None]:
    """Let the first SIGTERM raise Terminated, unless the program has its own handler."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt saving
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the block, so that it is either not begun or done completely."""
    pending: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():  # no other thread receives signals
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler is not None:  # else it was not set by Python and could not be restored
                    before[number] = handler
                    signal.signal(number, lambda received, _: pending.append(received))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])


def start_loader() -> None:
    """Initialise a loader process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is sent to all processes; only the trainer handles it
    end_with_parent()


def in_processes(function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int) -> Iterator[Result]:
    """The results of ``function`` for the arguments of each task, in order, by processes of their own."""
    if len(tasks) <= HERE:
        yield from (function(*task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, start_loader) as pool:
        waiting: list[Future[Result]] = []
        try:
            for task in tasks:
                waiting.append(pool.submit(function, *task))
                if len(waiting) >= AHEAD * processes:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
