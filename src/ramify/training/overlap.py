"""Playing and training at once: games come from a process of their own, which takes up every new network.

The two share nothing but the run's folder: shards of games one way, checkpoints the other.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from ramify.games import make as make_game
from ramify.networks import load, network_id
from ramify.selfplay.records import read_shards
from ramify.selfplay.run import Progress, first_game
from ramify.selfplay.run import run as play_games
from ramify.training.checkpoints import checkpoints, network_file
from ramify.training.config import TrainConfig
from ramify.training.run import Training, game_figures, make_evaluator, self_play, speed
from ramify.training.samples import Samples, make_samples
from ramify.training.shelf import Shelf

SHARD_SECONDS = 2.0  # games wait no longer than this before they can be learnt from
LOOK_SECONDS = 0.5  # between two looks for a new network
PATIENCE = 0.02  # seconds to sleep when there is nothing to do
STOP_SECONDS = 30.0  # given to a worker to end by itself
STEPS_AT_ONCE = 20

Lot = tuple[Samples, dict[str, float]]


class Stop(BaseException):
    """Raised inside the worker when it is asked to end."""


def play_worker(config: TrainConfig, folder: Path, device: str, pipe: Connection) -> None:
    """The process that plays. Ends when the other end of the pipe says so, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the trainer decides
    try:
        _play_on(config, folder, torch.device(device), pipe)
    except Stop:
        pass
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")
        raise


def _play_on(config: TrainConfig, folder: Path, device: torch.device, pipe: Connection) -> None:
    game = make_game(config.game, **config.params)
    newest = checkpoints(folder / "checkpoints")[-1]
    module = load(network_file(newest), game)
    evaluator = make_evaluator(config, module, device)
    games = self_play(config, game, evaluator, first_game(folder / "games"), None)
    looked = time.perf_counter()

    def show(progress: Progress) -> None:
        nonlocal newest, looked, module
        if pipe.poll():
            raise Stop
        if time.perf_counter() - looked > LOOK_SECONDS:
            looked = time.perf_counter()
            found = checkpoints(folder / "checkpoints")[-1]
            if found != newest:
                newest, module = found, load(network_file(found), game)
                evaluator.load_weights(module)
        pipe.send(progress)

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
    arguments = (training.config, training.folder, str(training.device), there)
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


def load_lot(path: Path, config: TrainConfig, players: int, owners: bool) -> Lot | None:
    """The positions of a shard, made in a process of its own; None for a damaged one, which is reported."""
    games = next((games for _, games in read_shards([path])), None)
    if games is None:
        return None
    game = make_game(config.game, **config.params)
    return make_samples(game, games, config.search, config.targets, players, owners), game_figures(games)


def play_meanwhile(training: Training) -> None:
    """Train on games while they are played, until the run is over."""
    training.recover_games()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(training.config.loop.loaders, context) as loaders, player(training) as (process, pipe):
        try:
            Meanwhile(training, process, pipe, loaders).run()
        finally:
            loaders.shutdown(wait=False, cancel_futures=True)


class Meanwhile:
    """The trainer's side: takes in what was played, trains as much as that allows, and hands out networks."""

    def __init__(self, training: Training, process: Any, pipe: Connection, loaders: ProcessPoolExecutor) -> None:
        self.training, self.process, self.pipe, self.loaders = training, process, pipe, loaders
        self.shelf = Shelf(training.games_folder)
        self.waiting: list[Future[Lot | None]] = []
        self.lots: list[dict[str, float]] = []  # figures of the games since the last checkpoint
        self.new = 0  # positions since the last checkpoint
        self.kept = time.perf_counter()
        self.games = 0.0

    def run(self) -> None:
        training, loop = self.training, self.training.config.loop
        training.show(phase="playing and training")
        while not training.out_of_time and self.games < loop.iterations * loop.games:
            self.look_at_player()
            self.take_in()
            if self.behind():
                for _ in range(STEPS_AT_ONCE):
                    training.train_step(self.games / (loop.iterations * loop.games))
            else:
                time.sleep(PATIENCE)
            if time.perf_counter() - self.kept > loop.checkpoint_seconds and self.new:
                self.keep()
        if self.new:
            self.keep()

    def behind(self) -> bool:
        """Whether the positions there are allow for more steps."""
        training, loop = self.training, self.training.config.loop
        return training.replay.total > 0 and training.learner.steps * loop.batch < loop.reuse * training.replay.total

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
        for path in self.shelf.unread():
            arguments = (path, training.config, training.players, training.owners)
            self.waiting.append(self.loaders.submit(load_lot, *arguments))
        while self.waiting and self.waiting[0].done():
            lot = self.waiting.pop(0).result()
            if lot is None:
                continue
            samples, figures = lot
            training.replay.add(samples)
            if not self.new and len(samples):
                training.judge(len(samples))
            self.new += len(samples)
            self.lots.append(figures)
            self.games += figures["games"]

    def keep(self) -> None:
        """A checkpoint, with figures of the time since the last one."""
        games = sum(lot["games"] for lot in self.lots)
        means = {
            name: sum(lot[name] * lot["games"] for lot in self.lots) / games
            for name in ("game_length", "draws", "first_wins")
        }
        self.training.end_iteration({"games": games, **means})
        self.lots, self.new, self.kept = [], 0, time.perf_counter()
