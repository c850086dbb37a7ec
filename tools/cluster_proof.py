"""Train Hex 5x5 on a Ray cluster of two nodes on this machine, undisturbed or with kills, and count.

``python -m tools.cluster_proof FOLDER [--kill] [loop.iterations=7 …]`` trains the preset ``hex-5`` there. With
``--kill`` a self-play process is killed after a quarter of the games, and a whole node after a half. It prints one line
of JSON: games handed over, in the records and counted twice, solved positions found at 200 simulations, and the speed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import ramify as rf
from ramify.cluster.connection import private
from ramify.selfplay.records import read_numbers, shards
from ramify.training import cluster_play, load_config, network_file, read_metrics, train
from tools.hex_solved import solved_share

SIMULATIONS = 200
STARTS = 5  # of a node, at most
NODE = {"include_dashboard": False, "node_ip_address": "127.0.0.1"}


@contextmanager
def two_nodes(cpus: int = 1) -> Iterator[Any]:
    """A cluster of two nodes on this machine that can be reached from it alone, connected to this process."""
    folder = Path(tempfile.mkdtemp(prefix="ramify-", dir="/tmp"))  # paths of sockets are limited
    (folder / "ray").mkdir()
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = str(folder)
    try:
        with private() as ray:
            from ray.cluster_utils import Cluster

            cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, **NODE}))
            try:
                patiently(lambda: cluster.add_node(num_cpus=cpus, **NODE))
                ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
                yield cluster
            finally:
                ray.shutdown()
                cluster.shutdown()
    finally:
        os.environ.pop("RAY_TMPDIR") if before is None else os.environ.update({"RAY_TMPDIR": before})
        shutil.rmtree(folder, ignore_errors=True)


def patiently(start: Callable[[], Any]) -> Any:
    """Start a node; again if it was too slow for Ray, which on a busy machine it may be."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        except Exception as error:  # Ray has no class for it
            if not left or "timed out during startup" not in str(error):
                raise
    raise AssertionError


class Watched:
    """The players of a run, with the games that workers said they had finished, and with kills."""

    def __init__(self, cluster: Any, planned: int, kill: bool) -> None:
        self.cluster, self.handed, self.dropped = cluster, 0, 0
        self.finished: dict[int, list[int]] = {}  # by worker: games of each of its SelfPlays
        self.kills = [(planned // 4, self._kill_process), (planned // 2, self._kill_node)] if kill else []
        self.cpu: dict[int, float] = {}

    def watch(self, players: Any) -> None:
        """See everything that workers send to these players."""
        receive, keep = players._receive, players._keep

        def received(worker: Any, message: Any) -> None:
            if isinstance(message, cluster_play.Report):
                self._count(worker.number, message)
            receive(worker, message)

        def kept(worker: int, shard: Any) -> int:
            new: int = keep(worker, shard)
            self.handed += new
            self.dropped += len(shard.numbers) - new
            if self.kills and self.handed >= self.kills[0][0]:
                self.kills.pop(0)[1](players)
            return new

        players._receive, players._keep = received, kept

    def _count(self, worker: int, report: Any) -> None:
        self.cpu[worker] = report.cpu_seconds
        if report.progress is not None:
            played = self.finished.setdefault(worker, [0])
            if report.progress.games < played[-1]:
                played.append(0)
            played[-1] = report.progress.games

    def _kill_process(self, players: Any) -> None:
        import ray

        here = [worker for worker in players.workers.alive if worker.node.here]
        ray.kill(here[0].actor)

    def _kill_node(self, players: Any) -> None:
        del players
        self.cluster.remove_node(next(iter(self.cluster.worker_nodes)), allow_graceful=False)


def proof(folder: Path, changes: dict[str, Any], kill: bool) -> dict[str, Any]:
    """Train, and count games and solved positions."""
    given = {"cluster.address": "auto", "cluster.actors": 2, "cluster.scratch": str(folder / "scratch")}
    config = load_config("hex-5", {"loop.max_seconds": None, "loop.device": "cpu", **given, **changes})
    planned, started = config.loop.iterations * config.loop.games, time.perf_counter()
    with two_nodes() as cluster:
        watched, real = Watched(cluster, planned, kill), cluster_play.ClusterPlayers.__init__

        def begin(players: Any, training: Any) -> None:
            real(players, training)
            watched.watch(players)

        cluster_play.ClusterPlayers.__init__ = begin  # type: ignore[method-assign]
        try:
            newest = train(config, folder / "run")
        finally:
            cluster_play.ClusterPlayers.__init__ = real  # type: ignore[method-assign]
    seconds = time.perf_counter() - started
    numbers = [number for path in shards(folder / "run" / "games") for number, _ in read_numbers(path)]
    last = list(read_metrics(folder / "run" / "metrics.jsonl", "iteration"))[-1]
    evaluator = rf.evaluators.Network(rf.networks.load(network_file(newest)), torch.device("cpu"))
    right, count = solved_share(evaluator, 5, SIMULATIONS)
    finished = sum(map(sum, watched.finished.values()))
    return {
        "kill": kill,
        "handed_over": watched.handed,
        "in_records": len(numbers),
        "twice_in_records": len(numbers) - len({*numbers}),
        "came_again": watched.dropped,
        "reported_finished": finished,
        "lost": max(0, finished - len(numbers) - watched.dropped),
        "kills_left": len(watched.kills),
        "workers": len(watched.cpu),
        "cpu_seconds": round(sum(watched.cpu.values()), 1),
        "steps": last["step"],
        "positions": last["positions"],
        "bytes_per_game": round(last["bytes_per_game"]),
        "seconds": round(seconds),
        "solved": f"{right}/{count}",
        "solved_share": round(right / count, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", action="store_true", help="kill a process and then a node")
    parser.add_argument("settings", nargs="*", help="settings of the run, KEY=VALUE")
    given = parser.parse_intermixed_args()
    changes = {name: json.loads(value) for name, _, value in (text.partition("=") for text in given.settings)}
    print(json.dumps(proof(given.folder, changes, given.kill)), flush=True)


if __name__ == "__main__":
    main()
