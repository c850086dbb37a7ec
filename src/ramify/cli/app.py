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
    ratings,
    selfplay,
    tournament,
    train,
    watch,
)

app = typer.Typer(
    help="Neural-guided search in games.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("games")(games.games)
app.command("analyze")(analyze.analyze)
app.command("selfplay")(selfplay.selfplay)
app.command("train")(train.train)
app.command("match")(match.match)
app.command("gate")(gate.gate)
app.command("tournament")(tournament.tournament)
app.command("ratings")(ratings.ratings)
app.command("export")(export.export)
app.command("htp")(htp.htp)
app.command("play")(play.play)
app.add_typer(bench.bench, name="bench")
app.command("demo")(demo.demo)
app.command("watch")(watch.watch)
app.command("doctor")(doctor.doctor)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Neural-guided search in games."""
    if version:
        from ramify import __version__

        print(f"ramify {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
