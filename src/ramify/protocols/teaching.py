"""Labelling positions with many engine processes at once, into a folder of game records.

Every worker process drives one engine with one thread and plays whole games; the main process alone writes. Stopping
keeps everything: a game in progress is ended where it is, and its labelled positions are saved.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ramify.base.processes import end_with_parent
from ramify.engine import SearchConfig
from ramify.games import make
from ramify.protocols.process import EngineError, check_program
from ramify.protocols.taught_games import GameTeacher, SeenPositions, TaughtGame, position_key
from ramify.protocols.teacher import TeachConfig, Teacher
from ramify.selfplay import records
from ramify.selfplay.encoding import count_recorded
from ramify.selfplay.journal import WAIT_SECONDS, held, recover_held
from ramify.selfplay.run import ShardWriter, refuse_other_game

SEEN = ".positions"  # in the folder: which positions are labelled
GAMES_PER_SHARD = 512
SHARD_SECONDS = 60.0
LOOK_SECONDS = 0.2  # between two calls of progress
STOP_SECONDS = 60.0  # for a worker to end its game
FAILURES_IN_A_ROW = 5  # of an engine that labels nothing in between, after which the run ends

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
    progress: Callable[[TeachProgress], None] | None = None,
) -> TeachProgress:
    """Label positions until the folder has ``positions`` of them; Ctrl-C stops early, without an error and a loss.

    ``engines``: number of engine processes; None: one for each core that this process may use.
    """
    check_program(config.command)
    place, game = Path(folder), make("chess")
    count = engines or usable_cores()
    with held(place, WAIT_SECONDS) as sure:
        recover_held(place, sure)
        refuse_other_game(place, game)
        before, first = labelled(place)
        if before >= positions:
            return TeachProgress(before, positions, 0, 0, 0, 0, 0.0, count)
        open_seen(place, positions)
        header = {
            "game": game.name,
            "params": game.params,
            "search": SearchConfig().model_dump(exclude={"cache"}),
            "play": {},
            "seed": config.seed,
            "teacher": config.model_dump(mode="json"),
        }
        run = _Run(TaughtShards(place, header, GAMES_PER_SHARD), before, positions, count)
        run.go(config, first, progress)
        return run.now()


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
    for header, games in records.read_shards(records.shards(folder)):
        game = make(header["game"], **header["params"])
        for record in games:
            for state, move in zip(record.states(game), record.moves, strict=False):
                if move.found is not None:
                    seen.add(position_key(state.fen))  # type: ignore[attr-defined]
    return seen


def worker(config: TeachConfig, folder: Path, first: int, stride: int, pipe: Connection) -> None:
    """The process of one engine: plays the games ``first``, ``first + stride``, … until it is told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    with suppress(AttributeError, OSError):  # where there is no such policy
        # Woken by every line that the engine writes, this process would take the core from it each time.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    teacher, failures = Teacher(config), 0
    seen = SeenPositions(folder / SEEN, 1)
    player = GameTeacher(make("chess"), teacher, seen.add, pipe.poll)
    number = first
    try:
        while not pipe.poll():
            played = player.play(number)
            number += stride
            failures = failures + 1 if played.failure and not played.labels else 0
            if failures >= FAILURES_IN_A_ROW:
                raise EngineError(f"{played.failure} ({failures} times in a row)")
            pipe.send(played)
    except (EngineError, OSError) as error:
        with suppress(OSError):
            pipe.send(str(error))
    finally:
        teacher.close()
        pipe.close()


class _Run:
    """One session: its workers, and what they have sent."""

    def __init__(self, shards: TaughtShards, before: int, wanted: int, engines: int) -> None:
        self.shards, self.started = shards, time.perf_counter()
        self.progress = TeachProgress(before, wanted, 0, 0, 0, 0, 0.0, engines)

    def now(self) -> TeachProgress:
        return self.progress

    def go(self, config: TeachConfig, first: int, show: Callable[[TeachProgress], None] | None) -> None:
        with ExitStack() as stack:
            stack.callback(self.shards.close)
            pipes = stack.enter_context(self._workers(config, first))
            shown = time.perf_counter()
            with suppress(KeyboardInterrupt):
                while self.progress.positions < self.progress.wanted:
                    self._receive(pipes, LOOK_SECONDS)
                    if show is not None and time.perf_counter() - shown > LOOK_SECONDS:
                        shown = time.perf_counter()
                        show(self.progress)
                    self.progress = replace(self.progress, seconds=time.perf_counter() - self.started)

    @contextmanager
    def _workers(self, config: TeachConfig, first: int) -> Iterator[list[Connection]]:
        """Running workers; at the end they are told to stop, and what they send then is taken, too."""
        context, count = multiprocessing.get_context("spawn"), self.progress.engines
        pipes, processes = list[Connection](), []
        try:
            for number in range(count):
                here, there = context.Pipe()
                arguments = (config, self.shards.folder, first + number, count, there)
                process = context.Process(target=worker, args=arguments, name="ramify-teach", daemon=True)
                process.start()
                there.close()
                pipes.append(here)
                processes.append(process)
            self.started = time.perf_counter()
            yield pipes
        finally:
            self._stop(pipes)
            for process in processes:
                process.join(STOP_SECONDS)
                if process.is_alive():
                    process.kill()
                    process.join()

    def _stop(self, pipes: list[Connection]) -> None:
        for pipe in pipes:
            with suppress(OSError):
                pipe.send("stop")
        deadline = time.monotonic() + STOP_SECONDS
        while pipes and time.monotonic() < deadline:
            with suppress(EngineError, KeyboardInterrupt):  # the first failure is told already; Ctrl-C a second time
                self._receive(pipes, 1.0)

    def _receive(self, pipes: list[Connection], seconds: float) -> None:
        """Take in games that workers have sent; a worker that has ended is left out from then on."""
        if not pipes:
            raise EngineError("all engine processes have ended")
        for ready in wait(pipes, seconds):
            assert isinstance(ready, Connection)
            try:
                played = ready.recv()
            except (EOFError, OSError):
                pipes.remove(ready)
                ready.close()
                continue
            if isinstance(played, str):
                raise EngineError(played)
            self._add(played)

    def _add(self, played: TaughtGame) -> None:
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
