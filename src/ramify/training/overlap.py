"""Playing and training at once: games come from a process of their own, which takes up every new network.

The two share nothing but the run's folder: shards of games one way, checkpoints the other.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from ramify.networks import load, network_id
from ramify.selfplay.records import read_shards
from ramify.selfplay.run import Progress, first_game
from ramify.selfplay.run import run as play_games
from ramify.training.checkpoints import checkpoints, network_file
from ramify.training.config import TrainConfig
from ramify.training.folder import PLAYER_LOCK, explained, held
from ramify.training.processes import end_with_parent, start_loader
from ramify.training.run import Training, game_figures, make_evaluator, self_play, speed
from ramify.training.samples import Samples, make_samples
from ramify.training.shards import Taken, in_window, own_shards, shard_number

SHARD_SECONDS = 2.0  # games wait no longer than this before they can be learnt from
LOOK_SECONDS = 0.5  # between two looks for a new network
PATIENCE = 0.02  # seconds to sleep when there is nothing to do
STOP_SECONDS = 30.0  # given to a worker to end by itself
STEPS_AT_ONCE = 20
LOADED_AT_ONCE = 8  # shards that are made into positions ahead of need when a run goes on

ShardSamples = tuple[Samples, dict[str, float]]


class Stop(BaseException):
    """Raised inside the worker when it is asked to end."""


def play_worker(config: TrainConfig, folder: Path, device: str, first: int, pipe: Connection) -> None:
    """The process that plays. Ends when the other end of the pipe says so, or is gone."""
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    end_with_parent(STOP_SECONDS, stop)
    try:
        with held(folder, PLAYER_LOCK, "playing"):
            _play_on(config, folder, torch.device(device), first, pipe, stop)
    except Stop:
        pass
    except OSError as error:  # no fault of the program: a traceback would say nothing more
        told = explained(error, folder)
        with suppress(OSError):  # the trainer may be gone
            pipe.send(f"{type(error).__name__}: {error}" if told is error else str(told))
        sys.exit(1)
    except BaseException as error:
        with suppress(OSError):
            pipe.send(f"{type(error).__name__}: {error}")
        raise


def _play_on(
    config: TrainConfig, folder: Path, device: torch.device, first: int, pipe: Connection, stop: threading.Event
) -> None:
    game = config.make_game()
    newest = checkpoints(folder / "checkpoints")[-1]
    module = load(network_file(newest), game)
    evaluator = make_evaluator(config, module, device)
    games = self_play(config, game, evaluator, max(first, first_game(folder / "games")), None)
    looked = time.perf_counter()

    def show(progress: Progress) -> None:
        nonlocal newest, looked, module
        if stop.is_set() or pipe.poll():
            raise Stop
        if time.perf_counter() - looked > LOOK_SECONDS:
            looked = time.perf_counter()
            found = checkpoints(folder / "checkpoints")[-1]
            if found != newest:
                newest, module = found, load(network_file(found), game)
                evaluator.load_weights(module)
        try:
            pipe.send(progress)
        except OSError:  # nobody is there any more
            raise Stop from None

    play_games(
        games,
        folder / "games",
        games_per_shard=config.loop.games_per_shard,
        shard_seconds=SHARD_SECONDS,
        network=lambda: network_id(module),
        progress=show,
    )


@contextmanager
def player(training: Training) -> Iterator[tuple[Any, Connection]]:
    """The process that plays, while the context lasts."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    arguments = (training.config, training.folder, str(training.device), training.taken.next_game, there)
    process = context.Process(target=play_worker, args=arguments, name="ramify-selfplay", daemon=True)
    process.start()
    there.close()
    try:
        yield process, here
    finally:
        with suppress(OSError):  # it may be gone already
            here.send("stop")
        process.join(STOP_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        here.close()


def load_lot(path: Path, config: TrainConfig, players: int, owners: bool) -> ShardSamples | None:
    """The positions of a shard, made in a process of its own; None for a damaged one, which is reported."""
    games = next((games for _, games in read_shards([path])), None)
    if games is None:
        return None
    game = config.make_game()
    return make_samples(game, games, config.search, config.targets, players, owners), game_figures(games)


def play_meanwhile(training: Training) -> None:
    """Train on games while they are played, until the run is over."""
    training.recover_games()
    training.taken = located(training)  # before games are played: their shards have higher numbers
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(training.config.loop.loaders, context, start_loader)
    with pool as loaders, player(training) as (process, pipe):
        try:
            OverlappedTrainer(training, process, pipe, loaders).run()
        finally:
            loaders.shutdown(wait=False, cancel_futures=True)


class OverlappedTrainer:
    """The trainer's side: takes in what was played, trains as much as that allows, and hands out networks."""

    def __init__(self, training: Training, process: Any, pipe: Connection, loaders: ProcessPoolExecutor) -> None:
        self.training, self.process, self.pipe, self.loaders = training, process, pipe, loaders
        self.waiting: list[tuple[Path, Future[ShardSamples | None]]] = []
        # Figures of the games since the last checkpoint; of an earlier session, as far as it had come.
        self.lots = [training.unreported] if training.unreported else []
        self.window: list[tuple[int, int]] = []  # number and positions of the shards in the window
        self.kept = time.perf_counter()

    def run(self) -> None:
        training, loop = self.training, self.training.config.loop
        planned = loop.iterations * loop.games
        training.show(phase="playing and training", done=training.progress(min(1.0, training.taken.games / planned)))
        self.refill()
        while not training.out_of_time and training.taken.games < planned:
            self.look_at_player()
            self.take_in()
            if self.behind():
                for _ in range(STEPS_AT_ONCE):
                    training.train_step(training.taken.games / planned)
            else:
                time.sleep(PATIENCE)
            if time.perf_counter() - self.kept > loop.checkpoint_seconds:
                self.keep()
        self.keep()

    def refill(self) -> None:
        """Bring back the positions of the window that were learnt from before; their games are counted already."""
        training = self.training
        known, old = training.taken, training.shelf.unread(training.taken.last_shard)
        window, found = training.config.window.positions(known.positions), list[tuple[int, Samples]]()
        newest = reversed(old)
        ahead = [(path, self.load(path)) for path in islice(newest, LOADED_AT_ONCE)]
        while ahead and sum(len(samples) for _, samples in found) < window:
            path, future = ahead.pop(0)
            ahead += [(path, self.load(path)) for path in islice(newest, 1)]
            while not future.done():
                self.look_at_player()
                time.sleep(PATIENCE)
            if (lot := future.result()) is not None:
                found.append((shard_number(path), lot[0]))
        for _, future in ahead:
            future.cancel()
        self.window = [(number, len(samples)) for number, samples in reversed(found)]
        so_far = max(known.positions, sum(count for _, count in self.window))
        so_far -= sum(count for _, count in self.window)
        training.replay.total = so_far
        for _, samples in reversed(found):
            training.replay.add(samples)

    def load(self, path: Path) -> Future[ShardSamples | None]:
        """Make the positions of a shard, in another process."""
        training = self.training
        return self.loaders.submit(load_lot, path, training.config, training.players, training.owners)

    def behind(self) -> bool:
        """Whether the positions there are allow for more steps."""
        training, loop = self.training, self.training.config.loop
        return (
            len(training.replay) > 0 and training.learner.steps * loop.batch < loop.replay_ratio * training.replay.total
        )

    def look_at_player(self) -> None:
        """Hear what the process that plays has to say."""
        while self.pipe.poll():
            try:
                said = self.pipe.recv()
            except EOFError:
                break
            if isinstance(said, str):
                raise RuntimeError(f"self-play has failed: {said}")
            self.training.rates = speed(said)
            self.training.show(figures={**self.training.status.figures, **self.training.rates})
        if not self.process.is_alive():
            raise RuntimeError(f"the process that plays has ended (exit code {self.process.exitcode})")

    def take_in(self) -> None:
        """Add the positions of new shards, in their order."""
        training = self.training
        self.waiting += [(path, self.load(path)) for path in training.shelf.unread()]
        while self.waiting and self.waiting[0][1].done():
            path, future = self.waiting.pop(0)
            lot = future.result()
            if lot is None:
                continue
            samples, figures = lot
            training.replay.add(samples)
            if not self.lots and len(samples):
                training.judge(len(samples))
            self.count(shard_number(path), samples, figures)

    def count(self, shard: int, samples: Samples, figures: dict[str, float]) -> None:
        """Write down that a shard was taken in, all of it at once: a checkpoint may come at any moment."""
        training = self.training
        total = training.replay.total
        window = in_window([*self.window, (shard, len(samples))], training.config.window.positions(total))
        lots = [*self.lots, figures]
        training.taken, training.unreported = (
            replace(
                training.taken,
                games=training.taken.games + int(figures["games"]),
                positions=total,
                next_game=max([training.taken.next_game, *(int(number) + 1 for number in samples.games[-1:])]),
                last_shard=shard,
                needed_from=min(number for number, _ in window),
            ),
            joined(lots),
        )
        self.window, self.lots = window, lots
        training.show(iteration=training.iterations_over)

    def keep(self) -> None:
        """A checkpoint, with figures of the time since the last one, if there is anything new."""
        if not self.lots or not len(self.training.replay):
            return
        figures, self.lots, self.kept = joined(self.lots), [], time.perf_counter()
        self.training.end_iteration(figures, self.training.taken)


def joined(lots: list[dict[str, float]]) -> dict[str, float]:
    """The figures of several lots of games as those of one."""
    games = sum(lot["games"] for lot in lots)
    names = ("game_length", "draws", "first_wins")
    return {"games": games, **{name: sum(lot[name] * lot["games"] for lot in lots) / max(games, 1) for name in names}}


def located(training: Training) -> Taken:
    """What was learnt from, with the last shard of it as the shards on disk are numbered now.

    Checkpoints of earlier versions and of runs in turns do not name that shard: it follows from the number of games.
    After games were deleted by somebody, numbers begin anew.
    """
    taken, there = training.taken, own_shards(training.games_folder)
    if taken.last_shard is not None:
        return replace(taken, last_shard=min(taken.last_shard, max(map(shard_number, there), default=-1)))
    left, last = taken.games - taken.discarded, -1
    for path in there:
        if training.shelf.count(path) > left:
            break
        left, last = left - training.shelf.count(path), shard_number(path)
    games = taken.games if taken.next_game else taken.games - left
    return replace(taken, games=games, last_shard=last)
