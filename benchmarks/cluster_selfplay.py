"""Self-play on a Ray cluster against the same self-play without it: evaluations per second of CPU time, in one run.

Two processes on one machine play at the same time, so that what disturbs the machine disturbs both. One is a worker of
a training run on a cluster, whose trainer only takes in games; its CPU time is counted with that of the worker. The
other one plays into a folder. Both load new weights every few seconds.

Run: ``python -m benchmarks --only cluster_selfplay``
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._measure import row

WARM_SECONDS, SECONDS = 8.0, 40.0
CHECKPOINT_SECONDS = 10.0  # between two versions of the weights
SHARE = 0.95  # of local self-play


def plain_play(link: Any, config: Any, folder: Path, network: bytes) -> None:
    """Self-play without a cluster: the same player, into a folder; only its speed is sent."""
    import torch

    from ramify.selfplay.run import Progress
    from ramify.training.node_player import Report
    from ramify.training.player import Player, Stop
    from ramify.training.playing import self_play

    path = folder / "network.safetensors"
    path.write_bytes(network)

    class Plain(Player):
        def look(self, progress: Progress) -> None:
            if link.poll():
                raise Stop
            if time.monotonic() - self.reported > 1:
                self.reported = time.monotonic()
                link.send(Report(progress, 0, False, time.process_time()))
            if time.monotonic() - self.renewed > CHECKPOINT_SECONDS:
                self.renewed = time.monotonic()
                self.renew(path)

        reported, renewed = 0.0, time.monotonic()

    player = Plain(config, torch.device("cpu"), path)
    with suppress(Stop):
        player.play(self_play(config, player.boards[-1], player.evaluator, 0, None), folder / "games")


class Clock:
    """Evaluations and CPU seconds of a worker since it is warm."""

    def __init__(self) -> None:
        self.first: Any = None
        self.last: Any = None

    def see(self, report: Any) -> None:
        if report is None or report.progress is None or report.progress.seconds < WARM_SECONDS:
            return
        self.first = self.first or report
        self.last = report

    @property
    def seconds(self) -> float:
        return 0.0 if self.first is None else self.last.progress.seconds - self.first.progress.seconds

    @property
    def evaluations(self) -> int:
        return int(self.last.progress.evaluations - self.first.progress.evaluations)

    @property
    def cpu(self) -> float:
        return float(self.last.cpu_seconds - self.first.cpu_seconds)


def measured(folder: Path) -> tuple[Clock, Clock, float, Any]:
    """The clocks of the cluster's worker and of the plain one, the trainer's CPU seconds, and the players."""
    from ramify.cluster import ClusterConfig
    from ramify.selfplay.handover import STOP
    from ramify.training import cluster_play, load_config, network_file
    from ramify.training.checkpoints import checkpoints
    from ramify.training.node_player import Report
    from ramify.training.run import Training

    cluster = {"address": "local", "actors": 1, "parallel_games": 128, "backlog": 1e9, "scratch": str(folder)}
    changes = {f"cluster.{name}": value for name, value in cluster.items()}
    loop = {"rollout_iterations": 0, "iterations": 1000, "parallel_games": 128, "threads": 1, "device": "cpu"}
    config = load_config("hex-5", {**changes, **{f"loop.{name}": value for name, value in loop.items()}})
    training = Training(config, folder / "run")
    training.begin()
    network = network_file(checkpoints(training.folder / "checkpoints")[-1]).read_bytes()
    (folder / "plain").mkdir()
    players = cluster_play.ClusterPlayers(training)
    arguments = (config.replace(cluster=ClusterConfig()), folder / "plain", network)
    plain = cluster_play.Workers(ClusterConfig(actors=1), plain_play, lambda *_: arguments)
    with_cluster, without, trainer, renewed = Clock(), Clock(), 0.0, time.monotonic()
    while with_cluster.seconds < SECONDS or without.seconds < SECONDS:
        if time.monotonic() - renewed > CHECKPOINT_SECONDS:
            renewed = time.monotonic()
            training.iteration += 1
            training.checkpoint()
        begun = time.process_time()
        players.look()
        if with_cluster.first is not None:
            trainer += time.process_time() - begun
        for known in players.figures.values():
            with_cluster.see(known.report)
        for _, message in plain.events():
            without.see(message if isinstance(message, Report) else None)
        time.sleep(0.02)
    players.close()
    for _ in plain.close(STOP, 30.0):
        pass
    training.metrics.close()
    return with_cluster, without, trainer, players


def rows() -> list[dict[str, Any]]:
    """Bytes per game, and the share of local self-play per CPU second; nothing without torch, Ray or a second core."""
    if find_spec("torch") is None or find_spec("ray") is None or len(os.sched_getaffinity(0)) < 2:
        return []
    from ramify.cluster import connected

    with tempfile.TemporaryDirectory() as folder, connected("local", cpus=2):
        on_cluster, without, trainer, players = measured(Path(folder))
    rate = on_cluster.evaluations / (on_cluster.cpu + trainer)
    plain = without.evaluations / without.cpu
    games = players.leases.finished
    return [
        row("hex 5x5, self-play in a process, per CPU second", plain, "evaluations/s"),
        row("hex 5x5, self-play on a Ray cluster, per CPU second", rate, "evaluations/s"),
        row("its share of the former", rate / plain, "", SHARE),
        row("share of its CPU time that the trainer takes in games", trainer / (on_cluster.cpu + trainer), ""),
        row("bytes that a game takes from node to trainer", players.bytes / max(games, 1), "bytes"),
    ]
