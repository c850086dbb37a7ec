"""A training run in a folder: what taking turns and overlapping have in common, and choosing between them."""

from __future__ import annotations

import functools
import logging
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ramify.engine.config import SearchConfig
from ramify.evaluators.network import Network
from ramify.games import Game
from ramify.games import make as make_game
from ramify.networks import GameNetwork, load, make, network_id
from ramify.networks.devices import choose_device
from ramify.selfplay.journal import recover
from ramify.selfplay.play import SelfPlay
from ramify.selfplay.records import GameRecord, read_folder
from ramify.selfplay.run import Progress
from ramify.training.checkpoints import LEARNER, checkpoints, latest, read_newest, read_progress, write_checkpoint
from ramify.training.claims import claim, refuse_foreign, refuse_other_settings
from ramify.training.config import TrainConfig
from ramify.training.folder import explained, held, refuse_held, usable, wait_for_player
from ramify.training.learner import Learner
from ramify.training.metrics import Metrics, Sink, read_metrics
from ramify.training.presets import as_yaml, load_config
from ramify.training.processes import terminable
from ramify.training.replay import Replay, TrainingBatch
from ramify.training.samples import Samples, make_samples
from ramify.training.shards import ShardWatcher, Taken, own_shards, shard_number

logger = logging.getLogger("ramify")

JUDGED = 2048  # newest positions on which a network is judged before it learns from them
PLAYER_SECONDS = 60.0  # given to the process that plays to end after its trainer was killed
FLUSH_STEPS = 50  # steps between two looks at the losses, which lie on the device


@dataclass
class Status:
    """How a run stands, for whoever shows it."""

    phase: str = "starting"
    iteration: int = 0
    iterations: int = 0
    step: int = 0
    share: float = 0.0  # of the phase that is done
    done: float = 0.0  # share of the run that is over
    seconds: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)  # of iterations


Show = Callable[[Status], None]


