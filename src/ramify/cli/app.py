"""The commands. Each lives in a module of its own and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from ramify.cli import (
    analyze,
    bench,
    check,
    demo,
    doctor,
    export,
    games,
    gate,
    htp,
    improve,
    inspect,
    json_lines,
    match,
    play,
    pyrat_bot,
    rate,
    ratings,
    records,
    report,
    review,
    selfplay,
    sweep,
    teach,
    tournament,
    train,
    uci,
    watch,
    web,
)
from ramify.cli.common import forget_warnings
from ramify.cli.debug import HELP, OPTION, as_command, show_tracebacks
from ramify.cli.old_spellings import Command, Commands

app = typer.Typer(
    cls=Commands,
    help="Neural-guided search in games.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
FIXED_GAME = (demo.demo, doctor.doctor, htp.htp, pyrat_bot.pyrat_bot, teach.teach, uci.uci)  # they know their game
GROUPS = {
    "Games": (play.play, watch.watch, analyze.analyze, review.review, web.web, games.games, check.check),
    "Training": (
        demo.demo,
        train.train,
        rate.rate,
        report.report,
        selfplay.selfplay,
        teach.teach,
        records.records,
        inspect.inspect,
        export.export,
    ),
    "Strength": (match.match, tournament.tournament, ratings.ratings, gate.gate, sweep.sweep, improve.improve),
    "Other programs, speed, installation": (
        uci.uci,
        htp.htp,
        pyrat_bot.pyrat_bot,
        json_lines.analysis,
        bench.bench,
        doctor.doctor,
    ),
}
for group, commands in GROUPS.items():
    for command in commands:
        name, imports = command.__name__.replace("_", "-"), command not in FIXED_GAME
        app.command(name, cls=Command, rich_help_panel=group)(as_command(command, imports=imports))


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option(OPTION, help=HELP)] = False,
) -> None:
    """Neural-guided search in games."""
    forget_warnings()
    if debug:
        show_tracebacks(True)
    if version:
        from ramify import __version__

        print(f"ramify {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
