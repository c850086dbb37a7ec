"""Workers that help with work which this process does, too: whoever comes first takes the next part."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ramify.cluster.config import ClusterConfig
from ramify.cluster.connection import connected
from ramify.cluster.workers import Ended, Failed, Workers

PATIENCE = 0.2  # seconds between two looks

logger = logging.getLogger("ramify")


@contextmanager
def helped(config: ClusterConfig, target: Callable[..., None], *arguments: Any, grace: float = 0.0) -> Iterator[None]:
    """Run ``target(link, *arguments)`` on the nodes of a cluster while the context is open.

    The work has to be divided by other means, such as claims in a store: workers that die are replaced, one that fails
    is logged, and those that are not done at the end get a message and are killed ``grace`` seconds later.
    """
    assert config.address is not None
    over = threading.Event()
    with connected(config.address):
        workers = Workers(config, target, lambda *_: arguments)
        watcher = threading.Thread(target=_watch, args=(workers, over), name="ramify cluster", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            for _ in workers.close(None, grace):
                pass


def _watch(workers: Workers, over: threading.Event) -> None:
    while not over.wait(PATIENCE):
        for worker, message in workers.events():
            if isinstance(message, Failed):
                workers.finished = True  # others would fail in the same way
                logger.warning("a process on %s failed and helps no longer: %s", worker.node.host, message.error)
            elif isinstance(message, Ended) and message.reason is not None:
                logger.warning("a process on %s ended: %s", worker.node.host, message.reason)