class Training:
    """One run: its network, positions, figures and checkpoints. ``train`` makes it go."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        """Everything that can be refused is made here; the folder is not touched before ``begin``."""
        self.config, self.folder = config, folder
        self._show: Show | None = None
        self.device = choose_device(config.loop.device)
        self.game = config.make_game()
        module = start_network(config, self.game)
        self.players = 2 if module.config.per_player else 1
        self.owners = "ownership" in module.config.heads
        self.learner = Learner(module, config.optimizer, config.losses, self.device)
        self.replay = Replay(self.game, config.window, config.targets, self.device)
        self.sources = [self._source(source.folder) for source in config.sources]
        self.iteration = self.steps_in_iteration = 0
        self.shelf, self.taken = ShardWatcher(self.games_folder), Taken()
        self.unreported: dict[str, float] = {}  # with overlap: of the games since the last iteration
        self.before = 0.0  # seconds of earlier sessions of this run
        self.started = time.perf_counter()
        self.status = Status(iterations=config.loop.iterations)
        self.judged: dict[str, float] = {}  # of this iteration, before it was trained on
        self.rates: dict[str, float] = {}  # how fast its games were played
        self._waiting: list[tuple[int, float, dict[str, torch.Tensor]]] = []
        self.evaluator: Any = None if self.overlap else make_evaluator(config, self.learner.playing, self.device)

    def begin(self, sinks: tuple[Sink, ...] = (), show: Show | None = None) -> None:
        """Go on with what is in the folder, or write there what a run starts from."""
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
        if self.learner.steps == 0 and self.iteration == 0:
            try:
                self.checkpoint()
            except BaseException:
                self.metrics.close()
                raise

    # Where things are, and what is so.

    @property
    def overlap(self) -> bool:
        """Whether games are played in a process of their own."""
        loop = self.config.loop
        if loop.overlap is None:
            return self.device.type == "cuda" and not loop.exact and not loop.rollout_iterations
        return loop.overlap

    @property
    def games_folder(self) -> Path:
        return self.folder / "games"

    @property
    def seconds(self) -> float:
        """Time this run has taken, earlier sessions included."""
        return self.before + time.perf_counter() - self.started

    @property
    def out_of_time(self) -> bool:
        limit = self.config.loop.max_seconds
        return limit is not None and self.seconds >= limit

    @property
    def iterations_over(self) -> int:
        """How many of the iterations are over, each of ``loop.games`` games: with overlap, checkpoints are not."""
        loop = self.config.loop
        return min(loop.iterations, self.taken.games // loop.games if self.overlap else self.iteration)

    def progress(self, share: float) -> float:
        """The share of the run that is over, by its games or by its time."""
        limit = self.config.loop.max_seconds
        return share if limit is None else min(1.0, max(share, self.seconds / limit))

    # Positions.

    def recover_games(self) -> None:
        """Bring the games on disk in order, and say if some that were learnt from are gone."""
        recover(self.games_folder)
        taken = self.taken
        ours = own_shards(self.games_folder)
        if taken.last_shard is not None:  # later ones were not learnt from yet
            ours = [path for path in ours if shard_number(path) <= taken.last_shard]
        before, there = taken.games - taken.discarded, sum(map(self.shelf.count, ours))
        if there < before:
            logger.warning(
                "%s has %d of the %d games that this run has played: it goes on without the positions of the others",
                self.games_folder,
                there,
                before,
            )

    def samples(self, records: list[GameRecord]) -> Samples:
        """What the network learns from these games."""
        config = self.config
        return make_samples(self.game, records, config.search, config.targets, self.players, self.owners)

    def _source(self, folder: str) -> Replay:
        """The positions of other records, of this game, possibly of another size."""
        lots, game = [], self.game
        for header, records in read_folder(folder):
            if header["game"] != self.config.game:
                raise ValueError(f"the games in {folder} are of {header['game']}, not of {self.config.game}")
            game = make_game(header["game"], **header["params"])
            search = SearchConfig(**header["search"])
            lots.append(make_samples(game, records, search, self.config.targets, self.players, self.owners))
        if not any(map(len, lots)):
            raise ValueError(f"no positions to learn from in {folder}")
        window = self.config.window.replace(size=sum(map(len, lots)), growing=False)
        replay = Replay(game, window, self.config.targets, self.device)
        for lot in lots:
            replay.add(lot)
        return replay

    def draw(self) -> TrainingBatch:
        """The batch of the next step: of the run's own positions or, as often as their weights say, of a source's."""
        seed, step = self.config.seed, self.learner.steps
        weights = np.array([1.0, *(source.weight for source in self.config.sources)])
        chosen = int(np.random.default_rng((seed, step, 1)).choice(len(weights), p=weights / weights.sum()))
        replay = ([self.replay, *self.sources])[chosen]
        return replay.draw(self.config.loop.batch, (seed, step, 2))

    # Steps and figures.

    def train_step(self, share: float) -> None:
        """One step, when so much of the run's games is done; its losses are written down a little later."""
        batch = self.draw()
        progress = self.progress(share)
        self.status.done = progress
        rate = self.learner.rate(progress)
        found = self.learner.learn(batch, progress)
        self._waiting.append((self.learner.steps, rate, found))
        if len(self._waiting) >= FLUSH_STEPS:
            self.flush_steps()

    def flush_steps(self) -> None:
        """Write down the losses of the steps since the last time."""
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
                    f"the loss at step {step} is {figures}: training has come apart; lower the rate"
                )
            self.metrics.write("step", step, figures)
            self.metrics.tell("step", step, figures)
        self._waiting.clear()
        self.show(step=self.learner.steps, figures=figures)

    def end_iteration(self, figures: Mapping[str, float], taken: Taken) -> None:
        """Write down an iteration, after which so much was learnt from, and keep its network."""
        self.flush_steps()
        self.iteration += 1
        self.steps_in_iteration, self.taken, self.unreported = 0, taken, {}
        made = {"seconds": self.seconds, "step": self.learner.steps, "positions": self.replay.total}
        made |= {"replay_age": self.replay.mean_age, **self.judged, **figures, **self.rates}
        self.metrics.write("iteration", self.iteration, made)
        self.status.history.append(dict(made))
        self.checkpoint()
        self.metrics.tell("iteration", self.iteration, made)
        self.show(iteration=self.iterations_over, share=0.0, figures=made)

    def judge(self, rows: int) -> None:
        """See how the network does on the newest positions, before it has learnt from them."""
        batch = self.replay.newest(max(1, min(rows, JUDGED)))
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
        """Keep everything; ``partial``: in the middle of an iteration. Games that nobody needs are deleted after it."""
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
            "taken": asdict(self.taken),
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
        """Shards that ``keep_games`` does not keep and no checkpoint that can be gone on from needs; counts them."""
        loop, taken = self.config.loop, self.taken
        if loop.keep_games is None or not self.games_folder.is_dir():
            return []
        older = checkpoints(self.folder / "checkpoints")
        resumable = [path for path in older[max(0, len(older) + 1 - loop.keep) :] if (path / LEARNER).exists()]
        found = self.shelf.surplus(min([taken.needed_from, *map(_needed_from, resumable)]), loop.keep_games)
        new = sum(self.shelf.count(path) for path in found if shard_number(path) >= taken.discarded_before)
        before = max([taken.discarded_before, *(shard_number(path) + 1 for path in found)])
        self.taken = replace(taken, discarded=taken.discarded + new, discarded_before=before)
        return found

    def _restore(self) -> bool:
        """Go on from the newest checkpoint, if there is one; whether it is known how much was learnt from."""
        found = read_newest([self.folder / "checkpoints", self.folder / "partial"])
        if found is None:
            return True
        tensors, progress = found
        self.learner.restore(tensors, progress["steps"])
        self.iteration, self.steps_in_iteration = progress["iteration"], progress["steps_in_iteration"]
        self.before, self.judged = progress["seconds"], progress["judged"]
        self.rates = progress.get("rates", {})  # earlier versions did not keep them, nor those below
        self.unreported = progress.get("unreported", {})
        self.taken = Taken(**progress.get("taken", {}))
        return "taken" in progress

    def _count_from_history(self) -> None:
        """What was learnt from, as far as the figures of an earlier version tell."""
        history = self.status.history
        games = sum(int(line.get("games", 0)) for line in history)
        if self.overlap:  # earlier versions counted the games of a run that went on again
            games = min(games, sum(map(self.shelf.count, own_shards(self.games_folder))))
        self.taken = Taken(games, int(max((line.get("positions", 0) for line in history), default=0)))

    def refuse_other_mode(self) -> None:
        """Raise a ValueError if the run in the folder has overlapped and this one would take turns."""
        newest, overlapped = latest(self.folder / "checkpoints"), False
        if newest is not None and int(newest.name):
            with suppress(OSError, ValueError):  # a damaged one is dealt with later
                overlapped = read_progress(newest).get("overlap", False)
        if overlapped and not self.overlap:
            raise ValueError(
                f"the run in {self.folder} has played while it trained, so that its checkpoints are not iterations: "
                "go on with loop.overlap=true, or give another folder"
            )


