"""``ramify rate``: rate the checkpoints of a training run."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.base.hints import did_you_mean
from ramify.cli import arena, options
from ramify.cli.common import fail, print_json, table_console

if TYPE_CHECKING:
    from ramify.arena import Progress
    from ramify.arena.runs import RatingPlan, RunRating

STORE = "ramify.db"  # in the run's folder
CONCURRENCY = 64  # games played at once; with fewer, networks would get batches of one or two positions
LISTED = 8  # runs named where one is not found
Run = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, or its name in runs/.")]


def rate(
    run: Run,
    games: Annotated[int, typer.Option(min=2, help="Number of games per pairing; an even number.")] = 20,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help="Number of simulations per move of a checkpoint. Default: as in self-play."),
    ] = None,
    checkpoints: Annotated[
        int, typer.Option(min=2, help="Maximum number of checkpoints: every k-th, and the latest.")
    ] = 6,
    references: Annotated[bool, typer.Option(help="Include players that need no training.")] = True,
    concurrency: options.Concurrency = CONCURRENCY,
    workers: options.Workers = 0,
    json: options.AsJson = False,
) -> None:
    """Rate the checkpoints of a training run, finished or not.

    Checkpoints play each other and players that need no training, such as the
    random player. Games are stored in the run's folder and never played twice:
    after Ctrl-C the same command resumes, and after more training only the
    games of new checkpoints are played. 'ramify report' shows the ratings.

    \b
    ramify rate hex-5
    ramify rate runs/first --checkpoints 12 --games 100
    """
    from ramify.arena.matches import ParallelSettings
    from ramify.arena.runs import RatingPlan

    started = time.perf_counter()
    try:
        plan = RatingPlan(games, simulations, checkpoints, references)
        folder = find_run(run)
        rating, counts = play(folder, plan, ParallelSettings(concurrency, workers), quiet=json)
        found = finish(folder, rating)
    except arena.MISTAKES as error:
        fail(error)
    if json:
        return print_json({**found, **counts, "seconds": round(time.perf_counter() - started, 1)})
    print_rating(found)
    print(f"{counts['played']} games played, {counts['found']} found in the store.")
    print(f"Write a report with: ramify report {run}")
    return None


def find_run(text: str) -> Path:
    """The folder of a run, given by its path or by its name in runs/; a ValueError if there is neither."""
    given, named = Path(text), Path("runs") / text
    if given.exists():
        return given
    if named.is_dir():
        return named
    looked = f"neither {given} nor {named} is there" if not given.is_absolute() else "there is no such folder"
    around = given.parent if given.parent.is_dir() else Path()
    there = [*(folder.name for folder in runs_in(Path("runs"))), *(str(folder) for folder in runs_in(around))]
    listed = f"the runs are {', '.join(there[:LISTED])}{', …' if len(there) > LISTED else ''}"
    hint = did_you_mean(text, there, " ")
    known = listed if there else "'ramify train' makes one"
    raise ValueError(f"there is no run {text!r}: {looked};{hint} {known}")


def runs_in(folder: Path) -> list[Path]:
    """The folders of runs directly within a folder, by name."""
    with suppress(OSError):
        return sorted(path.parent for path in folder.glob("*/config.yaml") if (path.parent / "checkpoints").is_dir())
    return []


def play(folder: Path, plan: RatingPlan, parallel: Any, *, quiet: bool) -> tuple[RunRating, dict[str, int]]:
    """Play the missing games; returns the rating, and how many games were found and played."""
    from ramify.arena.runs import rate_run, read_run

    read_run(folder)  # raises before a store is created if this is not a run
    counts = {"found": 0, "played": 0}
    with arena.open_store(folder / STORE) as store, arena.progress_bar(quiet) as shown:

        def watch(progress: Progress) -> None:
            counts.update(found=progress.found, played=progress.done - progress.found)
            if shown is not None:
                shown(progress)

        return rate_run(folder, plan, results=store.results(), parallel=parallel, watch=watch), counts


def finish(folder: Path, rating: RunRating) -> dict[str, Any]:
    """Write a complete rating for the report; exit if it was interrupted."""
    from ramify.arena.runs import describe_rating, write_rating

    if not rating.standings.complete:
        there = len(rating.standings.games)
        print(f"ramify: stopped; {there} games are stored, and the same command resumes", file=sys.stderr)
        raise typer.Exit(130)
    if not rating.standings.counted:
        problem = next((game.detail for game in rating.standings.forfeits), "no games")
        raise ValueError(f"every game was forfeited: {problem}")
    found = describe_rating(rating)
    write_rating(folder, found)
    return found


def print_rating(found: dict[str, Any]) -> None:
    """Print the ratings as a table."""
    from rich.table import Table

    from ramify.arena.ratings import MEANING, elo_text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("player", "Elo", "95%", "games", "won", "drawn", "lost"):
        table.add_column(name, justify="left" if name == "player" else "right")
    for one in found["players"]:
        interval = arena.interval_text(one, anchor=one["name"] == found["anchor"])
        numbers = [str(one[name]) for name in ("games", "wins", "draws", "losses")]
        table.add_row(one["name"], elo_text(one["elo"]), interval, *numbers)
    console = table_console()
    console.print(table)
    if found["forfeits"]:
        console.print(f"Forfeited games, not counted: {found['forfeits']}", style="red")
    if few := arena.few_games((one["name"], one["games"]) for one in found["players"]):
        console.print(few, markup=False, soft_wrap=True)
    console.print(f"Elo is relative to {found['anchor']}, the anchor.", markup=False, soft_wrap=True)
    console.print(f"{MEANING}.", style="dim")
