"""Messages between a worker and the process that directs it, and data that all workers read."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Protocol


class Published(Protocol):
    """Data that the directing process has put where all nodes can read it."""

    def ready(self) -> bool:
        """Whether ``get`` returns at once. The first call starts the transfer to this node."""
        ...

    def get(self) -> bytes:
        """The data, once it is on this node."""
        ...


class Link:
    """Two queues of messages. A worker uses ``poll``, ``recv`` and ``send``, as of a multiprocessing connection; the
    other side uses ``put`` and ``take``. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._incoming, self._outgoing = deque[Any](), deque[Any]()

    def poll(self, seconds: float = 0.0) -> bool:
        """Whether there is a message for the worker, after at most so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._incoming), seconds)

    def recv(self) -> Any:
        """The next message for the worker; waits for one."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._incoming))
            return self._incoming.popleft()

    def send(self, message: Any) -> None:
        """Send a message from the worker."""
        with self._changed:
            self._outgoing.append(message)
            self._changed.notify_all()

    def put(self, message: Any) -> None:
        """Send a message to the worker."""
        with self._changed:
            self._incoming.append(message)
            self._changed.notify_all()

    def take(self, seconds: float = 0.0) -> list[Any]:
        """All messages from the worker; waits at most so many seconds for the first one."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._outgoing), seconds)
            found = list(self._outgoing)
            self._outgoing.clear()
            return found

    def drain(self, seconds: float) -> bool:
        """Wait until the other side has taken all messages of the worker; returns whether it has."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._changed:
                if not self._outgoing:
                    return True
            time.sleep(0.02)
        return False
