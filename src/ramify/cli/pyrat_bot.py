"""``ramify pyrat-bot``: a PyRat bot for other programs, over JSON lines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings


def pyrat_bot(
    seconds: Annotated[
        float | None, typer.Option(help="Time per turn, for turns that do not name their own.", show_default="0.1")
    ] = None,
    simulations: Annotated[
        int | None, typer.Option(min=1, help="Most simulations per turn.", show_default="no limit")
    ] = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    seed: options.Seed = 0,
) -> None:
    """Run a PyRat bot that reads JSON lines from stdin and answers on stdout.

    It searches until the time limit of a turn and always answers in time. A
    line that it does not understand is answered by one line with an error.
    Without --network the search uses plans. To try it, type:

    \b
    {"type": "hello"}
    {"type": "game", "player": 1, "width": 3, "height": 3, "max_turns": 20,
     "walls": [], "mud": [], "cheese": [[1, 1]], "p1": [0, 0], "p2": [2, 2]}
    {"type": "turn", "p1": [0, 0], "p2": [2, 2], "cheese": [[1, 1]],
     "turn": 0, "seconds": 0.5}
    {"type": "quit"}

    with each message on one line. docs/protocols.md describes all messages.
    """
    from ramify import __version__
    from ramify.protocols.pyrat_bot import BotSettings, PyRatBot, serve

    given = {"seconds": seconds, "simulations": simulations, "network": network, "seed": seed}
    try:
        settings = BotSettings(
            search=parse_settings(set_ or []), **{name: value for name, value in given.items() if value is not None}
        )
        bot = PyRatBot(settings, __version__)
        bot.check()
    except (ValueError, ImportError, OSError) as error:
        fail(error)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    serve(bot, sys.stdin.buffer, write)
