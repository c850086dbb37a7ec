"""Processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from multiprocessing.connection import wait


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
