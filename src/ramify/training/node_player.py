"""Self-play on a node of a cluster: games by leases, weights by version, shards handed over and then forgotten.

Until the trainer has a shard, its games lie in a directory on the node (``cluster.scratch``), first in the journal of
self-play. If the process dies, the next one on a node that sees this directory hands them over.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ramify.cluster import Link, Published
from ramify.evaluators import Uniform
from ramify.evaluators.simple import rollouts_of
from ramify.games.failures import game_failure
from ramify.selfplay.handover import STOP, Kept, Ready, adopt, own_place
from ramify.selfplay.play import SelfPlay
from ramify.selfplay.records import DamagedShard, read_numbers
from ramify.selfplay.run import Progress, measure
from ramify.training.config import TrainConfig
from ramify.training.leases import Lease
from ramify.training.player import Player, Stop
from ramify.training.playing import rollout_search, self_play
from ramify.training.shards import ShardWatcher

REPORT_SECONDS = 1.0  # between two reports of the speed
WAIT_SECONDS = 0.2  # between two looks where there is nothing to do
CLOSE_SECONDS = 20.0  # time for the trainer to take the last shards
MOST_UNKEPT = 32  # shards that the trainer has not taken; with more of them self-play waits
AHEAD = 0.5  # games known in advance, per game played in parallel


@dataclass(frozen=True)
class Weights:
    """A version of the network, as the bytes of its file."""

    version: int
    file: Published


@dataclass(frozen=True)
class Pause:
    """Whether self-play has to wait for training."""

    on: bool


@dataclass(frozen=True)
class Want:
    """The worker can play so many more games."""

    games: int


@dataclass(frozen=True)
class Shard:
    """Finished games: a file of records."""

    name: str
    data: bytes
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """Speed, the version of the weights in use, and the seconds of CPU time that the process has used."""

    progress: Progress | None
    version: int
    waiting: bool
    cpu_seconds: float


def play_on_node(link: Link, config: TrainConfig, root: Path, weights: Weights, device: str) -> None:
    """The work of a self-play process on a node; ends on the message ``STOP``."""
    try:
        with own_place(root) as place:
            adopt(root, place)
            NodePlayer(link, config, place, weights, torch.device(device)).run()
    except Exception as error:
        sentence = game_failure(error)  # of a game of the user's own: where in it the error is
        if sentence is not None:
            raise RuntimeError(sentence) from None
        raise


class NodePlayer(Player):
    """Plays the games of its leases, and hands over their shards."""

    def __init__(self, link: Link, config: TrainConfig, place: Path, weights: Weights, device: torch.device) -> None:
        self.link, self.place, self.folder = link, place, place / "games"
        self.network = place / "network.safetensors"
        self.network.write_bytes(weights.file.get())
        super().__init__(config, device, self.network)
        self.version, self.newest = weights.version, weights
        self.watcher = ShardWatcher(self.folder)
        self.unkept: dict[str, Path] = {}
        self.leases = deque[Lease]()
        self.games: SelfPlay | None = None
        self.lease: Lease | None = None  # whose games are being played
        self.asked = self.paused = self.stopping = False
        self.reported = 0.0

    def run(self) -> None:
        self.link.send(Ready())
        try:
            while True:
                self.lease = self._next_lease()
                self.games = self._start(self.lease)
                self.play(self.games, self.folder)
                self.games = self.lease = None
        except Stop:
            self._hand_over_rest()

    def look(self, progress: Progress) -> None:
        self.serve(progress)
        while self.waiting:
            self.serve(progress, WAIT_SECONDS)

    @property
    def waiting(self) -> bool:
        """Whether nothing may be played now."""
        return self.paused or len(self.unkept) > MOST_UNKEPT

    def serve(self, progress: Progress | None = None, wait: float = 0.0) -> None:
        """Read messages, hand over shards, take new weights, ask for games and report."""
        while self.link.poll(wait):
            self._receive(self.link.recv())
            wait = 0.0
        if self.stopping:
            raise Stop
        self._hand_over()
        self._take_weights()
        self._ask()
        if time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            self.link.send(Report(progress, self.version, self.waiting or progress is None, time.process_time()))

    def _receive(self, message: Any) -> None:
        if message == STOP:
            self.stopping = True
        elif isinstance(message, Weights):
            self.newest = message
        elif isinstance(message, Pause):
            self.paused = message.on
        elif isinstance(message, Kept):
            if (path := self.unkept.pop(message.name, None)) is not None:
                path.unlink(missing_ok=True)
        elif isinstance(message, Lease):
            self.asked = False
            if self.games is not None and self.lease is not None and message.continues(self.lease):
                self.games.add(message.numbers)
            else:
                self.leases.append(message)

    def _next_lease(self) -> Lease:
        while not self.leases or self.waiting:
            self.serve(wait=WAIT_SECONDS)
        return self.leases.popleft()

    def _start(self, lease: Lease) -> SelfPlay:
        board, search = self.boards[lease.board], None
        evaluator = self.evaluator
        if lease.source == "rollouts":
            evaluator, search = rollouts_of(board), rollout_search(self.config)
        elif lease.source == "uniform":
            evaluator = Uniform()
        numbers = lease.numbers
        return self_play(self.config, board, evaluator, 0, len(numbers), search, unfinished=numbers)

    def _ask(self) -> None:
        """Ask for more games before there are none left to begin."""
        parallel = self.config.loop.parallel_games
        ahead = max(1, int(AHEAD * parallel))
        known = sum(len(lease.numbers) for lease in self.leases)
        known += self.games.not_begun if self.games is not None else -parallel
        if known < ahead and not self.asked and not self.paused:
            self.asked = True
            self.link.send(Want(2 * ahead - known))

    def _take_weights(self) -> None:
        """Use the newest weights once they are on this node; wait for them if those in use are too old."""
        newest = self.newest
        if newest.version <= self.version:
            return
        if newest.version - self.version > self.config.cluster.max_age or newest.file.ready():
            self.network.write_bytes(newest.file.get())
            self.renew(self.network)
            self.version = newest.version

    def _hand_over(self) -> None:
        """Send the shards that are new."""
        for path in self.watcher.unread():
            self.unkept[path.name] = path
            try:
                numbers = tuple(number for number, _ in read_numbers(path))
            except DamagedShard:
                continue  # it stays on the node
            self.link.send(Shard(path.name, path.read_bytes(), numbers))

    def _hand_over_rest(self) -> None:
        """Send what is left and wait until the trainer has it; what it does not take is left for others."""
        self._hand_over()
        if self.games is not None:
            self.link.send(Report(measure(self.games), self.version, True, time.process_time()))
        end = time.monotonic() + CLOSE_SECONDS
        while self.unkept and time.monotonic() < end:
            if self.link.poll(WAIT_SECONDS):
                self._receive(self.link.recv())
