"""Termination of a run's processes: all of them end with the trainer, which Ctrl-C and SIGTERM end cleanly."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any


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


def end_with_parent(seconds: float = 0.0, stop: threading.Event | None = None) -> None:
    """End this process ``seconds`` after its parent has ended, however that ended; ``stop`` is set first.

    The parent's end of a pipe is closed by the system when the parent ends, so this also works if it was killed.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        wait([sentinel])
        if stop is not None:
            stop.set()
            time.sleep(seconds)
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), name="ramify-parent", daemon=True).start()


def start_loader() -> None:
    """Initialise a loader process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is sent to all processes; only the trainer handles it
    end_with_parent()
