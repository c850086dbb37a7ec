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
    teach,
    tournament,
    train,
    watch,
)
from ramify.cli.common import forget_warnings
from ramify.cli.debug import HELP, OPTION, as_command, show_tracebacks
from ramify.cli.old_spellings import Command

app = typer.Typer(
    help="Neural-guided search in games.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
FIXED_GAME = (
    demo.demo,
    doctor.doctor,
    htp.htp,
    pyrat_bot.pyrat_bot,
    teach.teach,
)  # nothing to import: they know their game
for command in (
    games.games,
    check.check,
    analyze.analyze,
    review.review,
    selfplay.selfplay,
    records.records,
    teach.teach,
    train.train,
    match.match,
    gate.gate,
    tournament.tournament,
    ratings.ratings,
    rate.rate,
    report.report,
    inspect.inspect,
    export.export,
    htp.htp,
    json_lines.analysis,
    pyrat_bot.pyrat_bot,
    play.play,
    demo.demo,
    watch.watch,
    bench.bench,
    doctor.doctor,
):
    app.command(command.__name__.replace("_", "-"), cls=Command)(as_command(command, imports=command not in FIXED_GAME))


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
