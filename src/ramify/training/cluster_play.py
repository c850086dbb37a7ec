"""Self-play on a cluster, as the trainer sees it: leases, weights and shards of all workers."""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.cluster import Ended, Failed, Node, Worker, Workers, connected
from ramify.cluster.connection import publish
from ramify.selfplay.handover import STOP, Kept, Ready, left_behind, scratch_folder
from ramify.selfplay.journal import held
from ramify.selfplay.records import next_shard, pack_shard, place_shard, read_records, record_number
from ramify.training.checkpoints import checkpoints, network_file
from ramify.training.leases import Leases
from ramify.training.node_player import Pause, Report, Shard, Want, Weights, play_on_node
from ramify.training.overlap import LOOK_SECONDS, STOP_SECONDS, games_to_resume
from ramify.training.playing import speed
from ramify.training.run import Training
from ramify.training.status import NodeStatus

ORPHAN_SECONDS = 20.0  # after this time the games of a lost worker are played again, whether or not one replaced it
FEWEST_PARALLEL = 32  # games of a worker, so that batches do not become too small
RESUME = 0.75  # of the backlog: self-play goes on when training has come so far

logger = logging.getLogger("ramify")


@dataclass
class WorkerFigures:
    """What is known of a worker."""

    worker: Worker
    games: int = 0
    report: Report | None = None


@contextmanager
def cluster_players(training: Training) -> Iterator[ClusterPlayers]:
    """Self-play on the cluster of the config, running while the context is open."""
    address = training.config.cluster.address
    assert address is not None
    training.show(phase="starting the cluster" if address == "local" else "connecting to the cluster")
    with connected(address), held(training.games_folder):
        players = ClusterPlayers(training)
        try:
            yield players
        finally:
            players.close()


