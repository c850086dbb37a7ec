"""``ramify htp``: a Hex engine for HexGui and other HTP clients."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings
from ramify.cli.debug import debugging


def htp(
    param: options.Params = None,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help="Number of simulations per move. Default: 1000, or unlimited with --seconds."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Time per move in seconds.")] = None,
    network: options.Network = None,
    seed: options.Seed = 0,
) -> None:
    """Run a Hex engine that speaks HTP, the protocol of HexGui.

    It reads commands from stdin and writes answers to stdout. -p sets the board
    size until the client sends boardsize (-p size=11), and allows the swap move
    (-p swap=true). --network rollout evaluates by random playouts; the default
    is the shipped network for the board size.

    To use it in HexGui, choose Program, New Program and enter this command
    line. The Analyze menu then shows visits, values, priors and the principal
    variation on the board. To try it by hand, type:

    \b
    boardsize 7
    play black d4
    genmove white
    showboard
    ramify-analyze
    list_commands
    quit

    docs/protocols.md describes all commands.
    """
    from ramify import __version__
    from ramify.protocols.gtp import refusals, serve
    from ramify.protocols.htp import SIZES, HtpEngine, HtpSettings

    given = {"size": 11, "swap": False, **parse_settings(param or [])}
    if unknown := given.keys() - {"size", "swap"}:
        fail(f"htp has the parameters size and swap, not {', '.join(sorted(unknown))}")
    if not isinstance(given["size"], int) or given["size"] not in SIZES:
        fail(f"size must be a whole number from {SIZES[0]} to {SIZES[-1]}, not {given['size']!r}")
    limit = simulations if simulations is not None or seconds is not None else HtpSettings().simulations
    try:
        settings = HtpSettings(simulations=limit, seconds=seconds, allow_swap=given["swap"], seed=seed)
        engine = HtpEngine(given["size"], settings, network, __version__)
    except (ValueError, ImportError, OSError) as error:
        fail(error)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    if debugging():
        refusals.addHandler(logging.StreamHandler())
        refusals.setLevel(logging.DEBUG)
    with open(0, "rb", buffering=0, closefd=False) as source:
        serve(engine, source, write)
