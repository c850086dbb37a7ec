"""The model of throughput on a cluster against runs that train on two nodes on this machine, by the wall.

On a machine with other work a process gets a core only for a part of the time in which it could use one. That part is
measured: for processes that play, which always could, by their CPU time; for the trainer, which may have nothing to do,
by the system's account of how long its thread runs and waits to run. The speeds of the model are those of an idle
machine times that part. Constants are measured in other runs than the one that they are compared with, except for the
numbers of positions and of evaluations per game, which change with the network.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.cluster_scaling import Constants, measure_actors, model, simulate

PLAYING, TRAINING, BOTH = 4.0, 128.0, 48.0  # replay ratios: limited by self-play, by the learner; the one compared
WORKING = 0.1  # of the time of a process that a thread needs, to count as one that works
WARM_GAMES = 400  # of both nodes together, before the measurement
WARM_SECONDS = 30.0  # then until self-play has had to wait once, at most


Account = tuple[int, int]  # nanoseconds in which a thread ran, and in which it waited for a core


@dataclass
class Snapshot:
    """Counters of a run at one time."""

    wall: float
    trainer_cpu: float
    trainer: dict[str, Account]
    players_cpu: float
    evaluations: int
    games: int
    steps: int
    consumed: tuple[int, int]  # games and positions


def accounts() -> dict[str, Account]:
    """The accounts of all threads of this process, by their files."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        ran, waited, _ = map(int, path.read_text().split())
        found[str(path)] = ran, waited
    return found


def part(before: dict[str, Account], after: dict[str, Account]) -> float:
    """The part of the time in which threads had a core when they could use one.

    Threads that do little, such as those for messages, wait for a core as long as others each time they have something
    to do, and would count for much more than their work: they are left out.
    """
    spent = {
        name: (ran - before[name][0], waited - before[name][1])
        for name, (ran, waited) in after.items()
        if name in before
    }
    total = sum(ran for ran, _ in spent.values())
    working = [one for one in spent.values() if one[0] >= WORKING * total]
    ran, waited = (sum(one[place] for one in working) for place in (0, 1))
    return ran / max(ran + waited, 1)


