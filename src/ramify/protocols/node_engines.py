"""Engines on the nodes of a cluster that play and label games, as the process that saves them sees them.

That process alone decides whether a position is new: a label that another node was quicker with is removed when the
game arrives. So that this happens rarely, nodes are told now and then what others have labelled.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ramify.cluster import ClusterConfig, Ended, Failed, Node, Published, Worker, Workers
from ramify.cluster.connection import publish
from ramify.protocols.node_teacher import TABLE, Begin, Finished, Known, Lesson, clear, teach_on_node
from ramify.protocols.process import EngineError
from ramify.protocols.taught_games import SeenPositions, TaughtGame
from ramify.protocols.teacher import TeachConfig
from ramify.selfplay.encoding import with_number
from ramify.selfplay.handover import STOP, Kept, Ready, left_behind, scratch_folder
from ramify.selfplay.records import read_records

AHEAD = 2  # games that an engine knows of before it begins them
SHARE_SECONDS = 2.0  # between two messages about what others have labelled
PAUSE_SECONDS = 0.02  # between two looks for messages
STOP_SECONDS = 60.0  # for a process to end its game

logger = logging.getLogger("ramify")


@dataclass(frozen=True)
class NodeProgress:
    """A node: its name, its engines, and the positions that they have labelled."""

    host: str
    engines: int
    positions: int


class NodeEngines:
    """Engines on the nodes of a cluster. Nodes may join and die; what was finished is handed over by others."""

    def __init__(
        self,
        config: TeachConfig,
        header: dict[str, Any],
        folder: Path,
        seen: SeenPositions,
        first: int,
        cluster: ClusterConfig,
    ) -> None:
        self.seen, self.number = seen, first
        self.root = scratch_folder(cluster.scratch, folder)
        self._lesson = (config, header, self.root)
        self._session = secrets.token_hex(4)
        self._published: Published | None = None  # the table of labelled positions, unless it is out of date
        self._unshared: dict[str, list[int]] = {}  # positions that other nodes have not been told of, by node
        self._shared = time.monotonic()
        self._labels: dict[Node, int] = {}
        self.workers = Workers(cluster, teach_on_node, self._arguments)
        if not self.workers.capacity():
            raise ValueError(f"no node of the cluster has {cluster.cpus_per_actor:g} CPUs for an engine")

    @property
    def count(self) -> int:
        """Number of engines."""
        return len(self.workers.alive)

    @property
    def nodes(self) -> tuple[NodeProgress, ...]:
        """What each node has done."""
        alive = [worker.node.id for worker in self.workers.alive]
        return tuple(
            NodeProgress(f"{node.host} {node.id[:6]}", alive.count(node.id), labels)
            for node, labels in self._labels.items()
        )

    def receive(self, seconds: float) -> Iterator[TaughtGame]:
        """Games that have arrived, after at most so many seconds."""
        end, arrived = time.monotonic() + seconds, False
        while not arrived and time.monotonic() < end:
            for worker, message in self.workers.events():
                arrived = True
                yield from self._receive(worker, message)
            self._share()
            time.sleep(0 if arrived else PAUSE_SECONDS)

    def close(self) -> Iterator[TaughtGame]:
        """Tell the processes to stop, and take what they send then, and what those of this machine have left."""
        for worker, message in self.workers.close(STOP, STOP_SECONDS):
            if not isinstance(message, Failed):  # the first failure is told already
                yield from self._receive(worker, message)
        for path in left_behind(self.root):
            for record in read_records(path)[1]:
                yield from self._save(TaughtGame.of_record(record), renumber=True)
        clear(self.root)

    def _arguments(self, number: int, node: Node) -> tuple[Lesson]:
        del number
        if self._published is None:
            self._published = publish(self.seen.dump())
        return (Lesson(*self._lesson, f"{TABLE}{self._session}-{node.id[:12]}", self._published),)

    def _receive(self, worker: Worker, message: Any) -> Iterator[TaughtGame]:
        self._labels.setdefault(worker.node, 0)
        if isinstance(message, Finished):
            for played in self._save(message.played, renumber=message.left_behind):
                yield played
                self._labels[worker.node] += played.labels
                self._unshared.setdefault(worker.node.id, []).extend(played.keys)
            self.workers.tell(worker, Kept(message.name))
            if not message.left_behind:
                self._begin(worker)
        elif isinstance(message, Ready):
            for _ in range(1 + AHEAD):
                self._begin(worker)
        elif isinstance(message, Failed):
            raise EngineError(f"labelling failed on {worker.node.host}: {message.error}")
        elif isinstance(message, Ended) and message.reason is not None:
            reason = message.reason.rstrip(".")
            logger.warning("an engine process on %s ended (%s); finished games are kept", worker.node.host, reason)

    def _save(self, played: TaughtGame, *, renumber: bool) -> Iterator[TaughtGame]:
        """The game with the labels that are new. Its positions are entered in the table once it was saved."""
        played = played.only_new(lambda key: key not in self.seen)
        if renumber:  # its number may have been given to another game meanwhile
            played = replace(played, record=with_number(played.record, self._next()))
        yield played
        for key in played.keys:
            self.seen.add(key)
        if played.keys:
            self._published = None

    def _begin(self, worker: Worker) -> None:
        self.workers.tell(worker, Begin(self._next()))

    def _next(self) -> int:
        self.number += 1
        return self.number - 1

    def _share(self) -> None:
        """Tell a process of every node what the other nodes have labelled."""
        if time.monotonic() - self._shared < SHARE_SECONDS:
            return
        self._shared = time.monotonic()
        for worker in {worker.node.id: worker for worker in self.workers.alive}.values():
            others = [key for node, keys in self._unshared.items() if node != worker.node.id for key in keys]
            if others:
                self.workers.tell(worker, Known.of(others))
        self._unshared.clear()
