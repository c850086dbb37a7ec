"""``ramify bench``: the speed of self-play, relative to that of the evaluator alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, print_json, table_console

if TYPE_CHECKING:
    from ramify.engine import SearchConfig
    from ramify.games import Game

CPU_BATCHES = (16, 32, 64, 128, 256)
CUDA_BATCHES = (1024, 2048, 3072, 4096, 6144)


def bench(
    game: options.GameName = "hex",
    param: options.Params = None,
    network: options.NetworkOrSize = "6x64",
    seconds: Annotated[float, typer.Option(min=1, help="Duration of the measurement in seconds.")] = 30,
    simulations: Annotated[int, typer.Option(min=1, help="Number of simulations per move.")] = 200,
    set_: options.SearchSettings = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads. Default: one per core.")] = None,
    parallel_games: Annotated[
        int | None, typer.Option(min=2, help="Number of games played at once. Default: twice the best batch size.")
    ] = None,
    device: options.Device = None,
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile (CUDA only).")] = False,
    json: options.AsJson = False,
) -> None:
    """Measure self-play throughput relative to the evaluator's own speed.

    The evaluator is measured alone at several batch sizes, before and after
    the games. 'ceiling' is the better of the two rates at the best batch size,
    in positions per second. 'ratio' is the number of positions that self-play
    evaluates per second, divided by the ceiling.

    \b
    ramify bench hex -p size=7 --network 6x64 --seconds 30
    """
    import os

    from ramify.cli.selfplay import network_evaluator
    from ramify.engine import SearchConfig
    from ramify.games import make

    cores = threads or len(os.sched_getaffinity(0))
    params, settings = options.read_options(game, param, set_)
    try:
        made = make(game, **params)
        evaluator, _ = network_evaluator(made, network or "6x64", device=device, threads=cores, compile=compile)
        search = {"noise_fraction": 0.25, "simulations": simulations, **settings}
        measured = measure_selfplay(made, evaluator, SearchConfig(**search), cores, parallel_games, seconds)
    except (ValueError, TypeError, ImportError, OSError, RuntimeError, AssertionError) as error:
        fail(error)
    figures = {"game": repr(made), "network": network, "threads": cores, **measured}
    if json:
        print_json(figures)
        return
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in figures.items():
        table.add_row(name, f"{value:,.3f}" if isinstance(value, float) else str(value))
    table_console().print(table)


def measure_selfplay(
    game: Game, evaluator: Any, search: SearchConfig, threads: int, parallel_games: int | None, seconds: float
) -> dict[str, Any]:
    """The speed of the evaluator alone and in self-play, and where the time goes."""
    from ramify.selfplay import PlayConfig, SelfPlay

    on_cuda = getattr(getattr(evaluator, "device", None), "type", "cpu") == "cuda"
    sizes = CUDA_BATCHES if on_cuda else CPU_BATCHES
    alone = {size: ceiling(evaluator, game, size, max(0.5, seconds / 30)) for size in sizes}
    best = max(alone, key=alone.__getitem__)
    parallel_games = parallel_games or 2 * best
    play = SelfPlay(game, evaluator, search, PlayConfig(), parallel_games=parallel_games, threads=threads, seed=0)
    rounds = iter(play)
    spent_until(rounds, seconds / 5)  # games of one age end together; let them mix
    begin, counts, spent = time.perf_counter(), play.counts, play.spent()
    evaluated, batches = play.evaluated, play.batches
    finished = spent_until(rounds, seconds)
    elapsed = time.perf_counter() - begin
    after = play.counts
    rows, passed = play.evaluated - evaluated, play.batches - batches
    again = ceiling(evaluator, game, best, max(0.5, seconds / 15))
    top = max(alone[best], again)
    return {
        "parallel_games": parallel_games,
        "positions_per_s": (after["moves"] - counts["moves"]) / elapsed,
        "games_per_s": finished / elapsed,
        "evaluations_per_s": rows / elapsed,
        "ceiling": top,
        "ceiling_batch": best,
        "ratio": rows / elapsed / top,
        "busy": min(1.0, (play.spent()["busy"] - spent["busy"]) / elapsed),
        "where": {name: (value - spent[name]) / elapsed for name, value in play.spent().items() if name != "busy"},
        "mean_batch": rows / max(1, passed),
        "backend": getattr(evaluator, "backend", None),
        "bytes_per_game": after["bytes"] / max(1, after["active"]),
        "seconds": elapsed,
    }


def spent_until(rounds: Any, seconds: float) -> int:
    """Play for this many seconds; returns the number of games finished."""
    end, finished = time.perf_counter() + seconds, 0
    for records in rounds:
        finished += len(records)
        if time.perf_counter() >= end:
            break
    return finished


def ceiling(evaluator: Any, game: Game, rows: int, seconds: float) -> float:
    """Positions per second of the evaluator alone, with as many batches in flight as in self-play."""
    import numpy as np

    from ramify.engine import Batch
    from ramify.evaluators.pending import submit

    rng = np.random.default_rng(0)
    acting = np.zeros((rows, 2), np.bool_)
    acting[:, 0] = True
    acting[:, 1] = game.simultaneous
    observations = rng.random((rows, *game.observation_shape), np.float32)
    send: Callable[[Batch], Callable[[], Any]]
    if getattr(evaluator, "asynchronous", False):  # as self-play uses it: copies to the device and back, none here
        drawn, observations = observations, evaluator.prepare_arrays({"observations": observations})["observations"]
        observations[:] = drawn
        send = evaluator.submit_raw
    else:

        def send(given: Batch) -> Any:
            return submit(evaluator, given).result

    batch = Batch(observations, np.ones((rows, 2, 0), np.bool_), acting, np.arange(rows, dtype=np.uint64))
    send(batch)()
    done, pending, start = 0, send(batch), time.perf_counter()
    while time.perf_counter() - start < seconds or not done:
        following = send(batch)
        pending()
        pending, done = following, done + 1
    pending()
    return (done + 1) * rows / (time.perf_counter() - start)
