"""Games in several single-threaded processes, each with its own runner, connected by pipes.

A worker ends when its pipe is closed, so none outlives the process that started it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from ramify.arena.played import Fixture, Played
from ramify.arena.player import PlayerConfig
from ramify.arena.runner import Finish, MatchRunner, deliver
from ramify.arena.waiting import Waiting
from ramify.base.imports import import_modules, imported
from ramify.games import BrokenGame, Game
from ramify.games.failures import game_failure

PATIENCE = 2.0  # seconds to wait for a worker to end before it is killed


class WorkerError(RuntimeError):
    """A worker process failed or ended during its games."""


@dataclass(frozen=True)
class Players:
    """What a worker needs before games: who plays which game."""

    imports: tuple[str, ...]
    content: bytes  # unpickled after the imports, which may define the classes

    def open(self) -> MatchRunner:
        import_modules(self.imports)
        return MatchRunner.open(*pickle.loads(self.content))


class WorkerPool:
    """Workers that stay for one set of games after another, between any players: a process takes seconds to start.

    They are started when they are first needed, and end with the context, or when games end by an error or Ctrl-C.
    """

    def __init__(self) -> None:
        self._staff: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ready(self, number: int, game: Game, configs: Sequence[PlayerConfig]) -> list[Worker]:
        """So many workers, with players for these games; raises the error of players that cannot play."""
        self._staff += [Worker() for _ in range(number - len(self._staff))]
        players = Players(tuple(imported()), pickle.dumps((game, list(configs))))
        for worker in self._staff[:number]:
            worker.send(players)
        for worker in self._staff[:number]:
            worker.await_ready()
        return self._staff[:number]

    def close(self) -> None:
        """End the workers, and what they play."""
        for worker in self._staff:
            worker.pipe.close()
        for worker in self._staff:
            worker.end()
        self._staff.clear()


def play_in_workers(
    game: Game,
    configs: Sequence[PlayerConfig],
    waiting: Waiting,
    finish: Finish,
    *,
    pool: WorkerPool,
    workers: int,
    concurrency: int,
) -> None:
    """Play games with so many workers of a pool and pass each on as it finishes, in any order."""
    staff: list[Worker] = []
    try:
        staff = pool.ready(workers, game, configs)
        while True:
            for worker in staff:
                worker.fill(waiting, concurrency)
            if not any(worker.playing for worker in staff):
                staff[0].fill(waiting, concurrency, wait=True)
            busy: dict[Any, Worker] = {worker.pipe: worker for worker in staff if worker.playing}
            if not busy:
                break
            for pipe in wait(list(busy), waiting.pause):
                deliver([busy[pipe].take()], finish)
    except BaseException as error:
        try:
            if isinstance(error, KeyboardInterrupt):
                for worker in staff:
                    deliver(worker.take_all(), finish)
        finally:
            pool.close()  # nobody waits for what they play
        raise


class Worker:
    """Handle of a worker process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.playing = 0
        with deaf_to_interrupts():
            self.process.start()
        other.close()

    def send(self, message: Players | Fixture) -> None:
        try:
            self.pipe.send(message)
        except OSError as error:
            raise WorkerError(f"a worker process ended unexpectedly: {error}") from error

    def await_ready(self) -> None:
        """Wait until its players are open; raises their error if they cannot play."""
        problem = self._receive()
        if problem is not None:
            raise problem

    def fill(self, waiting: Waiting, concurrency: int, *, wait: bool = False) -> None:
        """Send games until the worker has its share."""
        for fixture in waiting.take(concurrency - self.playing, wait=wait):
            self.send(fixture)
            self.playing += 1

    def take(self) -> Played:
        """A finished game."""
        answer = self._receive()
        if isinstance(answer, BrokenGame):
            raise answer
        if isinstance(answer, Exception):
            raise WorkerError(f"a worker process failed: {type(answer).__name__}: {answer}") from answer
        self.playing -= 1
        played: Played = answer
        return played

    def take_all(self) -> list[Played]:
        """All finished games that were not read yet."""
        found = []
        try:
            while self.playing and self.pipe.poll():
                found.append(self.take())
        except (OSError, RuntimeError):
            pass  # the worker has ended; what it sent before was read
        return found

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            raise WorkerError(f"a worker process ended unexpectedly with exit code {self.process.exitcode}") from None

    def end(self) -> None:
        """Wait for the process to end, and kill it if it does not."""
        self.process.join(PATIENCE)
        for insist in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                insist()
                self.process.join(PATIENCE)
        self.process.close()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes started within this context ignore Ctrl-C from the beginning; their owner ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def work(pipe: Connection) -> None:
    """Main function of a worker; returns when the other end of its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"  # read by libraries that load with the players
    with suppress(EOFError, OSError):  # the other end was closed
        players = pipe.recv()
        while True:
            try:
                runner = players.open()
            except Exception as error:
                pipe.send(portable(error))
                return
            try:
                pipe.send(None)
                players = serve(pipe, runner)
            except (EOFError, OSError):
                raise
            except Exception as error:
                pipe.send(portable(error))
                return
            finally:
                runner.close()


def serve(pipe: Connection, runner: MatchRunner) -> Players:
    """Play the games received and send back the finished ones, until there are other players."""
    while True:
        while not len(runner) or pipe.poll():
            message: Players | Fixture = pipe.recv()
            if isinstance(message, Players):
                return message
            runner.add(message)
        for played in runner.round():
            pipe.send(played)


def portable(error: Exception) -> Exception:
    """An error that can be pickled; an error in settings stays a ValueError, one of the game a BrokenGame."""
    sentence = game_failure(error)
    if sentence is not None or isinstance(error, BrokenGame):
        return BrokenGame(sentence or str(error))
    return ValueError(str(error)) if isinstance(error, ValueError) else RuntimeError(f"{type(error).__name__}: {error}")
