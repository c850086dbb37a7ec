"""How many positions networks evaluate in a second, by batch size.

On a CPU: every library that is installed, one thread, CPU time, from observations to an Evaluation. With CUDA also
eager, as graphs, compiled and both, by the wall, once with every copy (two batches under way) and once the network
alone.

Run: ``python -m benchmarks --only network_evaluator``
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import ramify as rf
from benchmarks._measure import best_rate, row
from benchmarks._positions import random_positions

CPU_CASES: tuple[tuple[str, dict[str, Any], str], ...] = (("hex", {"size": 7}, "6x64"),)
CPU_BATCHES = (1, 32, 256)
CUDA_CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("hex", {"size": 11}, "6x64"),
    ("chess", {}, "10x128"),
    ("pyrat", {}, "4x64"),
)
CUDA_BATCHES = (64, 1024, 4096)
CUDA_WAYS: dict[str, dict[str, bool]] = {
    "eager": {"graphs": False},
    "graph": {},
    "compiled": {"compile": True, "graphs": False},
    "compiled, graph": {"compile": True},
}
ROUNDS = 8  # batches in one repetition on CUDA


def positions(game: rf.Game, rows: int) -> rf.Batch:
    """A batch of random positions; some occur several times, which costs a network the same."""
    states = random_positions(game, min(rows, 64), 4)
    legal, acting = np.zeros((rows, 2, game.num_actions), np.bool_), np.zeros((rows, 2), np.bool_)
    observations = np.zeros((rows, *game.observation_shape), np.float32)
    for number in range(rows):
        state = states[number % len(states)]
        for player in state.acting:
            legal[number, player, state.legal_actions(player)] = acting[number, player] = True
        observations[number] = state.observation(0 if 0 in state.acting else 1)
    return rf.Batch(observations, legal, acting, np.arange(rows, dtype=np.uint64))


def label_of(game: rf.Game, size: str) -> str:
    return f"{game.name} {'x'.join(map(str, game.observation_shape[1:]))} with {size}"


def cpu_rows(evaluators: dict[str, Any], label: str, game: rf.Game, batches: Sequence[int]) -> list[dict[str, Any]]:
    """Positions per second of CPU time."""
    table = []
    for rows in batches:
        batch = positions(game, rows)
        for name, evaluator in evaluators.items():
            evaluator.evaluate(batch)

            def work(evaluator: Any = evaluator, batch: rf.Batch = batch) -> tuple[int, object]:
                return len(batch), evaluator.evaluate(batch)

            table.append(row(f"{label}, {name} on CPU, batch {rows}", best_rate(work), "positions/s"))
    return table


def cuda_rows(label: str, game: rf.Game, module: Any) -> list[dict[str, Any]]:
    """Positions per second by the wall, with copies and without."""
    table = []
    for way, settings in CUDA_WAYS.items():
        evaluator = rf.evaluators.Network(module, "cuda", buckets=CUDA_BATCHES, **settings)
        for rows in CUDA_BATCHES:
            batch = positions(game, rows)
            ways = {"": overlapped(evaluator, batch), ", no copies": computed(evaluator, batch)}
            for suffix, work in ways.items():
                work()
                rate = best_rate(work, clock=time.perf_counter)
                table.append(row(f"{label}, {way}{suffix}, batch {rows}", rate, "positions/s"))
    return table


def overlapped(evaluator: Any, batch: rf.Batch) -> Callable[[], tuple[int, object]]:
    """One batch is handed over while another is under way."""

    def work() -> tuple[int, object]:
        before = evaluator.submit(batch)
        for _ in range(ROUNDS - 1):
            after = evaluator.submit(batch)
            before.result()
            before = after
        return ROUNDS * len(batch), before.result()

    return work


def computed(evaluator: Any, batch: rf.Batch) -> Callable[[], tuple[int, object]]:
    """What lies in the device's memory goes through the network again and again."""
    slot = evaluator.runner.slot(batch.observations.shape)

    def work() -> tuple[int, object]:
        for _ in range(ROUNDS):
            slot.compute()
        slot.stream.synchronize()
        return ROUNDS * len(batch), None

    return work


def rows() -> list[dict[str, Any]]:
    """Positions per second, per game, way and batch size; nothing without torch."""
    if find_spec("torch") is None:
        return []
    import torch

    from ramify.evaluators.backends import installed

    table = []
    for name, params, size in CPU_CASES:
        game = rf.make(name, **params)
        module = rf.networks.make(game, size)
        evaluators = {name: rf.evaluators.Network(module, "cpu", backend=name) for name in installed()}
        table += cpu_rows(evaluators, label_of(game, size), game, CPU_BATCHES)
    if torch.cuda.is_available():
        for name, params, size in CUDA_CASES:
            game = rf.make(name, **params)
            table += cuda_rows(label_of(game, size), game, rf.networks.make(game, size))
    return table
