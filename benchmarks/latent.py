"""Latent trees with a board network: evaluations per second in self-play, against the recurrent network alone.

Games of Hex are played with a latent model of 4 blocks and 64 channels (random weights: nothing is learned here). One
half of the trees is searched while the other half is evaluated. The ceiling is the recurrent network at the batch size
of such a half, in the same precision and the same run, on inputs that lie on the device already.

Run: ``python -m benchmarks.latent --device cuda --trees 1024``, or ``python -m benchmarks --only latent``
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import ramify as rf
from benchmarks._measure import on_each_device, print_rows, row
from ramify.selfplay import PlayConfig, SelfPlay

BLOCKS, CHANNELS = 4, 64
SMALL = {"device": "cpu", "size": 7, "trees": 32, "simulations": 25, "seconds": 2.0}
LARGE = {"device": "cuda", "size": 11, "trees": 1024, "simulations": 50, "seconds": 10.0}


def measure(
    device: str, size: int, trees: int, simulations: int, seconds: float, threads: int = 0, compiled: bool = False
) -> list[dict[str, Any]]:
    """Evaluations per second of self-play, of the recurrent network alone, and their ratio."""
    from benchmarks._latent_network import BoardModel

    game = rf.make("hex", size=size)
    model = BoardModel(game, device, BLOCKS, CHANNELS, compiled)
    play = SelfPlay(
        game,
        model,
        rf.SearchConfig(simulations=simulations, c_puct=1.25, noise_fraction=0.25),
        PlayConfig(),
        parallel_games=trees,
        threads=threads or os.cpu_count() or 1,
    )
    rate, shares = played_rate(play, model, 2 * (simulations + 1), seconds)
    ceiling = ceiling_rate(model, (trees + 1) // 2, (size, size, CHANNELS), seconds / 4)
    label = f"Hex {size}x{size}, {BLOCKS}x{CHANNELS} on {device}, {trees:,} trees, {simulations} simulations"
    spent = ", ".join(f"{key} {share:.0%}" for key, share in shares.items())
    return [
        row(f"{label}, latent self-play ({spent})", rate, "evaluations/s"),
        row(f"{label}, the recurrent network alone, batches of {(trees + 1) // 2:,}", ceiling, "evaluations/s"),
        row(f"{label}, latent self-play against the network alone", rate / ceiling, "times"),
    ]


def played_rate(play: SelfPlay, model: Any, warm_up: int, seconds: float) -> tuple[float, dict[str, float]]:
    """Evaluations per second by the wall after ``warm_up`` batches of each half, and the shares of the loop's time."""
    rounds = iter(play)
    for _ in range(warm_up):
        next(rounds)
    model.synchronize()
    start, evaluated, before = time.perf_counter(), play.evaluated, play.spent()
    while time.perf_counter() - start < seconds:
        next(rounds)
    passed = time.perf_counter() - start
    shares = {key: (spent - before[key]) / passed for key, spent in play.spent().items() if key != "busy"}
    return (play.evaluated - evaluated) / passed, shares


def ceiling_rate(model: Any, rows: int, shape: tuple[int, ...], seconds: float) -> float:
    """Rows per second of the recurrent network by the wall."""
    call, calls = model.ceiling(rows, shape), 0
    for _ in range(10):
        call()
    model.synchronize()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            call()
        calls += 20
        model.synchronize()
    return calls * rows / (time.perf_counter() - start)


def rows() -> list[dict[str, Any]]:
    """A small case on the CPU, and a large one on a GPU where there is one; nothing without torch."""
    return on_each_device(measure, SMALL, LARGE)


def main() -> None:
    """One case, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    for name, kind in (("size", int), ("trees", int), ("simulations", int), ("seconds", float)):
        parser.add_argument(f"--{name}", type=kind, default=LARGE[name])
    parser.add_argument("--threads", type=int, default=0, help="threads of the search; 0: one per CPU")
    parser.add_argument("--compile", action="store_true", dest="compiled", help="torch.compile the network")
    print_rows(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
