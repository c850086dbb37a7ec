"""``ramify bench``: how fast this machine is, as ratios to what its parts can do alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import fail, parse_settings, print_json, table_console
from ramify.cli.debug import as_command

if TYPE_CHECKING:
    from ramify.engine import SearchConfig
    from ramify.games import Game

bench = typer.Typer(help="Measure this machine.", no_args_is_help=True)

CPU_BATCHES = (16, 32, 64, 128, 256)
CUDA_BATCHES = (1024, 2048, 3072, 4096, 6144)


@bench.callback()
def start() -> None:
    """Measure this machine."""


@bench.command("selfplay")
@as_command
def bench_selfplay(
    game: Annotated[str, typer.Option(help="A game of 'ramify games'.")] = "hex",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the game; may be repeated.")
    ] = None,
    network: Annotated[str, typer.Option(help="A saved or shipped network, or a size such as 6x64.")] = "6x64",
    seconds: Annotated[float, typer.Option(min=1, help="How long to play.")] = 30,
    simulations: Annotated[int, typer.Option(min=1, help="Of every search.")] = 200,
    setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of SearchConfig; may be repeated.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; default: all cores.")] = None,
    parallel_games: Annotated[
        int | None, typer.Option(min=2, help="Games at once; default: twice the best batch.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: what there is.")] = None,
    compile: Annotated[bool, typer.Option("--compile", help="torch.compile, on CUDA.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """How much of the evaluator's own speed self-play reaches.

    The evaluator is first measured alone, at several batch sizes, then again
    after the games: the ceiling is the better of the two at the best size. The
    ratio is what self-play evaluated per second, over that.

    \b
    ramify bench selfplay --game hex --set size=7 --network 6x64 --seconds 30
    """
    import os

    from ramify.cli.selfplay import network_evaluator
    from ramify.engine import SearchConfig
    from ramify.games import make

    cores = threads or len(os.sched_getaffinity(0))
    try:
        made = make(game, **parse_settings(set_ or []))
        evaluator, _ = network_evaluator(made, network, device=device, threads=cores, compile=compile)
        search = {"noise_fraction": 0.25, "simulations": simulations, **parse_settings(setting or [])}
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
    """How fast the evaluator is alone and in self-play, and where the time goes."""
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
        "bytes_per_game": after["bytes"] / max(1, after["active"]),
        "seconds": elapsed,
    }


def spent_until(rounds: Any, seconds: float) -> int:
    """Play on for so long; returns the games finished."""
    end, finished = time.perf_counter() + seconds, 0
    for records in rounds:
        finished += len(records)
        if time.perf_counter() >= end:
            break
    return finished


def ceiling(evaluator: Any, game: Game, rows: int, seconds: float) -> float:
    """Positions per second of the evaluator alone, with batches under way as in self-play."""
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
