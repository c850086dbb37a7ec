"""Every command by name. Each lives in a module of its own and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from ramify.cli import (
    analyze,
    bench,
    demo,
    doctor,
    export,
    games,
    gate,
    htp,
    match,
    play,
    rate,
    ratings,
    report,
    selfplay,
    tournament,
    train,
    watch,
)
from ramify.cli.debug import OPTION, VARIABLE, as_command, show_tracebacks

app = typer.Typer(
    help="Neural-guided search in games.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    games.games,
    analyze.analyze,
    selfplay.selfplay,
    train.train,
    match.match,
    gate.gate,
    tournament.tournament,
    ratings.ratings,
    rate.rate,
    report.report,
    export.export,
    htp.htp,
    play.play,
    demo.demo,
    watch.watch,
    doctor.doctor,
):
    app.command(command.__name__)(as_command(command))
app.add_typer(bench.bench, name="bench")


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    debug: Annotated[bool, typer.Option(OPTION, help=f"Show tracebacks of errors; also {VARIABLE}=1.")] = False,
) -> None:
    """Neural-guided search in games."""
    if debug:
        show_tracebacks(True)
    if version:
        from ramify import __version__

        print(f"ramify {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
