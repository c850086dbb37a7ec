"""Throughput of training on N nodes: constants measured here, a model, and a simulation of it.

``python -m tools.cluster_scaling measure`` plays on clusters of one and of two nodes on this machine and prints the
constants as JSON; ``python -m tools.cluster_scaling model`` prints what the model and the simulation say for more
nodes. ``python -m tools.cluster_scaling check`` compares them with runs that train on two nodes, by the wall
(``cluster_check.py``). ``docs/methods/scaling.md`` derives the model.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

STEPS_AT_ONCE = 20  # of the trainer between two looks at its messages
STEP = 0.05  # seconds of a step of the simulation


@dataclass(frozen=True)
class Constants:
    """What throughput depends on. Seconds are those of one CPU, on the machine where they were measured."""

    evaluations: float = 22_000.0  # of positions by the network, of a process per second
    game_evaluations: float = 255.0  # that a game needs: fewer, the better the network plays
    positions: float = 3.3  # recorded per game
    game_bytes: float = 1200.0  # of a game on its way to the trainer
    shard_seconds: float = 2.0  # between two shards of a process
    look: float = 0.018  # of the trainer per second, whatever the number of processes
    worker: float = 0.0011  # of the trainer per second and process: its messages and shards
    step: float = 0.048  # of a training step
    take: float = 1e-3  # of the trainer per game: its rows into the window
    load: float = 320e-6  # of a loader per position
    loaders: int = 2
    batch: int = 256
    replay_ratio: float = 4.0
    backlog_games: float = 384.0
    weights_bytes: float = 280e3
    checkpoint_seconds: float = 20.0
    bandwidth: float = 1e9 / 8  # bytes per second that leave the trainer's machine

    @property
    def games(self) -> float:
        """Games that a process finishes per second."""
        return self.evaluations / self.game_evaluations


@dataclass(frozen=True)
class Limits:
    """Games per second that each part of a run could do by itself."""

    self_play: float
    learner: float
    loaders: float
    network: float

    @property
    def games(self) -> float:
        return min(self.self_play, self.learner, self.loaders, self.network)

    @property
    def narrowest(self) -> str:
        return min(asdict(self), key=lambda name: float(getattr(self, name)))


def model(constants: Constants, processes: int, nodes: int) -> Limits:
    """The throughput of a run is that of its narrowest part."""
    c = constants
    free = max(0.0, 1 - c.look - c.worker * processes)  # of the trainer's time, for training
    per_game = c.positions * c.replay_ratio / c.batch * c.step + c.take  # seconds of training
    left = max(0.0, c.bandwidth - nodes * c.weights_bytes / c.checkpoint_seconds)
    return Limits(
        self_play=c.games * processes,
        learner=free / per_game,
        loaders=c.loaders / (c.load * c.positions),
        network=left / c.game_bytes,
    )


@dataclass(frozen=True)
class Simulated:
    """What a simulated run did."""

    games: float  # per second, trained on
    waiting: float  # share of the time in which processes had to wait
    ratio: float  # how often a position was trained on


def simulate(constants: Constants, processes: int, nodes: int, seconds: float = 600.0) -> Simulated:
    """A run in steps of time: processes play and hand over shards, loaders read them, the trainer looks and trains."""
    c = constants
    in_play = [0.0] * processes  # games finished and not handed over
    due = [c.shard_seconds * (number + 1) / processes for number in range(processes)]
    queued, loaded, sent, arrived, trained = 0.0, 0.0, 0.0, 0.0, 0.0  # games; trained: positions times the ratio
    waiting, debt, paused = 0.0, 0.0, False
    weights, capacity = 0.0, c.bandwidth * STEP
    ticks = round(seconds / STEP)
    for tick in range(ticks):
        now = tick * STEP
        if now % c.checkpoint_seconds < STEP:
            weights += nodes * c.weights_bytes
        behind = arrived - trained / (c.replay_ratio * c.positions)
        paused = behind > (0.75 if paused else 1.0) * c.backlog_games
        for number in range(processes):
            in_play[number] += 0.0 if paused else c.games * STEP
            if now >= due[number]:
                due[number] += c.shard_seconds
                sent += in_play[number]
                in_play[number] = 0.0
        waiting += paused * STEP
        used = min(weights, capacity)
        weights -= used
        moved = min(sent, (capacity - used) / c.game_bytes)
        sent, arrived, queued = sent - moved, arrived + moved, queued + moved
        read = min(queued, c.loaders * STEP / (c.load * c.positions))
        queued, loaded = queued - read, loaded + read
        debt += STEP * (1 - c.look - c.worker * processes) - read * c.take  # time for training
        while debt >= c.step and trained + c.batch <= c.replay_ratio * c.positions * loaded:
            debt -= c.step
            trained += c.batch
        debt = min(debt, STEPS_AT_ONCE * c.step)
    done = trained / (c.replay_ratio * c.positions)
    return Simulated(done / seconds, waiting / seconds, trained / max(loaded * c.positions, 1e-9))


def measure_actors(actors: int, seconds: float) -> dict[str, float]:
    """Play on a cluster of so many nodes with one process each, without training; per process and per second."""
    from ramify.training import cluster_play, load_config
    from ramify.training.run import Training
    from tools.cluster_proof import two_nodes

    with tempfile.TemporaryDirectory() as name, two_nodes():
        cluster = {"address": "auto", "actors": actors, "parallel_games": 128, "backlog": 1e9, "scratch": name}
        loop = {"rollout_iterations": 0, "iterations": 1000, "parallel_games": 128, "threads": 1, "device": "cpu"}
        changes: dict[str, Any] = {f"cluster.{key}": value for key, value in cluster.items()}
        config = load_config("hex-5", {**changes, **{f"loop.{key}": value for key, value in loop.items()}})
        training = Training(config, Path(name) / "run")
        training.begin()
        players = cluster_play.ClusterPlayers(training)

        def state() -> tuple[float, float, float, int, float, int]:
            reports = [known.report for known in players.figures.values() if known.report is not None]
            cpu = sum(report.cpu_seconds for report in reports)
            evaluations = sum(report.progress.evaluations for report in reports if report.progress is not None)
            return time.perf_counter(), time.process_time(), cpu, players.leases.finished, players.bytes, evaluations

        def play(until: float) -> None:
            while time.perf_counter() < until:
                players.look()
                time.sleep(0.02)

        while sum(known.games for known in players.figures.values()) < 100 * actors:
            play(time.perf_counter() + 1)
        first = state()
        play(time.perf_counter() + seconds)
        last = state()
        players.close()
        training.metrics.close()
    wall, trainer, cpu, games, size, evaluations = (after - before for before, after in zip(first, last, strict=True))
    return {
        "actors": actors,
        "games_per_s": games / wall,
        "games_per_cpu_s": games / max(cpu, 1e-9),
        "evaluations_per_cpu_s": evaluations / max(cpu, 1e-9),
        "trainer_cpu_per_s": trainer / wall,
        "bytes_per_game": size / max(games, 1),
    }


def table(constants: Constants, counts: list[int]) -> list[str]:
    lines = ["| processes | self-play | learner | loaders | network | model | simulation | waiting | narrowest |"]
    lines.append("|" + "---:|" * 8 + "---|")
    for count in counts:
        limits, run = model(constants, count, count), simulate(constants, count, count)
        numbers = [limits.self_play, limits.learner, limits.loaders, limits.network, limits.games, run.games]
        cells = [str(count), *(f"{number:,.0f}" for number in numbers), f"{run.waiting:.0%}", limits.narrowest]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "model", "check"])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8, 32, 128, 512])
    parser.add_argument("--set", nargs="*", default=[], help="constants, NAME=VALUE")
    given = parser.parse_args()
    if given.what == "check":
        from tools.cluster_check import check

        print("\n".join(check(given.seconds)))
        return
    if given.what == "measure":
        found = [measure_actors(actors, given.seconds) for actors in (1, 2)]
        per_worker = found[1]["trainer_cpu_per_s"] - found[0]["trainer_cpu_per_s"]
        print(json.dumps({"runs": found, "worker": per_worker, "look": found[0]["trainer_cpu_per_s"] - per_worker}))
        return
    changes = {name: float(value) for name, _, value in (text.partition("=") for text in given.set)}
    print("\n".join(table(replace(Constants(), **changes), given.processes)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
