"""Games in several processes: each with a runner of its own, with one thread, fed and emptied through a pipe.

A worker whose pipe is closed ends itself, so none outlives the process that started it, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from ramify.arena.played import Fixture, Played
from ramify.arena.player import PlayerConfig
from ramify.arena.runner import Finish, MatchRunner, deliver
from ramify.base.imports import import_modules, imported
from ramify.games import Game

PATIENCE = 2.0  # seconds that a worker has to end by itself


class WorkerError(RuntimeError):
    """A worker has ended, or failed, in the middle of its games."""


def play_in_workers(
    game: Game,
    configs: Sequence[PlayerConfig],
    fixtures: Sequence[Fixture],
    finish: Finish,
    *,
    workers: int,
    concurrency: int,
) -> None:
    """Play games and hand each over as it finishes, in no particular order. Whatever ends this ends the workers."""
    waiting = deque(fixtures)
    staff = [Worker(game, configs) for _ in range(max(1, min(workers, len(waiting))))]
    try:
        for worker in staff:
            worker.await_ready()
        for worker in staff:
            worker.fill(waiting, concurrency)
        while any(worker.playing for worker in staff):
            busy: dict[Any, Worker] = {worker.pipe: worker for worker in staff if worker.playing}
            for pipe in wait(list(busy)):
                deliver([busy[pipe].take()], finish)
                busy[pipe].fill(waiting, concurrency)
    except KeyboardInterrupt:
        for worker in staff:
            deliver(worker.take_all(), finish)
        raise
    finally:
        for worker in staff:
            worker.pipe.close()
        for worker in staff:
            worker.end()


class Worker:
    """One process, as its owner sees it."""

    def __init__(self, game: Game, configs: Sequence[PlayerConfig]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        content = pickle.dumps((game, list(configs)))  # unpickled after the imports: classes may be theirs
        self.process = context.Process(target=work, args=(other, imported(), content), daemon=True)
        self.playing = 0
        with deaf_to_interrupts():
            self.process.start()
        other.close()

    def await_ready(self) -> None:
        """Until its players are open; raises what keeps them from playing."""
        problem = self._receive()
        if problem is not None:
            raise problem

    def fill(self, waiting: deque[Fixture], concurrency: int) -> None:
        """As many games as it should have."""
        while waiting and self.playing < concurrency:
            try:
                self.pipe.send(waiting.popleft())
            except OSError as error:
                raise WorkerError(f"a worker has ended: {error}") from error
            self.playing += 1

    def take(self) -> Played:
        """A game that it has finished."""
        answer = self._receive()
        if isinstance(answer, Exception):
            raise WorkerError(f"a worker has failed: {type(answer).__name__}: {answer}") from answer
        self.playing -= 1
        played: Played = answer
        return played

    def take_all(self) -> list[Played]:
        """The games that it has finished and nobody has taken."""
        found = []
        try:
            while self.playing and self.pipe.poll():
                found.append(self.take())
        except (OSError, RuntimeError):
            pass  # it has ended; what it sent before is taken
        return found

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            raise WorkerError(f"a worker has ended, with exit code {self.process.exitcode}") from None

    def end(self) -> None:
        """Wait for it, and insist if it does not end."""
        self.process.join(PATIENCE)
        for insist in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                insist()
                self.process.join(PATIENCE)
        self.process.close()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes started meanwhile ignore Ctrl-C from their first moment: it is for their owner to end them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def work(pipe: Connection, imports: Sequence[str], content: bytes) -> None:
    """A worker's life: until its pipe is closed at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"  # read by libraries that load with the players
    try:
        import_modules(imports)
        game, configs = pickle.loads(content)
        runner = MatchRunner.open(game, configs)
    except Exception as error:
        pipe.send(portable(error))
        return
    try:
        pipe.send(None)
        serve(pipe, runner)
    except (EOFError, OSError):
        pass  # the owner has gone, or wants no more
    except Exception as error:
        pipe.send(portable(error))
    finally:
        runner.close()


def serve(pipe: Connection, runner: MatchRunner) -> None:
    """Play what comes in, send what is finished."""
    while True:
        while not len(runner) or pipe.poll():
            runner.add(pipe.recv())
        for played in runner.round():
            pipe.send(played)


def portable(error: Exception) -> Exception:
    """An error that survives being sent; a mistake in settings stays a ValueError."""
    return ValueError(str(error)) if isinstance(error, ValueError) else RuntimeError(f"{type(error).__name__}: {error}")
