"""``ramify demo``: train a Hex network from scratch in minutes, rate it, and write a report."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options, rate
from ramify.cli.common import fail, parse_settings, print_json
from ramify.cli.report import write_report
from ramify.cli.train import PROBLEMS, end_stopped, watcher

if TYPE_CHECKING:
    from ramify.training import TrainConfig

PRESET = "hex-5"


def demo(
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Override training settings.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="The folder of the run. An unfinished run is resumed.")] = Path(
        "runs/demo"
    ),
    games: Annotated[int, typer.Option(min=2, help="Rating games per pair of players; an even number.")] = 12,
    simulations: Annotated[int, typer.Option(min=1, help="Number of simulations per move in rating games.")] = 200,
    json: options.AsJson = False,
) -> None:
    """Train a network for 5x5 Hex from scratch, rate it, and write a report.

    Takes about four minutes on two cores. It does what 'ramify train hex-5',
    'ramify rate' and 'ramify report' do: checkpoints of the run are rated
    against each other, random moves, alpha-beta search of depth 3, and a search
    with random playouts.
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
    """Train or resume."""
    from ramify.training import train

    with ExitStack() as stack:
        train(config, folder, show=watcher(stack, folder, quiet=quiet))


def show(found: dict[str, Any], path: Path, seconds: float, *, as_json: bool) -> None:
    """Print the ratings and the path of the report."""
    if as_json:
        return print_json({"ratings": found["players"], "report": str(path), "seconds": round(seconds, 1)})
    rate.print_rating(found)
    print(f"Finished in {seconds:.0f} s. Report: {path}")
    return None
