"""Training runs: the state shared by alternating and overlapped training, and ``train``."""

from __future__ import annotations

import functools
import logging
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ramify.base.shipped import shipped_networks
from ramify.cluster.connection import import_ray
from ramify.games import Game
from ramify.games.chance import refuse_learned_model
from ramify.games.ending import CUT_GAMES, refuse_endless
from ramify.networks import GameNetwork, LearnedModel, config_of, load, make, network_id
from ramify.networks.blocks import renormalized
from ramify.networks.config import LearnedConfig
from ramify.networks.devices import choose_device
from ramify.networks.files import weights_path
from ramify.selfplay.journal import recover
from ramify.selfplay.records import GameRecord
from ramify.training.checkpoints import (
    LEARNER,
    checkpoints,
    latest,
    network_file,
    read_newest,
    read_progress,
    write_checkpoint,
)
from ramify.training.claims import claim, refuse_foreign, refuse_other_settings
from ramify.training.config import TrainConfig, WindowConfig
from ramify.training.folder import check_folder, explained, held, refuse_held, wait_for_player
from ramify.training.kinds import check_board, make_learner, make_replay, training_samples
from ramify.training.metrics import Metrics, Sink, read_metrics
from ramify.training.packed import PackedReplay, check_packed_heads
from ramify.training.playing import make_evaluator
from ramify.training.presets import as_yaml, load_config
from ramify.training.processes import terminable, uninterrupted
from ramify.training.reanalyse import reanalyse
from ramify.training.replay import Replay, TrainingBatch
from ramify.training.samples import Samples, check_heads
from ramify.training.shards import Consumed, ShardWatcher, own_shards, shard_number
from ramify.training.sources import check_sources, load_source
from ramify.training.status import Show, Status
from ramify.training.unroll import UnrollReplay
from ramify.training.windows import StagedReplay

logger = logging.getLogger("ramify")

JUDGED = 2048  # newest positions on which a network is evaluated before it is trained on them
PLAYER_SECONDS = 60.0  # time for the self-play process to end after its trainer was killed
FLUSH_STEPS = 50  # steps between two transfers of the losses from the device