def _needed_from(checkpoint: Path) -> int:
    """The first shard that going on from a checkpoint needs."""
    try:
        return int(read_progress(checkpoint)["taken"]["needed_from"])
    except (OSError, ValueError, KeyError):
        return 0


def start_network(config: TrainConfig, game: Game) -> GameNetwork:
    """The network a run begins with: a fresh one, or a saved one."""
    if config.start is not None:
        return load(config.start, game)
    return make(game, config.network, seed=config.seed)


def make_evaluator(config: TrainConfig, module: GameNetwork, device: torch.device) -> Any:
    """What runs the network in self-play. Batches are large there, for which torch is the faster one on a CPU too."""
    loop = config.loop
    if loop.evaluator == "onnx" or (loop.exact and loop.evaluator == "auto"):
        from ramify.evaluators.onnx import Onnx

        return Onnx(module, threads=loop.threads)
    return Network(module, device, threads=loop.threads, compile=loop.compile and device.type == "cuda")


def rollout_search(config: TrainConfig) -> SearchConfig:
    """The searches of iterations that know nothing but random games: full ones, as many simulations are cheap."""
    return config.search.replace(simulations=config.loop.rollout_simulations, fast_simulations=None, batch=1)


def self_play(
    config: TrainConfig, game: Game, evaluator: Any, first: int, games: int | None, search: SearchConfig | None = None
) -> SelfPlay:
    """The games of a run from a number on."""
    loop = config.loop
    parallel = loop.parallel_games if games is None else min(loop.parallel_games, games)
    fixed = (loop.parallel_games + 1) // 2 * config.search.batch if loop.exact else None
    return SelfPlay(
        game,
        evaluator,
        search or config.search,
        config.play,
        games=games,
        parallel_games=parallel,
        threads=loop.threads,
        seed=config.seed,
        first=first,
        fixed_batches=fixed,
    )