class ClusterPlayers:
    """Workers on the nodes of a cluster that play the games of a run."""

    keeps_ratio = True

    def __init__(self, training: Training) -> None:
        self.training, self.config = training, training.config
        self.folder = training.games_folder
        self.root = scratch_folder(self.config.cluster.scratch, training.folder)
        unfinished, first = games_to_resume(self.folder, training.consumed)
        self.leases = Leases(self.config, unfinished, first)
        self.before = first - len(unfinished)  # games of earlier sessions
        self.weights = self._newest_weights()
        self.looked = time.monotonic()
        self.paused = False
        self.lost: dict[int, float] = {}  # when workers were lost
        self.bytes = 0  # of shards
        self.figures: dict[int, WorkerFigures] = {}
        self.workers = Workers(self.config.cluster, play_on_node, self._arguments)
        self.actors = self.workers.capacity()
        if not self.actors:
            cluster = self.config.cluster
            raise ValueError(
                f"no node of the cluster has {cluster.cpus_per_actor:g} CPUs and {cluster.gpus_per_actor:g} GPUs for a "
                "self-play process: lower cluster.cpus_per_actor or cluster.gpus_per_actor"
            )

    def _arguments(self, number: int, node: Node) -> tuple[Any, ...]:
        """What a new worker is given."""
        del number, node
        config, loop = self.config, self.config.loop
        share = max(min(FEWEST_PARALLEL, loop.parallel_games), math.ceil(loop.parallel_games / self.actors))
        parallel = config.cluster.parallel_games or share
        threads = max(1, int(config.cluster.cpus_per_actor))
        device = "cuda" if config.cluster.gpus_per_actor else "cpu"
        settings = loop.replace(parallel_games=parallel, threads=threads, device=device)
        return config.replace(loop=settings), self.root, self.weights, device

    # What the trainer calls.

    def look(self) -> None:
        for worker, message in self.workers.events():
            self._receive(worker, message)
        for number, since in list(self.lost.items()):
            if time.monotonic() - since > ORPHAN_SECONDS:
                del self.lost[number]
                self._adopt_rest()
                self.leases.release(number + 1)
        if time.monotonic() - self.looked > LOOK_SECONDS:
            self.looked = time.monotonic()
            self._publish()
            self._keep_ratio()
            self._show()

    def tell_stage(self, stage: int) -> None:
        self.leases.stage = stage

    def close(self) -> None:
        """Stop the workers, and take the games that they have finished."""
        for worker, message in self.workers.close(STOP, STOP_SECONDS):
            if not isinstance(message, Want | Failed):
                self._receive(worker, message)
        self._adopt_rest()

    # Messages.

    def _receive(self, worker: Worker, message: Any) -> None:
        figures = self.figures.setdefault(worker.number, WorkerFigures(worker))
        if isinstance(message, Shard):
            figures.games += self._keep(worker.number, message)
            self.workers.tell(worker, Kept(message.name))
        elif isinstance(message, Want):
            self.workers.tell(worker, self.leases.grant(worker.number, message.games))
        elif isinstance(message, Report):
            figures.report = message
        elif isinstance(message, Ready):
            self._welcome(worker)
        elif isinstance(message, Failed):
            raise RuntimeError(f"self-play failed on {worker.node.host}: {message.error}")
        elif isinstance(message, Ended):
            self._lose(worker, message)

    def _welcome(self, worker: Worker) -> None:
        """A worker has begun: it has handed over what it found of lost ones, so their other games are free."""
        self.leases.release(worker.number)
        self.lost = {number: since for number, since in self.lost.items() if number >= worker.number}
        if self.weights.version > 0:
            self.workers.tell(worker, self.weights)
        if self.paused:
            self.workers.tell(worker, Pause(True))

    def _lose(self, worker: Worker, ended: Ended) -> None:
        count = self.leases.lose(worker.number)
        figures = self.figures[worker.number]
        figures.report = None
        if ended.reason is not None:
            self.lost[worker.number] = time.monotonic()
            logger.warning(
                "a self-play process on %s ended (%s); %d games that it had not finished will be played by others",
                worker.node.host,
                ended.reason.rstrip("."),
                count,
            )

    def _keep(self, worker: int, shard: Shard) -> int:
        """Save the games of a shard that are new; returns their number."""
        new = self.leases.finish(worker, shard.numbers)
        data = shard.data if len(new) == len(shard.numbers) else only(shard.data, set(new))
        if new:
            self.bytes += len(data)
            place_shard(next_shard(self.folder), data)
        return len(new)

    def _adopt_rest(self) -> None:
        """Take games that workers of this machine could not hand over."""
        for path in left_behind(self.root):
            numbers = tuple(map(record_number, read_records(path)[1]))
            self._keep(-1, Shard(path.name, path.read_bytes(), numbers))

    # What workers are told.

    def _newest_weights(self) -> Weights:
        newest = checkpoints(self.training.folder / "checkpoints")[-1]
        return Weights(int(newest.name), publish(network_file(newest).read_bytes()))

    def _publish(self) -> None:
        """Publish the newest weights, if there are new ones."""
        if int(checkpoints(self.training.folder / "checkpoints")[-1].name) > self.weights.version:
            self.weights = self._newest_weights()
            self.workers.tell_all(self.weights)

    def _keep_ratio(self) -> None:
        """Let self-play wait while training is too far behind the replay ratio."""
        most = self.config.cluster.backlog * self.config.loop.games
        behind = games_behind(self.training, self.before + self.leases.finished)
        paused = behind > (RESUME * most if self.paused else most)
        if paused != self.paused:
            self.paused = paused
            self.workers.tell_all(Pause(paused))

    def _show(self) -> None:
        training = self.training
        progress = [known.report.progress for known in self.figures.values() if known.report]
        rates = [speed(one) for one in progress if one is not None]
        names = ("positions_per_s", "evaluations_per_s")
        training.rates = {name: sum(rate[name] for rate in rates) for name in names}
        training.rates["cluster_processes"] = float(len(self.workers.alive))
        training.rates["weights_age"] = float(max((status.age for status in self.nodes), default=0))
        if self.leases.finished:
            training.rates["bytes_per_game"] = self.bytes / self.leases.finished
        training.show(figures={**training.status.figures, **training.rates}, nodes=self.nodes)

    @property
    def nodes(self) -> list[NodeStatus]:
        """What each node does."""
        alive = {worker.number for worker in self.workers.alive}
        by_node: dict[str, list[WorkerFigures]] = {}
        for known in self.figures.values():
            by_node.setdefault(known.worker.node.id, []).append(known)
        return [self._node(known, alive) for known in by_node.values()]

    def _node(self, known: list[WorkerFigures], alive: set[int]) -> NodeStatus:
        reports = [one.report for one in known if one.worker.number in alive and one.report is not None]
        progress = [report.progress for report in reports if report.progress is not None]
        return NodeStatus(
            host=f"{known[0].worker.node.host} {known[0].worker.node.id[:6]}",
            processes=sum(one.worker.number in alive for one in known),
            games=sum(one.games for one in known),
            positions_per_s=sum(one.positions_per_s for one in progress),
            evaluations_per_s=sum(one.evaluations_per_s for one in progress),
            age=max((self.weights.version - report.version for report in reports), default=0),
            waiting=bool(reports) and all(report.waiting for report in reports),
        )


def games_behind(training: Training, played: int) -> float:
    """By how many games training is behind, if the replay ratio is that of the config."""
    loop, consumed = training.config.loop, training.consumed
    steps = training.learner.steps - loop.source_steps
    positions = consumed.positions / max(consumed.games, 1)  # per game
    trained = steps * loop.batch / loop.replay_ratio / positions if positions else 0.0
    return played - trained


def only(data: bytes, numbers: set[int]) -> bytes:
    """The shard with those of its games that have these numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard.games"
        path.write_bytes(data)
        header, records = read_records(path)
    return pack_shard([record for record in records if record_number(record) in numbers], dict(header))