class Measured:
    """A run that trains, of which some seconds are measured."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.players: Any = None
        self.warm: float | None = None
        self.first: Snapshot | None = None
        self.last: Snapshot | None = None
        self.reports: list[bool] = []  # whether a process waited, once a second
        self.evaluated: dict[int, list[int]] = {}  # by worker: evaluations of each of its SelfPlays

    def watch(self, players: Any) -> None:
        """Be told what the processes report."""
        from ramify.training.node_player import Report

        self.players, receive = players, players._receive

        def received(worker: Any, message: Any) -> None:
            if isinstance(message, Report):
                self.count(worker.number, message)
            receive(worker, message)

        players._receive = received

    def count(self, worker: int, report: Any) -> None:
        """Count evaluations, and reports of processes that wait."""
        if self.first is not None:
            self.reports.append(report.waiting)
        if report.progress is not None:
            parts = self.evaluated.setdefault(worker, [0])
            if report.progress.evaluations < parts[-1]:
                parts.append(0)
            parts[-1] = report.progress.evaluations

    def show(self, status: Any) -> None:
        """Called by the trainer now and then; ends the run."""
        players = self.players
        if players is None or len(players.workers.alive) < 2:
            return
        now = time.perf_counter()
        if self.warm is None and players.leases.finished >= WARM_GAMES and status.step > 20:
            self.warm = now
        elif self.first is None and self.warm is not None and (players.paused or now - self.warm > WARM_SECONDS):
            self.first = self.snapshot()
        elif self.first is not None and now - self.first.wall > self.seconds:
            self.last = self.snapshot()
            raise KeyboardInterrupt

    def snapshot(self) -> Snapshot:
        training = self.players.training
        return Snapshot(
            time.perf_counter(),
            time.process_time(),
            accounts(),
            sum(known.report.cpu_seconds for known in self.players.figures.values() if known.report),
            sum(map(sum, self.evaluated.values())),
            self.players.leases.finished,
            training.learner.steps,
            (training.consumed.games, training.consumed.positions),
        )


def trained(ratio: float, seconds: float) -> dict[str, float]:
    """Train on two nodes; what was measured, per second by the wall."""
    from ramify.training import cluster_play, load_config, train
    from tools.cluster_proof import two_nodes

    measured, real = Measured(seconds), cluster_play.ClusterPlayers.__init__

    def begin(players: Any, training: Any) -> None:
        real(players, training)
        measured.watch(players)

    cluster_play.ClusterPlayers.__init__ = begin  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as name, two_nodes():
            cluster = {"address": "auto", "actors": 2, "parallel_games": 128, "scratch": name}
            loop = {"rollout_iterations": 0, "iterations": 1000, "parallel_games": 128, "threads": 1, "device": "cpu"}
            loop |= {"replay_ratio": ratio, "max_seconds": None}
            changes: dict[str, Any] = {f"cluster.{key}": value for key, value in cluster.items()}
            changes |= {f"loop.{key}": value for key, value in loop.items()}
            try:
                train(load_config("hex-5", changes), Path(name) / "run", show=measured.show)
            except KeyboardInterrupt:
                if measured.last is None:
                    raise
    finally:
        cluster_play.ClusterPlayers.__init__ = real  # type: ignore[method-assign]
    first, last = measured.first, measured.last
    assert first is not None
    assert last is not None
    wall = last.wall - first.wall
    games, positions = (after - before for before, after in zip(first.consumed, last.consumed, strict=True))
    waiting, played = sum(measured.reports) / max(len(measured.reports), 1), last.players_cpu - first.players_cpu
    steps, evaluations = (last.steps - first.steps) / wall, last.evaluations - first.evaluations
    return {
        "ratio": ratio,
        "wall": wall,
        "games_per_s": steps * Constants().batch / (ratio * positions / max(games, 1)),  # trained on
        "played_per_s": (last.games - first.games) / wall,
        "steps_per_s": steps,
        "positions": positions / max(games, 1),
        "waiting": waiting,
        "trainer_cpu_per_s": (last.trainer_cpu - first.trainer_cpu) / wall,
        "trainer_part": part(first.trainer, last.trainer),
        "players_part": played / (2 * wall * (1 - waiting)),
        "games_per_cpu_s": (last.games - first.games) / played,
        "evaluations_per_cpu_s": evaluations / played,
        "game_evaluations": evaluations / max(last.games - first.games, 1),
    }


def with_other_work(constants: Constants, found: dict[str, float]) -> Constants:
    """The constants by the wall, where processes get a core for a part of the time only."""
    own = found["trainer_part"]
    return replace(
        constants,
        evaluations=constants.evaluations * found["players_part"],
        game_evaluations=found["game_evaluations"],
        look=constants.look / own,
        worker=constants.worker / own,
        step=constants.step / own,
        take=constants.take / own,
        positions=found["positions"],
        replay_ratio=found["ratio"],
    )


def learner_seconds(runs: Sequence[dict[str, float]]) -> tuple[float, float]:
    """CPU seconds of a step, and of taking in a game, from two runs with very different numbers of both."""
    messages = Constants().look + 2 * Constants().worker
    (a, b), (c, d) = ((run["steps_per_s"], run["played_per_s"]) for run in runs)
    first, second = (run["trainer_cpu_per_s"] - messages for run in runs)
    return (first * d - second * b) / (a * d - b * c), (a * second - c * first) / (a * d - b * c)


def check(seconds: float) -> list[str]:
    """Lines of a table, and what it was computed from as JSON."""
    alone = measure_actors(1, seconds)
    playing, training, both = (trained(ratio, seconds) for ratio in (PLAYING, TRAINING, BOTH))
    step, take = learner_seconds((playing, training))
    lines = ["| replay ratio | games/s | model | simulation | waiting | simulation | narrowest |"]
    lines.append("|" + "---:|" * 6 + "---|")
    for run in (playing, both, training):
        measured = replace(Constants(), evaluations=alone["evaluations_per_cpu_s"], step=step, take=take)
        constants = with_other_work(measured, run)
        limits, simulated = model(constants, 2, 2), simulate(constants, 2, 2)
        numbers = [run["games_per_s"], limits.games, simulated.games]
        cells = [f"{run['ratio']:g}", *(f"{one:.1f}" for one in numbers)]
        cells += [f"{run['waiting']:.0%}", f"{simulated.waiting:.0%}", limits.narrowest]
        lines.append(f"| {' | '.join(cells)} |")
    found = {"alone": alone, "step": step, "take": take, "runs": [playing, both, training]}
    return [*lines, json.dumps(found)]
