"""``ramify demo``: from nothing to a strong Hex player in minutes, rated, with a report to look at."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import rate
from ramify.cli.common import fail, parse_settings, print_json
from ramify.cli.report import write_report
from ramify.cli.train import PROBLEMS, end_stopped, watcher

if TYPE_CHECKING:
    from ramify.training import TrainConfig

PRESET = "hex-5"


def demo(
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Settings of the training, to change.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where everything is kept; an unfinished run goes on.")] = Path(
        "runs/demo"
    ),
    games: Annotated[int, typer.Option(min=2, help="Rating games of every two players who meet; an even number.")] = 12,
    simulations: Annotated[int, typer.Option(min=1, help="Of a rated player's searches.")] = 200,
    json: Annotated[bool, typer.Option("--json", help="For machines: ratings and where the report is.")] = False,
) -> None:
    """Train Hex 5x5 from nothing, rate the result, and write a report.

    About four minutes on two cores. It does what 'ramify train hex-5',
    'ramify rate' and 'ramify report' do: checkpoints of the run meet each
    other, random moves, alpha-beta search three moves deep, and a search that
    knows only random playouts.
    """
    started = time.perf_counter()
    try:
        from ramify.arena.matches import ParallelSettings
        from ramify.arena.runs import RatingPlan
        from ramify.training import load_config

        plan = RatingPlan(games, simulations)
        config = load_config(PRESET, parse_settings(settings or []))
        train_with_panel(config, folder, quiet=json)
        rating, _ = rate.play(folder, plan, ParallelSettings(rate.CONCURRENCY), quiet=json)
        found = rate.finish(folder, rating)
        path = write_report(folder)
    except KeyboardInterrupt:
        end_stopped(folder)
    except PROBLEMS as error:
        fail(error)
    show(found, path, time.perf_counter() - started, as_json=json)


def train_with_panel(config: TrainConfig, folder: Path, *, quiet: bool) -> None:
    """Train, or go on."""
    from ramify.training import train

    with ExitStack() as stack:
        train(config, folder, show=watcher(stack, folder, quiet=quiet))


def show(found: dict[str, Any], path: Path, seconds: float, *, as_json: bool) -> None:
    """The ratings for people or machines, and where the report is."""
    if as_json:
        return print_json({"ratings": found["players"], "report": str(path), "seconds": round(seconds, 1)})
    rate.print_rating(found)
    print(f"{seconds:.0f} s in all; look at {path}")
    return None
