"""``ramify bench``: the speed of self-play, searches and matches, relative to that of the evaluator alone."""

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


TREE_THREADS = 4  # more do not make a search of one position faster: docs/results.md
WHAT = ("selfplay", "search", "match")
SHARES = ("ratio", "busy")  # figures that are parts of a whole


def bench(
    what: Annotated[
        str, typer.Argument(help="selfplay, search (one position) or match (two network players).")
    ] = "selfplay",
    game: options.GameName = "hex",
    param: options.Params = None,
    network: options.NetworkOrSize = "6x64",
    seconds: Annotated[float, typer.Option(min=1, help="Duration of the measurement in seconds.")] = 30,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help="Number of simulations per move. Default: 100,000 for search, otherwise 200."),
    ] = None,
    set_: options.SearchSettings = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Number of threads. Default: one per core, for one search at most 4."),
    ] = None,
    parallel_games: Annotated[
        int | None,
        typer.Option(min=2, help="Number of games played at once. Default: twice the best batch size; 64 in a match."),
    ] = None,
    device: options.Device = None,
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile (CUDA only).")] = False,
    json: options.AsJson = False,
) -> None:
    """Measure the speed of self-play, of one search, or of a match, relative to the evaluator's own speed.

    The evaluator is measured alone at several batch sizes. 'ceiling' is its
    rate at the best batch size, in positions per second. 'ratio' is the number
    of positions that are evaluated per second, divided by the ceiling.

    \b
    ramify bench selfplay hex -p size=7 --network 6x64 --seconds 30
    ramify bench search hex -p size=11 --network hex-11 --device cuda
    ramify bench match hex -p size=11 --network hex-11 --device cuda
    """
    import os

    from ramify.cli.selfplay import network_evaluator
    from ramify.engine import SearchConfig
    from ramify.games import make

    if what not in WHAT:  # the game alone: self-play
        refuse_unknown(what)
        what, game = "selfplay", what
    cores = len(os.sched_getaffinity(0))
    cores = threads or (min(cores, TREE_THREADS) if what == "search" else cores)
    params, settings = options.read_options(game, param, set_)
    params = options.with_reward(game, params, network)
    try:
        made = make(game, **params)
        evaluator, _ = network_evaluator(made, network or "6x64", device=device, threads=cores, compile=compile)
        wanted = {"simulations": simulations or (100_000 if what == "search" else 200), **settings}
        if what == "search":
            config = SearchConfig(**{"threads": cores, **wanted})
            measured = measure_search(made, evaluator, config, seconds)
        elif what == "match":
            measured = measure_match(made, evaluator, SearchConfig(**wanted), parallel_games or 64, seconds)
        else:
            config = SearchConfig(**{"noise_fraction": 0.25, **wanted})
            measured = measure_selfplay(made, evaluator, config, cores, parallel_games, seconds)
    except (ValueError, TypeError, ImportError, OSError, RuntimeError, AssertionError) as error:
        fail(error)
    figures = {"game": repr(made), "network": network, "threads": cores, **measured}
    if json:
        print_json(figures)
        return
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in figures.items():
        table.add_row(name, shown(name, value))
    table_console().print(table)


def refuse_unknown(what: str) -> None:
    """End the command at a first word that is neither what to measure nor a game."""
    from ramify.base.hints import did_you_mean
    from ramify.games import families, list_games

    if what not in list_games() and what.partition(":")[0] not in families():
        hint = did_you_mean(what, [*WHAT, *list_games()], "; ")
        fail(f"{what!r} is neither what to measure ({', '.join(WHAT)}) nor a game{hint}")


def shown(name: str, value: Any) -> str:
    """A figure for people: shares as percentages."""
    if isinstance(value, dict):
        return ", ".join(f"{part} {100 * share:.1f} %" for part, share in value.items())
    if name in SHARES:
        return f"{100 * value:.1f} %"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:,.3f}"
    return str(value)