class Training:
    """State of a run: network, replay window, metrics and checkpoints. Use ``train`` to run it."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        """Create everything that can fail; the directory is not written to before ``begin``."""
        self.config, self.folder = config, folder
        self._show: Show | None = None
        self.device = choose_device(config.loop.device)
        self.games = config.make_games()  # of stages and variants; the last is the game of the run
        self.game = self.games[-1]
        module = start_network(config, self.game)
        check_boards(config, self.games, module)
        if len(self.games) > 1:  # batches come from one board each
            module = renormalized(module)
        self.players = 2 if module.config.per_player else 1
        self.heads: tuple[str, ...] = module.config.heads
        check_heads(self.game, self.heads, self.players)
        self.learned = isinstance(module, LearnedModel)  # whether the network is searched in place of the rules
        if self.learned:
            for game in self.games:
                refuse_learned_model(game)
        if config.records:
            check_packed_heads(self.heads)
        self.learner = make_learner(module, config, self.device)
        shared = config.window, config.targets, self.device
        self.replay = StagedReplay(self.games, *shared, config.loop.games, self._replay)
        check_sources(config, module)
        self.sources: list[Replay] = []  # in the order of config.sources, once they are loaded
        self.iteration = self.steps_in_iteration = 0
        self.watcher, self.consumed = ShardWatcher(self.games_folder), Consumed()
        self.unreported: dict[str, float] = {}  # with overlap: metrics of the games since the last checkpoint
        self.before = 0.0  # seconds of earlier sessions of this run
        self.started = time.perf_counter()
        self.status = Status(iterations=config.loop.iterations)
        self.judged: dict[str, float] = {}  # metrics on the new positions of this iteration before training on them
        self.rates: dict[str, float] = {}  # how fast its games were played
        self._waiting: list[tuple[int, float, dict[str, torch.Tensor]]] = []
        self.packed: PackedReplay | None = None  # what a run with records learns from, once it is loaded
        plays_here = not (self.overlap or config.records)
        self.evaluator: Any = make_evaluator(config, self.learner.playing, self.device) if plays_here else None

    def begin(self, sinks: tuple[Sink, ...] = (), show: Show | None = None) -> None:
        """Resume the run in the directory, or write the initial checkpoint of a new one."""
        wait_for_player(self.folder, PLAYER_SECONDS)
        claim(self.config, self.folder)
        self._show = show
        counted = self._restore()
        file = self.folder / "metrics.jsonl"
        self.metrics = Metrics(file, sinks, self.learner.steps, self.iteration)
        self.status.history = [
            {name: value for name, value in line.items() if name not in ("kind", "iteration")}
            for line in read_metrics(file, "iteration")
        ]
        if not counted:
            self._count_from_history()
        self.status.iteration, self.status.step = self.iterations_over, self.learner.steps
        if self.learner.steps == 0 and self.iteration == 0 and not self.config.loop.source_steps:
            try:
                self.checkpoint()
            except BaseException:
                self.metrics.close()
                raise

    def learn_sources(self) -> None:
        """Load the sources and train on them alone for ``loop.source_steps`` steps, before the first checkpoint."""
        self._load_sources()
        steps = self.config.loop.source_steps
        if not steps or latest(self.folder / "checkpoints") is not None:
            return
        while self.learner.steps < steps and not self.out_of_time:
            self.train_step(0.0)
            if self.learner.steps % 10 == 0:
                self.show(phase="training on sources", share=self.learner.steps / steps)
        self.flush_steps()
        self.checkpoint()

    # Paths and state.

    @property
    def overlap(self) -> bool:
        """Whether self-play runs in other processes during training."""
        loop = self.config.loop
        if self.config.cluster.address is not None:
            return True
        if loop.overlap is None:
            return self.device.type == "cuda" and not (loop.exact or loop.rollout_iterations or loop.uniform_share)
        return loop.overlap

    @property
    def games_folder(self) -> Path:
        return self.folder / "games"

    @property
    def seconds(self) -> float:
        """Seconds spent on this run, including earlier sessions."""
        return self.before + time.perf_counter() - self.started

    @property
    def out_of_time(self) -> bool:
        limit = self.config.loop.max_seconds
        return limit is not None and self.seconds >= limit

    @property
    def iterations_over(self) -> int:
        """Number of completed iterations of ``loop.games`` games; with overlap these are not the checkpoints."""
        loop = self.config.loop
        return min(loop.iterations, self.consumed.games // loop.games if self.overlap else self.iteration)

    def progress(self, share: float) -> float:
        """The completed fraction of the run: by games, or by time if time is ahead by more than an iteration.

        A run that its time limit does not end is thus the same on a faster and a slower machine.
        """
        loop = self.config.loop
        if loop.max_seconds is None:
            return share
        return min(1.0, max(share, self.seconds / loop.max_seconds - 1 / loop.iterations))

    # Positions.

    def recover_games(self) -> None:
        """Recover unfinished shards, and log a warning if games that were trained on are missing."""
        recover(self.games_folder)
        consumed = self.consumed
        ours = own_shards(self.games_folder)
        if consumed.last_shard is not None:  # later ones were not learnt from yet
            ours = [path for path in ours if shard_number(path) <= consumed.last_shard]
        before, there = consumed.games - consumed.discarded, sum(map(self.watcher.count, ours))
        if there < before:
            logger.warning(
                "%s has only %d of the %d games of this run: training continues without the missing positions",
                self.games_folder,
                there,
                before,
            )

    def samples(self, records: list[GameRecord], stage: int = -1) -> Samples:
        """The training positions of these games of a stage."""
        heads = None if self.learned else self.heads
        return training_samples(self.games[stage], records, self.config.search, self.config, self.players, heads)

    def positions_in(self, record: GameRecord) -> int:
        """Number of training positions of a game; a learned model is trained on every move."""
        return len(record.moves) if self.learned else sum(move.found is not None for move in record.moves)

    def _replay(self, game: Game, window: WindowConfig | None = None) -> Replay:
        """An empty replay window for one board."""
        return make_replay(self.learner.module, game, self.config, self.device, window)

    def reanalyse(self, new: int) -> None:
        """Search some positions of the window again for fresh targets, after ``new`` positions were added."""
        config, stage = self.config, self.replay.stages[-1]
        count = round(config.unroll.reanalyse * new)
        if count < 1 or not isinstance(stage, UnrollReplay):
            return
        if self.evaluator is None:
            self.evaluator = make_evaluator(config, self.learner.playing, self.device)
        self.evaluator.load_weights(self.learner.playing)
        self.show(phase="reanalysing")
        seed = (config.seed, self.learner.steps, 3)
        reanalyse(stage, self.evaluator, count, config.search, config.targets, seed)

    def _load_sources(self) -> None:
        """Load the replay windows of the sources."""
        heads = None if self.learned else self.heads
        for number, source in enumerate(self.config.sources, 1):

            def show(share: float, phase: str = f"loading source {number} of {len(self.config.sources)}") -> None:
                self.show(phase=phase, share=share)

            game, sets = load_source(source.folder, self.config, self.players, heads, show)
            replay = self._replay(game, self.config.window.replace(size=sum(map(len, sets)), growing=False))
            for samples in sets:
                replay.add(samples)
            self.sources.append(replay)

    def draw(self) -> TrainingBatch:
        """Sample the batch of the next step: from one board of the run's own games, chosen by its positions in the
        window, or from a source, chosen by its weight."""
        seed, step = self.config.seed, self.learner.steps
        if self.packed is not None:
            return self.packed.draw(self.config.loop.batch, seed, step)
        weights = np.array([*self.replay.shares, *(source.weight for source in self.config.sources)])
        chosen = int(np.random.default_rng((seed, step, 1)).choice(len(weights), p=weights / weights.sum()))
        replay = [*self.replay.stages, *self.sources][chosen]
        return replay.draw(self.config.loop.batch, (seed, step, 2))

    # Steps and metrics.

    def train_step(self, share: float) -> None:
        """Run one training step at the completed fraction ``share`` of the games; its losses are written later."""
        batch = self.draw()
        progress = self.progress(share)
        self.status.done = progress
        rate = self.learner.rate(progress)
        with uninterrupted():  # a step without its losses would be missing in the metrics of the resumed run
            found = self.learner.learn(batch, progress)
            self._waiting.append((self.learner.steps, rate, found))
            if len(self._waiting) >= FLUSH_STEPS:
                self.flush_steps()

    def flush_steps(self) -> None:
        """Write the losses of the steps since the last flush."""
        if not self._waiting:
            return
        names = list(self._waiting[0][2])
        table = torch.stack(
            [torch.stack([found[name].float() for name in names]) for _, _, found in self._waiting]
        ).cpu()
        for (step, rate, _), row in zip(self._waiting, table.tolist(), strict=True):
            figures = {**dict(zip(names, row, strict=True)), "learning_rate": rate}
            if not all(np.isfinite(row)):
                raise FloatingPointError(
                    f"Training diverged: the loss at step {step} is not finite ({figures}). "
                    "Lower optimizer.learning_rate."
                )
            self.metrics.write("step", step, figures)
            self.metrics.tell("step", step, figures)
        self._waiting.clear()
        self.show(step=self.learner.steps, figures=figures)

    def end_iteration(self, figures: Mapping[str, float], consumed: Consumed) -> None:
        """Write the metrics and the checkpoint of an iteration, undisturbed by Ctrl-C."""
        with uninterrupted():
            self._end_iteration(figures, consumed)

    def _end_iteration(self, figures: Mapping[str, float], consumed: Consumed) -> None:
        self.flush_steps()
        self.iteration += 1
        self.steps_in_iteration, self.consumed, self.unreported = 0, consumed, {}
        made = {"seconds": self.seconds, "step": self.learner.steps, "positions": self.replay.total}
        if len(self.replay):
            made["replay_age"] = self.replay.mean_age
        made |= {**self.judged, **figures, **self.rates}
        self.metrics.write("iteration", self.iteration, made)
        self.status.history.append(dict(made))
        self.checkpoint()
        self.metrics.tell("iteration", self.iteration, made)
        self.show(iteration=self.iterations_over, share=0.0, figures=made)

    def judge(self, rows: int) -> None:
        """Evaluate the network on the newest positions, before it is trained on them."""
        wanted = max(1, min(rows, JUDGED))
        batch = self.replay.newest(wanted) if self.packed is None else self.packed.unseen(wanted)
        self.judged = {f"new_{name}": value for name, value in self.learner.judge(batch).items()}

    def show(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self.status, name, value)
        self.status.seconds = self.seconds
        self.status.done = max(self.status.done, self.progress(0.0))  # time goes on while games are played, too
        if self._show is not None:
            self._show(self.status)

    # Checkpoints.

    def checkpoint(self, partial: bool = False) -> None:
        """Write a checkpoint (``partial``: within an iteration), then delete games that are no longer needed."""
        self.metrics.flush()
        surplus = [] if partial else self._surplus()
        progress = {
            "iteration": self.iteration,
            "steps": self.learner.steps,
            "steps_in_iteration": self.steps_in_iteration,
            "seconds": self.seconds,
            "judged": self.judged,
            "rates": self.rates,
            "overlap": self.overlap,
            "taken": asdict(self.consumed),
            "unreported": self.unreported,
            "network_id": network_id(self.learner.playing),
            **origin(),
        }
        folder = self.folder / ("partial" if partial else "checkpoints")
        write_checkpoint(
            folder,
            self.learner.steps if partial else self.iteration,
            self.learner.playing,
            self.learner.tensors(),
            progress,
            as_yaml(self.config),
            1 if partial else self.config.loop.keep,
        )

        for path in surplus:
            path.unlink(missing_ok=True)

    def _surplus(self) -> list[Path]:
        """Shards beyond ``keep_games`` that no resumable checkpoint needs; counts them as discarded."""
        loop, consumed = self.config.loop, self.consumed
        if loop.keep_games is None or not self.games_folder.is_dir():
            return []
        older = checkpoints(self.folder / "checkpoints")
        resumable = [path for path in older[max(0, len(older) + 1 - loop.keep) :] if (path / LEARNER).exists()]
        found = self.watcher.surplus(min([consumed.needed_from, *map(_needed_from, resumable)]), loop.keep_games)
        new = sum(self.watcher.count(path) for path in found if shard_number(path) >= consumed.discarded_before)
        before = max([consumed.discarded_before, *(shard_number(path) + 1 for path in found)])
        self.consumed = replace(consumed, discarded=consumed.discarded + new, discarded_before=before)
        return found

    def _restore(self) -> bool:
        """Resume from the newest checkpoint, if any; returns whether the consumed games are known."""
        found = read_newest([self.folder / "checkpoints", self.folder / "partial"])
        if found is None:
            return True
        tensors, progress = found
        self.learner.restore(tensors, progress["steps"])
        self.iteration, self.steps_in_iteration = progress["iteration"], progress["steps_in_iteration"]
        self.before, self.judged = progress["seconds"], progress["judged"]
        self.rates = progress.get("rates", {})  # earlier versions did not keep them, nor those below
        self.unreported = progress.get("unreported", {})
        self.consumed = Consumed(**progress.get("taken", {}))
        return "taken" in progress

    def _count_from_history(self) -> None:
        """Estimate the consumed games from the metrics of an earlier version."""
        history = self.status.history
        games = sum(int(line.get("games", 0)) for line in history)
        if self.overlap:  # earlier versions counted games again after a resume
            games = min(games, sum(map(self.watcher.count, own_shards(self.games_folder))))
        self.consumed = Consumed(games, int(max((line.get("positions", 0) for line in history), default=0)))

    def refuse_other_mode(self) -> None:
        """Raise a ValueError if the run in the directory was overlapped and this one would alternate."""
        newest, overlapped = latest(self.folder / "checkpoints"), False
        if newest is not None and int(newest.name):
            with suppress(OSError, ValueError):  # a damaged one is dealt with later
                overlapped = read_progress(newest).get("overlap", False)
        if overlapped and not self.overlap:
            raise ValueError(
                f"the run in {self.folder} was trained with loop.overlap=true and cannot be resumed without it: "
                "set loop.overlap=true, or use another folder"
            )


def _needed_from(checkpoint: Path) -> int:
    """The first shard needed to resume from a checkpoint."""
    try:
        return int(read_progress(checkpoint)["taken"]["needed_from"])
    except (OSError, ValueError, KeyError):
        return 0


def check_boards(config: TrainConfig, games: Sequence[Game], module: GameNetwork) -> None:
    """Raise a ValueError if the network cannot evaluate the positions of a stage of the curriculum or of a variant."""
    names = [f"{part}[{number}]" for part in ("curriculum", "variants") for number in range(len(getattr(config, part)))]
    for name, game in zip(names, games, strict=False):  # the last game is that of the run
        check_board(module, game, name)


def start_network(config: TrainConfig, game: Game) -> GameNetwork:
    """The initial network of a run: a new one, or a saved one."""
    if config.start is None:
        return make(game, config.network, seed=config.seed)
    module, wanted = load(start_file(Path(config.start)), game), config_of(config.network)
    if isinstance(module, LearnedModel) != isinstance(wanted, LearnedConfig):
        raise ValueError(
            f"start: {config.start} is a network of kind {module.config.kind!r}, but the run trains one of kind "
            f"{wanted.kind!r}: a learned model and another network cannot become each other"
        )
    return module


def start_file(path: Path) -> Path:
    """The network file of what ``start`` names: the file itself, a checkpoint, the newest checkpoint of a run, or a
    shipped network."""
    if not path.is_dir():
        shipped = {entry.name: entry.file for entry in shipped_networks()}
        return path if weights_path(path).is_file() else shipped.get(str(path), path)
    newest = path if network_file(path).is_file() else latest(path / "checkpoints")
    if newest is None:
        raise FileNotFoundError(f"start: {path} is neither a training run nor a checkpoint")
    return network_file(newest)


def origin() -> dict[str, str]:
    """Origin of a checkpoint: versions and commit."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        known = version("ramify")
    except PackageNotFoundError:
        known = "unknown"
    return {"ramify": known, "commit": _commit(), "python": platform.python_version(), "torch": torch.__version__}


