"""``ramify analysis``: analyze positions of any game over JSON lines, for other programs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail

SIMULATIONS = 800  # of a query that names no number


def analysis(
    game: Annotated[
        str | None, typer.Argument(help="The game of queries that name none: a name from 'ramify games'.")
    ] = None,
    param: options.Params = None,
    set_: options.SearchSettings = None,
    network: options.Network = None,
    evaluator: options.BestEvaluator = None,
    parallel: Annotated[int, typer.Option(min=1, help="Number of positions searched at once.")] = 2,
    cache: Annotated[int, typer.Option(min=0, help="Size of the evaluation cache in positions; 0 disables it.")] = (
        100_000
    ),
) -> None:
    """Answer queries in JSON, one per line, until the input ends.

    A query names an id, a game, and the actions played or a position; it may set
    simulations, settings of the search, turns to analyze, only some actions, a
    priority, and report_every seconds. Answers come in the order in which
    searches end, errors as lines with "error". Actions: terminate,
    terminate_all, clear_cache, version. docs/protocols.md describes everything.

    \b
    ramify analysis --network hex-7
    {"id": 1, "game": "hex", "params": {"size": 7}, "actions": ["d4", "c5"]}
    {"id": 2, "game": "chess", "position": "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"}
    {"id": 3, "game": "tictactoe", "actions": "b2 a1", "turns": [0, 1, 2]}
    {"id": 4, "action": "terminate", "terminate_id": 1}
    """
    from ramify import __version__
    from ramify.engine import SearchConfig
    from ramify.games import make
    from ramify.protocols.analysis_query import Defaults
    from ramify.protocols.json_analysis import AnalysisServer

    params, settings = options.read_options(game or "", param, set_)
    try:
        if game is not None:
            params = options.with_reward(game, params, network)
            make(game, **params)
        elif params:
            raise ValueError("-p sets parameters of a game: name the game, or give params in the queries")
        SearchConfig(**{"simulations": SIMULATIONS, **settings})
        options.read_evaluator(evaluator)
    except (ValueError, TypeError, ImportError) as error:
        fail(error)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def choose(of: Any) -> Any:
        return options.choose_evaluator(of, network, evaluator)[0]

    defaults = Defaults(game, params, {"simulations": SIMULATIONS, **settings})
    server = AnalysisServer(write, choose, defaults, parallel=parallel, cache=cache, version=__version__)
    with open(0, encoding="utf-8", errors="replace", closefd=False) as source:
        server.serve(source)
