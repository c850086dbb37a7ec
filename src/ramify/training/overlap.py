"""Overlapped self-play and training: games come from a separate process, which loads every new network.

The two processes exchange data only through the run's directory: shards of games and checkpoints.
"""

from __future__ import annotations

import math
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
from typing import Any, Protocol

import torch

from ramify.base.processes import end_with_parent
from ramify.games.failures import game_failure
from ramify.selfplay.records import numbers_in, read_shards
from ramify.selfplay.run import Progress
from ramify.training.checkpoints import checkpoints, network_file
from ramify.training.compact import AnySamples, compacted
from ramify.training.config import TrainConfig
from ramify.training.folder import PLAYER_LOCK, explained, held
from ramify.training.kinds import training_samples
from ramify.training.player import Player, Stop
from ramify.training.playing import game_figures, self_play, speed, stage_of
from ramify.training.processes import start_loader
from ramify.training.run import Training
from ramify.training.shards import Consumed, in_window, own_shards, shard_number

LOOK_SECONDS = 0.5  # seconds between two checks for a new network
PATIENCE = 0.02  # seconds to sleep when there is nothing to do
STOP_SECONDS = 30.0  # time for a worker to end by itself
STEPS_AT_ONCE = 20
LOADED_AT_ONCE = 8  # shards loaded in advance when a run is resumed

STOP = "stop"  # the message that ends the self-play process; a number is a stage of the curriculum

# Positions of a shard, with figures and numbers of its games, and the stage.
ShardSamples = tuple[AnySamples, dict[str, float], list[int], int]


def play_worker(
    config: TrainConfig, folder: Path, device: str, consumed: Consumed, stage: int, pipe: Connection
) -> None:
    """The self-play process. Ends on a message through the pipe, or when its other end is closed."""
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    end_with_parent(STOP_SECONDS, stop)
    try:
        with held(folder, PLAYER_LOCK, "playing"):
            ProcessPlayer(config, folder, torch.device(device), stage, pipe, stop).run(consumed)
    except Stop:
        pass
    except OSError as error:  # not a bug: a traceback would add nothing
        explanation = explained(error, folder)
        with suppress(OSError):  # the trainer may be gone
            pipe.send(f"{type(error).__name__}: {error}" if explanation is error else str(explanation))
        sys.exit(1)
    except BaseException as error:
        sentence = game_failure(error)  # of a game of the user's own: where in it the error is
        with suppress(OSError):
            pipe.send(sentence or f"{type(error).__name__}: {error}")
        if sentence is not None:
            sys.exit(1)
        raise


