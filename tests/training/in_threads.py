"""Workers of a cluster as threads of this process: what runs on nodes, without Ray."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from ramify.cluster import Ended, Failed, Link, Node, Worker
from ramify.training import cluster_play


class Killed(BaseException):
    """Ends a worker at its next look for messages."""


class DyingLink(Link):
    dead = False

    def poll(self, seconds: float = 0.0) -> bool:
        found = super().poll(0 if self.dead else seconds)
        if self.dead:
            raise Killed
        return found

    def send(self, message: Any) -> None:
        if not self.dead:
            super().send(message)


class InMemory:
    """Published data; ``held_back`` data is not on the node yet."""

    held_back = False

    def __init__(self, data: bytes) -> None:
        self.data, self.fetched = data, 0

    def ready(self) -> bool:
        return not self.held_back

    def get(self) -> bytes:
        self.fetched += 1
        return self.data


class ThreadWorkers:
    """As ``ramify.cluster.Workers``, with threads; ``room`` is the number of workers on each of its ``hosts``."""

    room, hosts = 1, 2

    def __init__(self, config: Any, target: Any, arguments: Any) -> None:
        self.config, self.target, self.arguments = config, target, arguments
        self.alive: list[Any] = []
        both = [Node("a" * 8, "first", 2, 0, True), Node("b" * 8, "second", 2, 0, False)]
        self.nodes = both[: self.hosts]
        self.started, self.closing = 0, False

    def capacity(self) -> int:
        return self.room * len(self.nodes)

    def _start(self, node: Node) -> None:
        link = DyingLink()
        worker = Worker(self.started, node, SimpleNamespace(link=link, error=None), None, None)
        self.started += 1
        arguments = self.arguments(worker.number, node)

        def work() -> None:
            try:
                self.target(link, *arguments)
            except Killed:
                pass
            except BaseException as error:
                worker.actor.error = f"{type(error).__name__}: {error}"

        worker.running = threading.Thread(target=work, daemon=True)
        worker.running.start()
        self.alive.append(worker)

    def events(self):
        if not self.closing:
            for node in self.nodes:
                while sum(worker.node.id == node.id for worker in self.alive) < self.room:
                    self._start(node)
        for worker in list(self.alive):
            over = not worker.running.is_alive()
            for message in worker.actor.link.take():
                yield worker, message
            if over:
                self.alive.remove(worker)
                dead = worker.actor.link.dead
                failed = worker.actor.error
                yield worker, Failed(failed) if failed else Ended("it was killed" if dead else None)

    def tell(self, worker: Any, message: Any) -> None:
        worker.actor.link.put(message)

    def tell_all(self, message: Any) -> None:
        for worker in self.alive:
            self.tell(worker, message)

    def close(self, stop: Any, seconds: float):
        self.closing = True
        self.tell_all(stop)
        while self.alive:
            yield from self.events()

    def kill(self, worker: Any) -> None:
        worker.actor.link.dead = True
        worker.running.join()


def use_threads(patch: Any, directing: Any = cluster_play, connecting: Any = None) -> None:
    """Let work on a cluster use threads: the modules that direct it, and connect to it if that is another one."""
    from contextlib import nullcontext

    patch.setattr(directing, "Workers", ThreadWorkers)
    patch.setattr(connecting or directing, "connected", lambda *_: nullcontext())
    patch.setattr(directing, "publish", InMemory)
