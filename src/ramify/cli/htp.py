"""``ramify htp``: the Hex program that HexGui and other clients talk to."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from ramify.cli.common import fail
from ramify.cli.debug import debugging


def htp(
    size: Annotated[int, typer.Option(min=2, max=19, help="Rows and columns, until the client asks for others.")] = 11,
    simulations: Annotated[
        int | None, typer.Option(min=1, help="At most so many per move; default 1000, without limit beside --seconds.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="At most so long per move.")] = None,
    network: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME", help="A saved or shipped network, or 'rollout'; default: what is shipped."),
    ] = None,
    swap: Annotated[bool, typer.Option("--swap", help="The second move may be a swap.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same position gets the same answer.")] = 0,
) -> None:
    """Play Hex over HTP, the protocol of HexGui: commands on stdin, answers on stdout.

    In HexGui: Program, New Program, and this command line as its command. The
    menu Analyze then shows visits, values, priors and the expected line of
    play on the board, and has the parameters. Typed by hand:

    \b
    boardsize 7
    play black d4
    genmove white
    showboard
    ramify-analyze
    list_commands
    quit

    docs/protocols.md explains every command.
    """
    from ramify import __version__
    from ramify.protocols.gtp import refusals, serve
    from ramify.protocols.htp import HtpEngine, HtpSettings

    limit = simulations if simulations is not None or seconds is not None else HtpSettings().simulations
    try:
        settings = HtpSettings(simulations=limit, seconds=seconds, allow_swap=swap, seed=seed)
        engine = HtpEngine(size, settings, network, __version__)
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