class ProcessPlayer(Player):
    """Plays games until it is stopped, with the newest network, through the stages of the curriculum and the variants.

    Each stage has its share of the planned games; the trainer names a later one if the run is further by its time.
    """

    def __init__(
        self,
        config: TrainConfig,
        folder: Path,
        device: torch.device,
        stage: int,
        pipe: Connection,
        stop: threading.Event,
    ) -> None:
        self.newest = checkpoints(folder / "checkpoints")[-1]
        super().__init__(config, device, network_file(self.newest))
        self.folder, self.pipe, self.stopped, self.stage = folder, pipe, stop, stage
        self.looked = time.perf_counter()

    def run(self, consumed: Consumed) -> None:
        unfinished, first = games_to_resume(self.folder / "games", consumed)
        while True:
            played = first - len(unfinished)
            left = self._left(played)
            board = self.boards[self.config.board_at(self.stage, played // self.config.loop.games)]
            self.games = self_play(self.config, board, self.evaluator, first, left, unfinished=unfinished)
            self.play(self.games, self.folder / "games")
            # The next stage or variant: the games in play were finished, and what else was unfinished is left for it.
            played = self.games.counts["games"]
            unfinished, first = unfinished[played:], first + max(0, played - len(unfinished))

    def _left(self, played: int) -> int | None:
        """The number of games until the next stage or variant; None if there is none."""
        config, planned = self.config, self.config.loop.iterations * self.config.loop.games
        self.stage = max(self.stage, config.stage_at(played / planned))
        if self.stage == len(config.curriculum):
            return config.loop.games - played % config.loop.games if config.variants else None
        return max(1, math.ceil(config.curriculum[self.stage].until * planned) - played)

    def look(self, progress: Progress) -> None:
        """Send the progress, and look for messages and new networks."""
        while self.pipe.poll():
            if (stage := self._receive()) > self.stage:
                self.stage = stage
                self.games.stop()
        if self.stopped.is_set():
            raise Stop
        if time.perf_counter() - self.looked > LOOK_SECONDS:
            self.looked = time.perf_counter()
            found = checkpoints(self.folder / "checkpoints")[-1]
            if found != self.newest:
                self.newest = found
                self.renew(network_file(found))
        try:
            self.pipe.send(progress)
        except OSError:  # nobody is there any more
            raise Stop from None

    def _receive(self) -> int:
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            raise Stop from None
        if not isinstance(said, int):
            raise Stop
        return said


class Players(Protocol):
    """Whatever plays the games of an overlapped run: a process on this machine, or processes on a cluster."""

    keeps_ratio: bool  # whether it waits when training is behind, so that the replay ratio is that of the config

    def look(self) -> None:
        """Take in what was reported since the last call; a RuntimeError says why self-play failed."""
        ...

    def tell_stage(self, stage: int) -> None:
        """Play the games of this stage of the curriculum from now on."""
        ...


class PlayingProcess:
    """The self-play process as the trainer sees it."""

    keeps_ratio = False

    def __init__(self, training: Training, process: Any, pipe: Connection) -> None:
        self.training, self.process, self.pipe = training, process, pipe

    def look(self) -> None:
        """Read the messages of the process."""
        while self.pipe.poll():
            try:
                said = self.pipe.recv()
            except EOFError:
                break
            if isinstance(said, str):
                raise RuntimeError(f"self-play failed: {said}")
            self.training.rates = speed(said)
            self.training.show(figures={**self.training.status.figures, **self.training.rates})
        if not self.process.is_alive():
            raise RuntimeError(f"the self-play process ended unexpectedly (exit code {self.process.exitcode})")

    def tell_stage(self, stage: int) -> None:
        """Tell the process when a new stage of the curriculum begins."""
        with suppress(OSError):  # whether it has ended is seen elsewhere
            self.pipe.send(stage)


@contextmanager
def player(training: Training) -> Iterator[Players]:
    """The self-play process, running while the context is open."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    stage = stage_now(training)
    arguments = (training.config, training.folder, str(training.device), training.consumed, stage, there)
    process = context.Process(target=play_worker, args=arguments, name="ramify-selfplay", daemon=True)
    process.start()
    there.close()
    try:
        yield PlayingProcess(training, process, here)
    finally:
        with suppress(OSError):  # it may be gone already
            here.send(STOP)
        process.join(STOP_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        here.close()


def load_shard(path: Path, config: TrainConfig, players: int, heads: tuple[str, ...] | None) -> ShardSamples | None:
    """The training positions of a shard; None if it is damaged, which is logged. Runs in a loader process.

    ``heads`` as for ``training_samples``.
    """
    header, games = next(iter(read_shards([path])), (None, []))
    if header is None:
        return None
    boards = config.make_games()
    stage = stage_of(header, boards)
    samples = compacted(training_samples(boards[stage], games, config.search, config, players, heads))
    return samples, game_figures(boards[stage], games), [one.number for one in games], stage


def stage_now(training: Training) -> int:
    """The stage of the curriculum in which games are to be played."""
    loop = training.config.loop
    return training.config.stage_at(training.progress(training.consumed.games / (loop.iterations * loop.games)))


def with_games(consumed: Consumed, numbers: list[int]) -> tuple[int, tuple[int, ...]]:
    """The next game number and the unfinished ones once the games with these numbers are added."""
    known = consumed.next_game or not consumed.games  # else the checkpoint is of a version that did not record it
    start = consumed.next_game if known else min(numbers, default=0)
    next_game = max([start, *(number + 1 for number in numbers)])
    return next_game, tuple(sorted({*consumed.unfinished, *range(start, next_game)} - {*numbers}))


def games_to_resume(folder: Path, consumed: Consumed) -> tuple[list[int], int]:
    """The numbers of games that were in play when the run was stopped, and the next number.

    Long games are the ones in play when a run is stopped. Skipping their numbers would leave too many short games.
    """
    there = {number for number, _ in numbers_in(folder)} if folder.exists() else set[int]()
    next_game, unfinished = with_games(consumed, sorted(there))
    return list(unfinished), next_game


def train_overlapped(training: Training) -> None:
    """Train while games are being played, until the end of the run."""
    training.recover_games()
    training.consumed = located(training)  # before games are played: their shards have higher numbers
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(training.config.loop.loaders, context, start_loader)
    playing = player
    if training.config.cluster.address is not None:
        from ramify.training.cluster_play import cluster_players as playing
    with pool as loaders, playing(training) as players:
        try:
            OverlappedTrainer(training, players, loaders).run()
        finally:
            loaders.shutdown(wait=False, cancel_futures=True)


class OverlappedTrainer:
    """The training process: adds new games to the window, trains at the replay ratio, and writes checkpoints."""

    def __init__(self, training: Training, players: Players, loaders: ProcessPoolExecutor) -> None:
        self.training, self.players, self.loaders = training, players, loaders
        self.waiting: list[tuple[Path, Future[ShardSamples | None]]] = []
        # Metrics of the games since the last checkpoint, including those of an interrupted session.
        self.game_metrics = [training.unreported] if training.unreported else []
        self.window: list[tuple[int, int]] = []  # number and positions of the shards in the window
        self.kept = time.perf_counter()
        self.stage = -1  # that the player was told last
        self.reanalysed = training.consumed.positions  # positions recorded before the last Reanalyse

    def run(self) -> None:
        training, loop = self.training, self.training.config.loop
        planned = loop.iterations * loop.games
        training.show(phase="playing and training", done=training.progress(min(1.0, training.consumed.games / planned)))
        self.refill()
        while not training.out_of_time and training.consumed.games < planned:
            self.players.look()
            self.tell_stage()
            self.take_in()
            if self.behind():
                for _ in range(STEPS_AT_ONCE):
                    training.train_step(training.consumed.games / planned)
                    if not self.behind():
                        break
            else:
                time.sleep(PATIENCE)
            due = time.perf_counter() - self.kept > loop.checkpoint_seconds
            if due and training.consumed.games < planned:  # else the last checkpoint follows, with all steps
                self.keep()
        while self.players.keeps_ratio and self.behind() and not training.out_of_time:
            self.players.look()
            training.train_step(1.0)
        self.keep()

    def refill(self) -> None:
        """Reload the positions of the window when a run is resumed; their games are counted already."""
        training = self.training
        known, old = training.consumed, training.watcher.unread(training.consumed.last_shard)
        window, found = training.config.window.positions(known.positions), list[tuple[int, AnySamples, int]]()
        newest = reversed(old)
        ahead = [(path, self.load(path)) for path in islice(newest, LOADED_AT_ONCE)]
        while ahead and sum(len(samples) for _, samples, _ in found) < window:
            path, future = ahead.pop(0)
            ahead += [(path, self.load(path)) for path in islice(newest, 1)]
            while not future.done():
                self.players.look()
                time.sleep(PATIENCE)
            if (loaded := future.result()) is not None:
                found.append((shard_number(path), loaded[0], loaded[3]))
        for _, future in ahead:
            future.cancel()
        self.window = [(number, len(samples)) for number, samples, _ in reversed(found)]
        so_far = max(known.positions, sum(count for _, count in self.window))
        so_far -= sum(count for _, count in self.window)
        training.replay.total = so_far
        for _, samples, stage in reversed(found):
            training.replay.add(samples, stage=stage)

    def load(self, path: Path) -> Future[ShardSamples | None]:
        """Load the positions of a shard in another process."""
        training = self.training
        heads = None if training.learned else training.heads
        return self.loaders.submit(load_shard, path, training.config, training.players, heads)

    def behind(self) -> bool:
        """Whether the replay ratio allows more steps."""
        training, loop = self.training, self.training.config.loop
        steps = training.learner.steps - loop.source_steps
        return len(training.replay) > 0 and steps * loop.batch < loop.replay_ratio * training.replay.total

    def tell_stage(self) -> None:
        """Tell the players when a new stage of the curriculum begins."""
        stage = stage_now(self.training)
        if stage > self.stage and self.training.config.curriculum:
            self.players.tell_stage(stage)
        self.stage = stage

    def take_in(self) -> None:
        """Add the positions of new shards to the window, in order."""
        training = self.training
        self.waiting += [(path, self.load(path)) for path in training.watcher.unread()]
        while self.waiting and self.waiting[0][1].done():
            path, future = self.waiting.pop(0)
            loaded = future.result()
            if loaded is None:
                continue
            samples, figures, numbers, stage = loaded
            training.replay.add(samples, stage=stage)
            if not self.game_metrics and len(samples):
                training.judge(len(samples))
            self.count(shard_number(path), samples, figures, numbers)

    def count(self, shard: int, samples: AnySamples, figures: dict[str, float], numbers: list[int]) -> None:
        """Count a shard that was added, in one assignment, because a checkpoint may be written at any moment."""
        training = self.training
        total = training.replay.total
        window = in_window([*self.window, (shard, len(samples))], training.config.window.positions(total))
        game_metrics = [*self.game_metrics, figures]
        next_game, unfinished = with_games(training.consumed, numbers)
        training.consumed, training.unreported = (
            replace(
                training.consumed,
                games=training.consumed.games + int(figures["games"]),
                positions=total,
                next_game=next_game,
                unfinished=unfinished,
                last_shard=shard,
                needed_from=min(number for number, _ in window),
            ),
            joined(game_metrics),
        )
        self.window, self.game_metrics = window, game_metrics
        training.show(iteration=training.iterations_over)

    def keep(self) -> None:
        """Write a checkpoint with the metrics since the last one, if there are new games."""
        if not self.game_metrics or not len(self.training.replay):
            return
        figures, self.game_metrics, self.kept = joined(self.game_metrics), [], time.perf_counter()
        self.training.end_iteration(figures, self.training.consumed)
        self.training.reanalyse(self.training.replay.total - self.reanalysed)
        self.reanalysed = self.training.replay.total


def joined(parts: list[dict[str, float]]) -> dict[str, float]:
    """Combine the metrics of several shards."""
    games = sum(part["games"] for part in parts)
    names = [name for name in parts[0] if name != "games" and all(name in part for part in parts)]
    return {
        "games": games,
        **{name: sum(part[name] * part["games"] for part in parts) / max(games, 1) for name in names},
    }


def located(training: Training) -> Consumed:
    """The consumed games, with ``last_shard`` adjusted to the shards on disk.

    Checkpoints of earlier versions and of alternating runs do not name that shard: it follows from the number of games.
    If games were deleted by hand, shard numbers start again.
    """
    consumed, there = training.consumed, own_shards(training.games_folder)
    if consumed.last_shard is not None:
        return replace(consumed, last_shard=min(consumed.last_shard, max(map(shard_number, there), default=-1)))
    left, last = consumed.games - consumed.discarded, -1
    for path in there:
        if training.watcher.count(path) > left:
            break
        left, last = left - training.watcher.count(path), shard_number(path)
    games = consumed.games if consumed.next_game else consumed.games - left
    return replace(consumed, games=games, last_shard=last)
