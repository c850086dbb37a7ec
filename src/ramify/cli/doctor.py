"""``ramify doctor``: check the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, print_json
from ramify.cli.debug import print_traceback

if TYPE_CHECKING:
    from rich.table import Table

# Optional packages: (package as it is installed, extra that brings it, what it is for).
EXTRAS = (
    ("chess", "chess", "state.board in chess, and tests"),
    ("gymnasium", "gym", "the games gym:NAME"),
    ("open_spiel", "openspiel", "the games openspiel:NAME"),
    ("pettingzoo", "pettingzoo", "the games pettingzoo:NAME"),
    ("pgx", "pgx", "the games pgx:NAME"),
    ("torch", "torch", "networks and training"),
    ("safetensors", "torch", "network files"),
    ("openvino", "torch", "networks at full speed on a CPU"),
    ("onnxruntime", "onnx", "networks without torch"),
    ("zstandard", "selfplay", "self-play records"),
    ("pyyaml", "train", "training configs"),
    ("sqlalchemy", "arena", "the store of games and training runs"),
    ("psycopg", "postgres", "the store on a PostgreSQL server"),
    ("optuna", "sweep", "ramify sweep"),
)


def doctor(
    renew: Annotated[
        bool, typer.Option("--renew", help="Measure the speed of networks on this CPU again; takes seconds.")
    ] = False,
    json: options.AsJson = False,
) -> None:
    """Check the installation: versions, the compiled core, and optional packages.

    The last lines show how many positions per second each library evaluated
    with the networks used on this machine, on one CPU thread. For every batch
    size the fastest library is used, marked with a star; among those that are
    about equally fast, the first. The environment variable RAMIFY_BACKEND
    chooses one library for all sizes, and RAMIFY_CACHE the folder in which the
    speeds are stored.
    """
    if renew:
        renew_speeds()
    report = examine()
    print_json(report) if json else print_report(report)
    if not report["healthy"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """The state of the installation, as plain data."""
    import os
    import platform

    import numpy

    import ramify
    from ramify import _core

    problem = try_core()
    return {
        "ramify": ramify.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "numpy": numpy.__version__,
        "core": {
            "file": _core.__file__,
            **_core.build_info(),
            "games": _core.game_names(),
            "problem": problem,
        },
        "extras": [
            {"package": name, "version": version_of(name), "extra": extra, "for": use} for name, extra, use in EXTRAS
        ],
        "speeds": speeds(),
        "healthy": problem is None,
    }


def speeds() -> dict[str, Any]:
    """Measured speeds of networks on this CPU: positions per second by network, batch size and library."""
    from ramify.evaluators.speeds import speed_table

    table = speed_table()
    measured = {name: {str(size): rates for size, rates in table.sizes(name).items()} for name in table.networks}
    return {"file": None if table.file is None else str(table.file), "networks": measured}


def renew_speeds() -> None:
    """Measure the speed of networks on this CPU again."""
    try:
        from ramify.evaluators.renewal import measure_again
    except ImportError as error:
        fail(f"speeds of networks need torch: {error}")
    for name in measure_again():
        typer.echo(f"Measured {name}.", err=True)


def try_core() -> str | None:
    """Play a random game of each native game; returns the first error, or None."""
    from ramify import _core

    for name in _core.game_names():
        try:
            _core.make_game(name, {}).random_turns(0, 1)
        except Exception as error:
            print_traceback(error)
            return f"{name}: {error}"
    return None


def version_of(package: str) -> str | None:
    """The version of an installed package, or None."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def print_report(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    core = report["core"]
    good, bad = "[green]ok[/]", "[red]no[/]"

    def line(name: str, text: str, mark: str = good) -> None:
        console.print(f"{mark}  {name:<12} {escape(text)}")

    line("ramify", report["ramify"])
    line("python", f"{report['python']} on {report['platform']}, {report['cpus']} CPUs")
    line("numpy", report["numpy"])
    built = f"{core['compiler']}, {core['architecture']}"
    if core["sanitizer"] != "none":
        built += f", {core['sanitizer']} sanitizer"
    line("core", f"{built}: {core['file']}", bad if core["problem"] else good)
    line("games", ", ".join(core["games"]), bad if core["problem"] else good)
    if core["problem"]:
        console.print(f"    the core is broken ({escape(core['problem'])}); reinstall ramify")
    for entry in report["extras"]:
        if entry["version"]:
            line(entry["package"], entry["version"])
        else:
            hint = f"not installed; needed for {entry['for']}: pip install 'ramify[{entry['extra']}]'"
            line(entry["package"], hint, "[dim]--[/]")
    if report["speeds"]["networks"]:
        console.print(speeds_table(report["speeds"]["networks"]))


def speeds_table(networks: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Positions per second by network, batch size and library, and a star at what ``fastest`` chooses."""
    from rich.table import Column, Table

    from ramify.evaluators.speeds import BACKENDS, TIE, fastest

    table = Table(
        f"positions/s on one CPU thread (* used: the first within {100 * TIE:.0f} % of the fastest)",
        Column("batch", justify="right"),
        *(Column(name, justify="right") for name in BACKENDS),
        box=None,
        pad_edge=False,
    )
    for network, sizes in networks.items():
        shown = network.partition(" #")[0]
        for size, rates in sorted(sizes.items(), key=lambda entry: int(entry[0])):
            cells = {name: f"{rates[name]:,.0f}" if name in rates else "" for name in BACKENDS}
            cells[fastest(rates)] += "*"
            table.add_row(shown, size, *cells.values())
            shown = ""
    return table
