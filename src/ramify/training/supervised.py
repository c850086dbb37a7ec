"""Training on labelled positions: a run whose records come from folders, without self-play.

The positions are loaded once, packed (``packed.py``), and stay on the device that trains, so that steps never wait for
data. Some games are held out; the metrics on "new" positions are those on them.
"""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path

from ramify.selfplay.records import DamagedShard, shards
from ramify.training.config import TrainConfig
from ramify.training.packed import PackedReplay, PackedRows, joined_rows, shard_rows
from ramify.training.processes import in_processes
from ramify.training.run import Training

HELD_OUT_SHARE, MOST_HELD_OUT = 0.05, 20_000  # of the positions; never trained on

logger = logging.getLogger("ramify")

Loaded = tuple[PackedRows, int] | None


def train_on_records(training: Training) -> None:
    """Train for ``loop.replay_ratio`` epochs, or until the time is over; every iteration ends with a checkpoint."""
    loop = training.config.loop
    training.packed = load_records(training)
    training.replay.total = training.packed.train_rows
    steps = max(1, math.ceil(loop.replay_ratio * training.packed.train_rows / loop.batch))
    if steps < loop.iterations:
        logger.warning(
            "%d positions give only %d training steps with loop.batch=%d and loop.replay_ratio=%g",
            training.packed.train_rows,
            steps,
            loop.batch,
            loop.replay_ratio,
        )
    judged = training.packed.held_out or training.packed.train_rows
    while training.iteration < loop.iterations and not training.out_of_time:
        last = math.ceil(steps * (training.iteration + 1) / loop.iterations)
        began, before = time.perf_counter(), training.learner.steps
        while training.learner.steps < last and not training.out_of_time:
            training.train_step(training.learner.steps / steps)
            training.steps_in_iteration += 1
            if training.steps_in_iteration % 10 == 0:
                training.show(phase="training", share=training.learner.steps / steps)
        training.flush_steps()  # waits for the device
        rows = (training.learner.steps - before) * loop.batch
        training.rates = {"trained_positions_per_s": rows / (time.perf_counter() - began)} if rows else {}
        training.judge(judged)
        training.end_iteration({}, training.consumed)


def load_records(training: Training) -> PackedReplay:
    """All positions of the run's folders, on its device."""
    config = training.config
    paths = [path for folder in config.records for path in record_shards(folder)]
    began, parts, games = time.perf_counter(), list[PackedRows](), 0
    for number, found in enumerate(in_processes(load_rows, [(path, config) for path in paths], config.loop.loaders), 1):
        if found is not None:
            parts.append(found[0])
            games += found[1]
        training.show(phase=f"loading {number} of {len(paths)} shards", share=number / len(paths))
    if not parts:
        raise ValueError(f"records: there are no recorded positions in {', '.join(config.records)}")
    rows = joined_rows(parts)
    seconds = time.perf_counter() - began
    logger.info("loaded %d positions of %d games in %.1f s", len(rows), games, seconds)
    held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(rows)))
    return PackedReplay(training.game, rows, held_out, config.targets.augment, training.device)


def record_shards(folder: str) -> list[Path]:
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"records: there is no folder {folder!r}")
    return shards(folder)


def load_rows(path: Path, config: TrainConfig) -> Loaded:
    """The positions of a shard; None if it has none or is damaged, which is logged. Runs in a loader process."""
    config.make_game()  # after the imports of the run
    try:
        return shard_rows(path, config.game, config.targets)
    except (DamagedShard, OSError) as damage:
        logger.warning("skipped: %s", damage)
        return None
