"""Engine processes of this machine that play and label games; the table of labelled positions is a file they share."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from ramify.base.processes import end_with_parent
from ramify.games import make
from ramify.protocols.process import EngineError
from ramify.protocols.taught_games import GameTeacher, SeenPositions, TaughtGame
from ramify.protocols.teacher import TeachConfig, Teacher

STOP_SECONDS = 60.0  # for a process to end its game
FAILURES_IN_A_ROW = 5  # of an engine that labels nothing in between, after which the run ends


class EngineProcesses:
    """Processes that play the games ``first``, ``first + 1``, … until they are told to stop."""

    nodes = ()

    def __init__(self, config: TeachConfig, table: Path, first: int, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.count, self._pipes, self._processes = count, list[Connection](), list[multiprocessing.Process]()
        for number in range(count):
            here, there = context.Pipe()
            arguments = (config, table, first + number, count, there)
            process = context.Process(target=worker, args=arguments, name="ramify-teach", daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)  # type: ignore[arg-type]

    def receive(self, seconds: float) -> Iterator[TaughtGame]:
        """Games that have been sent; a process that has ended is left out from then on."""
        if not self._pipes:
            raise EngineError("all engine processes have ended")
        for ready in wait(self._pipes, seconds):
            assert isinstance(ready, Connection)
            try:
                played = ready.recv()
            except (EOFError, OSError):
                self._pipes.remove(ready)
                ready.close()
                continue
            if isinstance(played, str):
                raise EngineError(played)
            yield played

    def close(self) -> Iterator[TaughtGame]:
        """Tell the processes to stop, and take what they send then."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send("stop")
        end = time.monotonic() + STOP_SECONDS
        while self._pipes and time.monotonic() < end:
            with suppress(EngineError):  # the first failure is told already
                yield from self.receive(1.0)
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def worker(config: TeachConfig, table: Path, first: int, stride: int, pipe: Connection) -> None:
    """The process of one engine: plays the games ``first``, ``first + stride``, … until it is told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    yield_to_engine()
    teacher, steady = Teacher(config), Steady()
    player = GameTeacher(make("chess"), teacher, SeenPositions(table, 1).add, pipe.poll)
    number = first
    try:
        while not pipe.poll():
            played = player.play(number)
            number += stride
            steady.check(played)
            pipe.send(played)
    except (EngineError, OSError) as error:
        with suppress(OSError):
            pipe.send(str(error))
    finally:
        teacher.close()
        pipe.close()


def yield_to_engine() -> None:
    """Let the engine work where both want the same core: woken by every line that the engine writes, the thread that
    reads them would take the core from it each time."""
    with suppress(AttributeError, OSError):  # where there is no such policy
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class Steady:
    """Raises an EngineError for an engine that fails again and again without a label in between."""

    def __init__(self) -> None:
        self.failures = 0

    def check(self, played: TaughtGame) -> None:
        self.failures = self.failures + 1 if played.failure and not played.labels else 0
        if self.failures >= FAILURES_IN_A_ROW:
            raise EngineError(f"{played.failure} ({self.failures} times in a row)")
