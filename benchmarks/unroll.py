"""Training of learned models: steps per second of the network of the preset muzero-chess.

Batches are random, with about as many legal actions as positions of chess have: nothing is learned here. On a GPU the
steps are measured as they are launched one kernel after another, and as a CUDA graph.

Run: ``python -m benchmarks.unroll --device cuda --batch 512``, or ``python -m benchmarks --only unroll``
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import ramify as rf
from benchmarks._measure import on_each_device, print_rows, row

PRESET = "muzero-chess"
LEGAL = 32  # actions of a position
BATCHES = 4  # that take turns
WARM_UP = 3  # steps
SMALL = {"device": "cpu", "batch": 4, "seconds": 5.0}
LARGE = {"device": "cuda", "batch": 512, "seconds": 10.0}


def measure(device: str, batch: int, seconds: float) -> list[dict[str, Any]]:
    """Steps per second, and on a GPU those with a graph and their ratio."""
    import torch

    from ramify.networks import make
    from ramify.training import UnrollLearner, load_config

    config, where = load_config(PRESET), torch.device(device)
    game = rf.make(config.game)
    module: Any = make(game, config.network)
    label = f"{PRESET} on {device}, batches of {batch:,}, {config.unroll.steps} unroll steps"
    batches = [random_batch(game, batch, config.unroll.steps, seed, where) for seed in range(BATCHES)]
    rates, table = [], []
    for graphs in (False, True) if where.type == "cuda" else (False,):
        learner = UnrollLearner(module, config.optimizer, config.losses, config.unroll, where, graphs)
        rates.append(step_rate(learner, batches, seconds))
        used = "as a CUDA graph" if graphs else "kernel by kernel"
        if graphs and (learner.captured is None or learner.captured.given_up):
            used = "GRAPH NOT USED, kernel by kernel"
        table.append(row(f"{label}, {used}", rates[-1], "steps/s"))
    if len(rates) == 2:
        table.append(row(f"{label}, with the graph against without", rates[1] / rates[0], "times"))
    return table


def step_rate(learner: Any, batches: list[Any], seconds: float) -> float:
    """Training steps per second by the wall."""
    for number in range(WARM_UP):
        learner.learn(batches[number % len(batches)], 0.0)
    synchronize(learner.device)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        found = learner.learn(batches[steps % len(batches)], 0.0)
        steps += 1
        if steps % 20 == 0:
            float(found["total"])  # a queue without an end would be measured only when it is full
    synchronize(learner.device)
    return steps / (time.perf_counter() - start)


def synchronize(device: Any) -> None:
    """Wait until a GPU has done what was launched."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def random_batch(game: Any, rows: int, steps: int, seed: int, device: Any) -> Any:
    """Pieces of games that have the form of real ones."""
    import torch

    from ramify.training import UnrollBatch

    source = torch.Generator().manual_seed(seed)
    places = (rows, steps + 1, 1)
    legal = torch.zeros(*places, game.num_actions, dtype=torch.bool)
    legal.scatter_(3, torch.randint(game.num_actions, (*places, LEGAL), generator=source), True)
    weights = torch.rand(legal.shape, generator=source) * legal
    made = UnrollBatch(
        observations=(torch.rand(rows, *game.observation_shape, generator=source) < 0.1).float(),
        following=torch.zeros(rows, 0, *game.observation_shape),
        actions=torch.randint(game.num_actions, (rows, steps, 1), generator=source),
        rewards=torch.zeros(rows, steps, 1),
        values=torch.rand(places, generator=source) * 2 - 1,
        policies=weights / weights.sum(dim=3, keepdim=True),
        legal=legal,
        groups=torch.zeros(rows * (steps + 1), 1, 0, dtype=torch.int16),
        known=torch.ones(places[:2], dtype=torch.bool),
        real=torch.ones(places[:2], dtype=torch.bool),
        weights=torch.ones(rows),
    )
    return UnrollBatch(**{name: tensor.to(device) for name, tensor in vars(made).items()})


def rows() -> list[dict[str, Any]]:
    """A small case on the CPU, and a large one on a GPU where there is one; nothing without torch."""
    return on_each_device(measure, SMALL, LARGE)


def main() -> None:
    """One case, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    for name, kind in (("batch", int), ("seconds", float)):
        parser.add_argument(f"--{name}", type=kind, default=LARGE[name])
    print_rows(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