@functools.cache  # of what runs: asked at every checkpoint, it takes a process each time
def _commit() -> str:
    """The commit of the source tree, if the package runs from one."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "-C", os.fspath(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def prepare(config: TrainConfig | str | os.PathLike[str], folder: str | os.PathLike[str]) -> Training:
    """Validate the config and the directory and create the run; nothing is written yet."""
    if not isinstance(config, TrainConfig | str | os.PathLike):
        raise TypeError(
            "config must be a TrainConfig, the name of a preset or a YAML file, "
            f"not {type(config).__name__}; TrainConfig(**settings) makes one of a dict"
        )
    chosen = config if isinstance(config, TrainConfig) else load_config(Path(config))
    if chosen.cluster.address is not None:
        import_ray()
    place = Path(folder)
    check_folder(place)
    refuse_foreign(place)
    refuse_held(place)
    refuse_other_settings(chosen, place)
    training = Training(chosen, place)
    training.refuse_other_mode()
    if chosen.play.max_moves is None:
        refuse_endless(training.game, CUT_GAMES)
    return training


def go_on(training: Training, sinks: tuple[Sink, ...] = (), show: Show | None = None) -> Path:
    """Train until the end of the run; returns the last checkpoint. The caller holds the lock of the run."""
    from ramify.training.alternate import train_alternating
    from ramify.training.overlap import train_overlapped
    from ramify.training.supervised import train_on_records

    try:
        with terminable():
            training.begin(sinks, show)
            try:
                training.learn_sources()
                if training.config.records:
                    train_on_records(training)
                else:
                    (train_overlapped if training.overlap else train_alternating)(training)
            except KeyboardInterrupt:
                training.flush_steps()
                training.checkpoint(partial=True)
                raise
            finally:
                training.learner.close()
                training.metrics.close()
    except OSError as error:
        explanation = explained(error, training.folder)
        if explanation is error:
            raise
        raise explanation from None
    found = latest(training.folder / "checkpoints")
    assert found is not None
    return found


def train(
    config: TrainConfig | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    sinks: tuple[Sink, ...] = (),
    show: Show | None = None,
) -> Path:
    """Train a network, or resume a stopped run; returns the directory of the last checkpoint.

    Ctrl-C and SIGTERM save and end the run; the same call resumes it. It is an error if the directory has a run with
    other settings (except for the length and the resources in ``loop``), is in use by another process, or has files of
    other programs under the names that a run uses.
    """
    training = prepare(config, folder)
    with held(training.folder):
        return go_on(training, sinks, show)