def measure_search(game: Game, evaluator: Any, config: SearchConfig, seconds: float) -> dict[str, Any]:
    """The speed of searches of the initial position, one after another, and where the time goes."""
    from ramify.engine import Searcher

    state = game.initial_state()
    alone, best = fastest_batch(evaluator, game, max(0.2, seconds / 30))
    Searcher(game, evaluator, config).run(state)  # CUDA graphs are captured, memory is touched
    runs, elapsed, evaluated, batches, collisions = 0, 0.0, 0, 0, 0
    where = {"gathering": 0.0, "submitting": 0.0, "waiting": 0.0, "absorbing": 0.0}
    while elapsed < seconds:
        searcher = Searcher(game, evaluator, config, seed=runs)
        start = time.perf_counter()
        result = searcher.run(state)
        elapsed += time.perf_counter() - start
        runs += 1
        evaluated += result.stats["evaluations"]
        collisions += result.stats["collisions"]
        if (pipeline := searcher.pipeline) is not None:
            batches += pipeline.batches
            for name, spent in pipeline.spent().items():
                where[name] = where.get(name, 0.0) + spent
    top = max(alone, ceiling(evaluator, game, best, max(0.2, seconds / 15)))
    return {
        "simulations": config.simulations,
        **against(evaluated / elapsed, top, best),
        "batch": result.stats["batch"],
        "in_flight": result.stats["in_flight"],
        "backend": result.stats["backend"],
        "mean_batch": evaluated / max(1, batches),
        "collisions_per_evaluation": collisions / max(1, evaluated),
        "where": {name: spent / elapsed for name, spent in where.items()},
        "searches": runs,
        "seconds": elapsed,
    }


def measure_match(
    game: Game, evaluator: Any, config: SearchConfig, parallel_games: int, seconds: float
) -> dict[str, Any]:
    """The speed of games between two players that search with this evaluator."""
    from ramify.arena import Fixture, Opening
    from ramify.arena.runner import MatchRunner
    from ramify.arena.search_player import SearchPlayer, SearchPlayerConfig

    settings = SearchPlayerConfig(**config.model_dump(), temperature_moves=10)  # games that differ
    players = {name: SearchPlayer(game, evaluator, settings) for name in ("first", "second")}
    runner = MatchRunner(game, players)
    alone, best = fastest_batch(evaluator, game, max(0.2, seconds / 30))
    number = 0

    def play(duration: float) -> float:
        nonlocal number
        start = time.perf_counter()
        while time.perf_counter() - start < duration:
            while len(runner) < parallel_games:
                names = ("first", "second") if number % 2 else ("second", "first")
                runner.add(Fixture(game.name, game.params, names, Opening(), number))
                number += 1
            runner.round()
        return time.perf_counter() - start

    play(seconds / 5)  # games of one age end together; let them mix
    before = sum(player.evaluations for player in players.values())
    elapsed = play(seconds)
    evaluated = sum(player.evaluations for player in players.values()) - before
    top = max(alone, ceiling(evaluator, game, best, max(0.2, seconds / 15)))
    return {
        "simulations": config.simulations,
        "parallel_games": parallel_games,
        **against(evaluated / elapsed, top, best),
        "games_started": number,
        "seconds": elapsed,
    }


def against(rate: float, top: float, size: int) -> dict[str, Any]:
    """A rate of evaluations beside the evaluator's own, which it reaches at this batch size."""
    return {"evaluations_per_s": rate, "ceiling": top, "ceiling_batch": size, "ratio": rate / top}


def fastest_batch(evaluator: Any, game: Game, seconds: float) -> tuple[float, int]:
    """Positions per second of the evaluator alone at the batch size that is fastest, and that size."""
    on_cuda = getattr(getattr(evaluator, "device", None), "type", "cpu") == "cuda"
    alone = {size: ceiling(evaluator, game, size, seconds) for size in (CUDA_BATCHES if on_cuda else CPU_BATCHES)}
    best = max(alone, key=alone.__getitem__)
    return alone[best], best


def measure_selfplay(
    game: Game, evaluator: Any, search: SearchConfig, threads: int, parallel_games: int | None, seconds: float
) -> dict[str, Any]:
    """The speed of the evaluator alone and in self-play, and where the time goes."""
    from ramify.engine.batching import backend_of
    from ramify.selfplay import PlayConfig, SelfPlay

    alone, best = fastest_batch(evaluator, game, max(0.5, seconds / 30))
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
    top = max(alone, again)
    return {
        "parallel_games": parallel_games,
        "positions_per_s": (after["moves"] - counts["moves"]) / elapsed,
        "games_per_s": finished / elapsed,
        **against(rows / elapsed, top, best),
        "busy": min(1.0, (play.spent()["busy"] - spent["busy"]) / elapsed),
        "where": {name: (value - spent[name]) / elapsed for name, value in play.spent().items() if name != "busy"},
        "mean_batch": rows / max(1, passed),
        "backend": backend_of(evaluator),
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
