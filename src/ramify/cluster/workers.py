"""Workers on every node of a cluster: started where there is room, replaced when they die, directed by messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ramify.cluster.config import ClusterConfig
from ramify.cluster.connection import Node, import_ray, nodes
from ramify.cluster.link import Link

HEAR_SECONDS = 1.0  # a worker without messages answers after this time
LOOK_SECONDS = 2.0  # seconds between two looks for nodes that have joined, and for workers to replace
MOST_DEATHS = 5  # workers that may die one after another without a message of any; then there is something wrong


@dataclass(frozen=True)
class Ended:
    """What becomes known of a worker that ends: by itself, or by a reason from outside."""

    reason: str | None = None


@dataclass(frozen=True)
class Failed:
    """An error in a worker."""

    error: str


@dataclass(eq=False)
class Worker:
    """A worker as the directing process sees it."""

    number: int
    node: Node
    actor: Any = field(repr=False)
    running: Any = field(repr=False)
    hearing: Any = field(repr=False)
    heard: bool = False


class _Host:
    """The process of a worker: one thread does the work, others exchange messages."""

    def __init__(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.target, self.arguments, self.link = target, arguments, Link()

    def work(self) -> None:
        self.target(self.link, *self.arguments)
        self.link.drain(HEAR_SECONDS)

    def hear(self) -> list[Any]:
        return self.link.take(HEAR_SECONDS)

    def tell(self, message: Any) -> None:
        self.link.put(message)


class Workers:
    """Processes on the nodes of a cluster that all run ``target(link, *arguments)``.

    ``events`` yields what they send; it also starts and replaces workers, and has to be called regularly. A worker that
    dies, alone or with its node, is reported as ended and replaced where there is room; nodes that join get workers.
    """

    def __init__(
        self, config: ClusterConfig, target: Callable[..., None], arguments: Callable[[int, Node], tuple[Any, ...]]
    ) -> None:
        self.config, self.target, self.arguments = config, target, arguments
        self.alive: list[Worker] = []
        self.deaths = 0  # of workers one after another
        self._started = 0
        self._looked = -math.inf
        self._closing = False
        self.finished = False  # whether a worker has come to the end of its work; no more are started then

    def events(self) -> Iterator[tuple[Worker, Any]]:
        """Messages, and ``Ended`` and ``Failed``, of all workers since the last call; does not wait."""
        if not (self._closing or self.finished) and time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            yield from self._fill()
        if not self.alive:
            return
        waiting = [reference for worker in self.alive for reference in (worker.hearing, worker.running)]
        done = set(import_ray().wait(waiting, num_returns=len(waiting), timeout=0)[0])
        for worker in list(self.alive):
            if worker.hearing in done:
                yield from self._hear(worker)
            elif worker.running in done:
                yield from self._end(worker)

    def tell(self, worker: Worker, message: Any) -> None:
        """Send a message to a worker; one that has died does not get it."""
        worker.actor.tell.remote(message)

    def tell_all(self, message: Any) -> None:
        for worker in self.alive:
            self.tell(worker, message)

    def close(self, stop: Any, seconds: float) -> Iterator[tuple[Worker, Any]]:
        """Tell the workers to stop, and yield what they send until all have ended; then end those that are left."""
        self._closing = True
        self.tell_all(stop)
        end = time.monotonic() + seconds
        try:
            while self.alive and time.monotonic() < end:
                yield from self.events()
                time.sleep(0.02)
        finally:
            for worker in self.alive:
                import_ray().kill(worker.actor)
            self.alive.clear()

    def _hear(self, worker: Worker) -> Iterator[tuple[Worker, Any]]:
        exceptions = import_ray().exceptions
        try:
            messages = import_ray().get(worker.hearing)
        except exceptions.RayError as error:
            yield self._lost(worker, error)
            return
        worker.hearing = worker.actor.hear.remote()
        if messages:
            worker.heard, self.deaths = True, 0
        for message in messages:
            yield worker, message

    def _end(self, worker: Worker) -> Iterator[tuple[Worker, Any]]:
        """The work has ended: by itself, by an error, or because the process is gone."""
        exceptions = import_ray().exceptions
        try:
            import_ray().get(worker.running)
        except exceptions.RayTaskError as error:
            self.alive.remove(worker)
            yield worker, Failed(_cause(error))
            return
        except exceptions.RayError as error:
            yield self._lost(worker, error)
            return
        try:  # what it sent last
            for message in import_ray().get(worker.hearing, timeout=10 * HEAR_SECONDS):
                yield worker, message
        except exceptions.RayError:
            pass
        self.alive.remove(worker)
        self.finished = True
        import_ray().kill(worker.actor)
        yield worker, Ended()

    def _lost(self, worker: Worker, error: Exception | str) -> tuple[Worker, Any]:
        self.alive.remove(worker)
        import_ray().kill(worker.actor)  # it may only have been out of reach
        self.deaths += 1
        self._looked = -math.inf  # replace it at once
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        if self.deaths > MOST_DEATHS:
            return worker, Failed(f"{self.deaths} processes in a row died: {reason}")
        return worker, Ended(reason)

    def capacity(self) -> int:
        """Number of workers for which there is room in the whole cluster now."""
        everywhere = nodes()
        room = sum(max(0, self._room(node, len(everywhere))) for node in everywhere) + len(self.alive)
        return room if self.config.actors is None else min(room, self.config.actors)

    def _fill(self) -> Iterator[tuple[Worker, Any]]:
        """Give up workers whose node is gone, which Ray may still wait for, and start workers where there is room."""
        wanted = math.inf if self.config.actors is None else self.config.actors
        everywhere = sorted(nodes(), key=lambda node: node.here)  # this node trains as well
        there = {node.id for node in everywhere}
        for worker in [worker for worker in self.alive if worker.node.id not in there]:
            yield self._lost(worker, "its node is gone")
        room = {node: self._room(node, len(everywhere)) for node in everywhere}
        while len(self.alive) < wanted:
            node = max(room, key=lambda node: room[node], default=None)
            if node is None or room[node] <= 0:
                return
            room[node] -= 1
            self._start(node)

    def _room(self, node: Node, count: int) -> int:
        """How many more workers a node has room for."""
        config, cpus = self.config, node.cpus
        if node.here and config.actors is None and (cpus > 1 or count > 1):
            cpus -= 1
        most = cpus / config.cpus_per_actor
        if config.gpus_per_actor:
            most = min(most, node.gpus / config.gpus_per_actor)
        return int(most + 1e-9) - sum(worker.node.id == node.id for worker in self.alive)

    def _start(self, node: Node) -> None:
        ray = import_ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        number, config = self._started, self.config
        self._started += 1
        host = ray.remote(
            num_cpus=config.cpus_per_actor,
            num_gpus=config.gpus_per_actor,
            max_concurrency=4,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )(_Host)
        actor = host.remote(self.target, self.arguments(number, node))
        worker = Worker(number, node, actor, actor.work.remote(), actor.hear.remote())
        self.alive.append(worker)


def _cause(error: Any) -> str:
    """The error of a worker's own code, in one line."""
    cause = getattr(error, "cause", None)
    return str(error) if cause is None else f"{type(cause).__name__}: {cause}"
