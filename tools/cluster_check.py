"""The model of throughput on a cluster against runs that train on two nodes on this machine, by the wall.

On a machine with other work a process gets a core only for a part of the time in which it could use one. That part is
measured, by the system's own account of how long threads run and wait to run, and the speeds of the model are those of
an idle machine times that part. Constants are measured in other runs than those that are compared, except for the
number of positions per game.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.cluster_scaling import Constants, measure_actors, model, simulate

RATIOS = (4.0, 32.0)  # replay ratios: self-play is the narrowest part, and the learner is
WARM_GAMES = 400  # of both nodes together, before the measurement


@dataclass
class Snapshot:
    """Counters of a run at one time; those of the two processes that play are sums."""

    wall: float
    trainer_cpu: float
    trainer: tuple[int, int]  # nanoseconds in which its threads ran, and in which they waited for a core
    players: tuple[int, int]
    games: int
    steps: int
    consumed: tuple[int, int]  # games and positions


def account(process: int) -> tuple[int, int]:
    """How long the threads of a process ran, and how long they waited for a core."""
    ran = waited = 0
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        one = path.read_text().split()
        ran, waited = ran + int(one[0]), waited + int(one[1])
    return ran, waited


class Measured:
    """A run that trains, of which some seconds are measured."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.players: Any = None
        self.processes: list[int] = []
        self.first: Snapshot | None = None
        self.last: Snapshot | None = None
        self.reports: list[bool] = []  # whether a process waited, once a second

    def watch(self, players: Any) -> None:
        """Be told what the processes report."""
        from ramify.training.node_player import Report

        self.players, receive = players, players._receive

        def received(worker: Any, message: Any) -> None:
            if isinstance(message, Report) and self.first is not None:
                self.reports.append(message.waiting)
            receive(worker, message)

        players._receive = received

    def show(self, status: Any) -> None:
        """Called by the trainer now and then; ends the run."""
        players = self.players
        if players is None or len(players.workers.alive) < 2:
            return
        if self.first is None and players.leases.finished >= WARM_GAMES and status.step > 20:
            import ray

            asked = [worker.actor.__ray_call__.remote(lambda _: os.getpid()) for worker in players.workers.alive]
            self.processes = ray.get(asked)
            self.first = self.snapshot()
        elif self.first is not None and time.perf_counter() - self.first.wall > self.seconds:
            self.last = self.snapshot()
            raise KeyboardInterrupt

    def snapshot(self) -> Snapshot:
        training = self.players.training
        played = [account(process) for process in self.processes]
        return Snapshot(
            time.perf_counter(),
            time.process_time(),
            account(os.getpid()),
            (sum(ran for ran, _ in played), sum(waited for _, waited in played)),
            self.players.leases.finished,
            training.learner.steps,
            (training.consumed.games, training.consumed.positions),
        )


def trained(ratio: float, seconds: float) -> tuple[Measured, dict[str, float]]:
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
    parts = {}
    for name in ("trainer", "players"):
        ran, waited = (b - a for a, b in zip(getattr(first, name), getattr(last, name), strict=True))
        parts[name] = ran / max(ran + waited, 1)
    return measured, {
        "ratio": ratio,
        "wall": wall,
        "games_per_s": (last.games - first.games) / wall,
        "steps_per_s": (last.steps - first.steps) / wall,
        "positions": positions / max(games, 1),
        "waiting": sum(measured.reports) / max(len(measured.reports), 1),
        "trainer_cpu_per_s": (last.trainer_cpu - first.trainer_cpu) / wall,
        "trainer_part": parts["trainer"],
        "players_part": parts["players"],
    }


def with_other_work(constants: Constants, found: dict[str, float]) -> Constants:
    """The constants by the wall, where processes get a core for a part of the time only."""
    own = found["trainer_part"]
    return replace(
        constants,
        games=constants.games * found["players_part"],
        look=constants.look / own,
        worker=constants.worker / own,
        step=constants.step / own,
        positions=found["positions"],
        replay_ratio=found["ratio"],
    )


def check(seconds: float) -> list[str]:
    """Lines of a table, and what it was computed from as JSON."""
    alone = measure_actors(1, seconds)
    plain, narrow = (trained(ratio, seconds)[1] for ratio in RATIOS)
    messages = Constants().look + 2 * Constants().worker
    steps = [(run["trainer_cpu_per_s"] - messages) / run["steps_per_s"] for run in (narrow, plain)]  # each by the other
    lines = ["| replay ratio | games/s | model | simulation | waiting | simulation | narrowest |"]
    lines.append("|" + "---:|" * 6 + "---|")
    for run, step in zip((plain, narrow), steps, strict=True):
        constants = with_other_work(replace(Constants(), games=alone["games_per_cpu_s"], step=step), run)
        limits, simulated = model(constants, 2, 2), simulate(constants, 2, 2)
        numbers = [run["games_per_s"], limits.games, simulated.games]
        cells = [f"{run['ratio']:g}", *(f"{one:.1f}" for one in numbers)]
        cells += [f"{run['waiting']:.0%}", f"{simulated.waiting:.0%}", limits.narrowest]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, json.dumps({"alone": alone, "steps": steps, "runs": [plain, narrow]})]