def speed(progress: Progress) -> dict[str, float]:
    """How fast games are played."""
    return {
        "positions_per_s": progress.positions_per_s,
        "evaluations_per_s": progress.evaluations_per_s,
        "evaluator_busy": progress.busy,
    }


def game_figures(games: list[GameRecord]) -> dict[str, float]:
    """What some games were like."""
    count = max(len(games), 1)
    return {
        "games": float(len(games)),
        "game_length": sum(len(game.moves) for game in games) / count,
        "draws": sum(bool(game.returns[0] == game.returns[1]) for game in games) / count,
        "first_wins": sum(bool(game.returns[0] > game.returns[1]) for game in games) / count,
    }


def origin() -> dict[str, str]:
    """Where a checkpoint was made: version, commit, machine."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        known = version("ramify")
    except PackageNotFoundError:
        known = "unknown"
    return {"ramify": known, "commit": _commit(), "python": platform.python_version(), "torch": torch.__version__}


@functools.cache  # of what runs: asked at every checkpoint, it takes a process each time
def _commit() -> str:
    """The commit of the source tree, where the package is one."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "-C", os.fspath(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def prepare(config: TrainConfig | str | os.PathLike[str], folder: str | os.PathLike[str]) -> Training:
    """A run that can begin, or an error that says why it cannot: nothing has been written until then."""
    if not isinstance(config, TrainConfig | str | os.PathLike):
        raise TypeError(
            "config must be a TrainConfig, the name of a preset or a YAML file, "
            f"not {type(config).__name__}; TrainConfig(**settings) makes one of a dict"
        )
    chosen = config if isinstance(config, TrainConfig) else load_config(Path(config))
    place = Path(folder)
    usable(place)
    refuse_foreign(place)
    refuse_held(place)
    refuse_other_settings(chosen, place)
    training = Training(chosen, place)
    training.refuse_other_mode()
    return training


def go_on(training: Training, sinks: tuple[Sink, ...] = (), show: Show | None = None) -> Path:
    """Train until the run is over; the folder of the last checkpoint. The caller holds the run's folder."""
    from ramify.training.alternate import take_turns
    from ramify.training.overlap import play_meanwhile

    try:
        with terminable():
            training.begin(sinks, show)
            try:
                (play_meanwhile if training.overlap else take_turns)(training)
            except KeyboardInterrupt:
                training.flush_steps()
                training.checkpoint(partial=True)
                raise
            finally:
                training.metrics.close()
    except OSError as error:
        told = explained(error, training.folder)
        if told is error:
            raise
        raise told from None
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
    """Train, or go on with a run that was stopped, in a folder; returns the folder of the last checkpoint.

    Ctrl-C and SIGTERM end a run with everything kept: the same call goes on where it was. A folder belongs to one
    config: another one is an error, except for what ``loop`` says of how long and with what. So is one in which a
    process trains now, and one with files of other programs under the names that a run needs.
    """
    training = prepare(config, folder)
    with held(training.folder):
        return go_on(training, sinks, show)
