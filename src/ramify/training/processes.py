"""Termination of a run's processes: all of them end with the trainer, which Ctrl-C and SIGTERM end cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ramify.base.processes import end_with_parent


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
