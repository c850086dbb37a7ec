"""``ramify uci``: a chess engine for chess programs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings


def uci(
    network: options.Network = None,
    simulations: Annotated[
        int | None, typer.Option(min=1, help="Most simulations per move.", show_default="no limit but the clock")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Number of search threads.")] = 1,
    set_: options.SearchSettings = None,
    seed: options.Seed = 0,
) -> None:
    """Run a chess engine that speaks UCI, the protocol of chess programs.

    It reads commands from stdin and writes answers to stdout. Enter this
    command line in a chess program such as Cute Chess, Arena, BanksiaGUI or
    En Croissant; its options (network, threads, memory, tablebases and more)
    can be set there. Without --network the engine uses the shipped network for
    chess if there is one, otherwise material; --network material and --network
    rollout choose what to use. To try it by hand, type:

    \b
    position startpos moves e2e4 e7e5
    go movetime 2000
    quit

    docs/protocols.md describes all commands and options.
    """
    from ramify import __version__
    from ramify.protocols.uci import UciEngine, serve
    from ramify.protocols.uci_options import UciSettings

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    try:
        settings = UciSettings(
            network=network or "",
            simulations=simulations or 0,
            threads=threads,
            seed=seed,
            search=parse_settings(set_ or []),
        )
        engine = UciEngine(write, settings, __version__)
    except (ValueError, ImportError, OSError) as error:
        fail(error)
    with open(0, "rb", buffering=0, closefd=False) as source:
        serve(engine, source)
