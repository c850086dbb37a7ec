"""``ramify check``: check a game for errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings, print_json


def check(
    game: options.GameName,
    param: options.Params = None,
    games: Annotated[int, typer.Option(min=1, help="Number of random games to play.")] = 50,
    seed: options.Seed = 0,
    json: options.AsJson = False,
) -> None:
    """Check a game for errors: play random games and verify every rule of the interface.

    Each problem is shown with the rule, what was seen instead, and how to
    reproduce it from Python. The exit code is 1 if there are problems. The
    function rf.check_game does the same in Python.

    \b
    ramify check my_game --import my_game.py
    ramify check my_game --import my_game.py -p size=5 --games 200
    """
    from ramify.games import check_game, make

    try:
        made = make(game, **parse_settings(param or []))
    except (ValueError, TypeError, ImportError) as error:
        fail(error)
    report = check_game(made, games, seed, raises=False)
    different = {(problem.promise, problem.seen): problem for problem in reversed(report.problems)}  # the first of each
    report = replace(report, problems=tuple(reversed(different.values())))
    if json:
        problems = [{"promise": problem.promise, "seen": problem.seen} for problem in report.problems]
        counts = {"games": report.games, "turns": report.turns, "positions": report.positions}
        print_json({"game": report.game, "ok": report.ok, **counts, "problems": problems, "warnings": report.warnings})
    else:
        print(report)
    if not report.ok:
        raise typer.Exit(1)
