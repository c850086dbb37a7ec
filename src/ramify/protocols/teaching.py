"""Labelling positions with many engine processes at once, into a folder of game records.

Every worker process, here or on a node of a cluster, drives one engine with one thread and plays whole games; the main
process alone writes. Stopping keeps everything: a game in progress is ended where it is, and its labelled positions are
saved.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ramify.cluster import ClusterConfig, connected
from ramify.engine import SearchConfig
from ramify.games import make
from ramify.protocols.engine_processes import EngineProcesses
from ramify.protocols.node_engines import NodeEngines, NodeProgress
from ramify.protocols.process import check_program
from ramify.protocols.taught_games import SeenPositions, TaughtGame, labelled_keys
from ramify.protocols.teacher import TeachConfig
from ramify.selfplay import records
from ramify.selfplay.encoding import count_recorded
from ramify.selfplay.journal import WAIT_SECONDS, held, recover_held
from ramify.selfplay.run import ShardWriter, refuse_other_game

SEEN = ".positions"  # in the folder: which positions are labelled
GAMES_PER_SHARD = 512
SHARD_SECONDS = 60.0
LOOK_SECONDS = 0.2  # between two calls of progress

logger = logging.getLogger("ramify")


@dataclass(frozen=True)
class TeachProgress:
    """How far a run is. ``positions`` are all in the folder, ``new`` those of this session."""

    positions: int
    wanted: int
    new: int
    games: int
    moves: int
    failures: int  # of engines
    seconds: float
    engines: int
    nodes: tuple[NodeProgress, ...] = ()  # of a cluster

    @property
    def positions_per_s(self) -> float:
        return self.new / max(self.seconds, 1e-9)


class TaughtShards(ShardWriter):
    """Shards whose headers tell the number of labelled positions."""

    def facts(self, chosen: Sequence[bytes]) -> dict[str, Any]:
        return {"positions": sum(map(count_recorded, chosen))}


def teach(
    folder: str | os.PathLike[str],
    config: TeachConfig,
    positions: int,
    *,
    engines: int | None = None,
    cluster: ClusterConfig | None = None,
    progress: Callable[[TeachProgress], None] | None = None,
) -> TeachProgress:
    """Label positions until the folder has ``positions`` of them; Ctrl-C stops early, without an error and a loss.

    ``engines``: number of engine processes; None: one for each core that this process may use or, with a ``cluster``,
    as many as its nodes have room for.
    """
    place, game = Path(folder), make("chess")
    with ExitStack() as stack:
        if cluster is None:
            check_program(config.command)
        else:
            assert cluster.address is not None
            stack.enter_context(connected(cluster.address, max(usable_cores(), engines or 1)))
        recover_held(place, stack.enter_context(held(place, WAIT_SECONDS)))
        refuse_other_game(place, game)
        before, first = labelled(place)
        if before >= positions:
            return TeachProgress(before, positions, 0, 0, 0, 0, 0.0, 0)
        seen = open_seen(place, positions)
        header = {
            "game": game.name,
            "params": game.params,
            "search": SearchConfig().model_dump(exclude={"cache"}),
            "play": {},
            "seed": config.seed,
            "teacher": config.model_dump(mode="json"),
        }
        source: Engines
        if cluster is None:
            source = EngineProcesses(config, place / SEEN, first, engines or usable_cores())
        else:
            actors = engines or cluster.actors
            source = NodeEngines(config, header, place, seen, first, cluster.replace(actors=actors))
        return _Run(TaughtShards(place, header, GAMES_PER_SHARD), before, positions).go(source, progress)


class Engines(Protocol):
    """Engine processes that play and label games."""

    def receive(self, seconds: float) -> Iterator[TaughtGame]:
        """Games that have been finished, after at most so many seconds. A game counts as saved when the next one is
        asked for. Raises EngineError if an engine never works."""
        ...

    def close(self) -> Iterator[TaughtGame]:
        """Let the processes end their games, and then themselves."""
        ...

    @property
    def count(self) -> int:
        """Number of processes."""
        ...

    @property
    def nodes(self) -> tuple[NodeProgress, ...]:
        """The nodes of a cluster; without one, none."""
        ...


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Gives a function that tells whether Ctrl-C was pressed, in place of an exception at any moment."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def labelled(folder: Path) -> tuple[int, int]:
    """Number of labelled positions in a folder, and the first unused number of a game."""
    total, first = 0, 0
    for path in records.shards(folder):
        try:
            header, found = records.read_records(path)
            total += header["positions"] if "positions" in header else sum(map(count_recorded, found))
            first = max([first, *(records.record_number(record) + 1 for record in found)])
        except (records.DamagedShard, OSError) as damage:
            logger.warning("skipped: %s", damage)
    return total, first


def open_seen(folder: Path, positions: int) -> SeenPositions:
    """The table of labelled positions. It is made again from the records where it is missing or too small."""
    path = folder / SEEN
    if path.exists() and path.stat().st_size >= 16 * positions:
        return SeenPositions(path, positions)
    path.unlink(missing_ok=True)
    seen = SeenPositions(path, positions)
    for _, games in records.read_shards(records.shards(folder)):
        for record in games:
            for key in labelled_keys(record):
                seen.add(key)
    return seen


class _Run:
    """One session: what its engines have labelled."""

    def __init__(self, shards: TaughtShards, before: int, wanted: int) -> None:
        self.shards = shards
        self.progress = TeachProgress(before, wanted, 0, 0, 0, 0, 0.0, 0)

    def go(self, engines: Engines, show: Callable[[TeachProgress], None] | None) -> TeachProgress:
        """Save games until there are enough positions, or until Ctrl-C."""
        with ExitStack() as stack:
            stopped = stack.enter_context(interruptible())
            stack.callback(self.shards.close)
            stack.callback(self._finish, engines)
            started = shown = time.perf_counter()
            with suppress(KeyboardInterrupt):  # of what shows the progress
                while self.progress.positions < self.progress.wanted and not stopped():
                    self._save(engines.receive(LOOK_SECONDS))
                    self.progress = replace(
                        self.progress,
                        seconds=time.perf_counter() - started,
                        engines=engines.count or self.progress.engines,
                        nodes=engines.nodes,
                    )
                    if show is not None and time.perf_counter() - shown > LOOK_SECONDS:
                        shown = time.perf_counter()
                        show(self.progress)
        return self.progress

    def _finish(self, engines: Engines) -> None:
        counts = {node.host: node.engines for node in self.progress.nodes}
        self._save(engines.close())
        nodes = tuple(replace(node, engines=counts.get(node.host, 0)) for node in engines.nodes)
        self.progress = replace(self.progress, nodes=nodes)

    def _save(self, games: Iterator[TaughtGame]) -> None:
        for played in games:
            if played.failure:
                logger.warning("an engine was restarted: %s", played.failure)
            if played.labels:
                self.shards.add([played.record], SHARD_SECONDS)
            known = self.progress
            self.progress = replace(
                known,
                positions=known.positions + played.labels,
                new=known.new + played.labels,
                games=known.games + 1,
                moves=known.moves + played.moves,
                failures=known.failures + bool(played.failure),
            )
