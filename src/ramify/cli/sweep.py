"""``ramify sweep``: tune settings against a fixed pool of players."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import arena, options
from ramify.cli.common import print_json, table_console, watched

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.sweeps import SweepConfig, SweepProgress, SweepResult, Trial

SWEEPS = Path("sweeps")
SHOWN = 10  # trials in the table
SweepStore = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|URL",
        help="Where the games are kept: a database file, or postgresql://USER@HOST/DATABASE, which then has the "
        "trials, too. Default: files in the folder.",
    ),
]


def sweep(
    file: Annotated[Path, typer.Argument(help="The YAML file that says what is tuned, and against whom.")],
    folder: Annotated[
        Path | None, typer.Option(help="The folder of the sweep. Default: sweeps/ and the name of the file.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials, in place of the file's.")] = None,
    store: SweepStore = None,
    concurrency: options.Concurrency = 16,
    workers: options.Workers = 0,
    cluster: options.ClusterAddress = None,
    json: options.AsJson = False,
) -> None:
    """Tune settings of a search, or of training, by games against a fixed pool.

    Every trial is rated against the same opponents, with the games between
    them, and stops early when it is worse than the best one with 95 %
    confidence. The best settings then play new games against the player as it
    is, because the best of many trials is partly luck. They are written to
    best.yaml in the folder, with the evidence. Ctrl-C loses nothing; the same
    command goes on where it stopped, and several processes may run it at once.
    With --cluster, processes on all nodes take part, and the store is one that
    they reach.

    \b
    game: hex
    params: {size: 7}
    player: search:evaluator=rollout,simulations=200
    settings:
      c_puct: {low: 0.5, high: 6.0, log: true}
      fpu: {choices: ["parent", "reduction"]}
    opponents: ["search:evaluator=rollout,simulations=200", "alphabeta:depth=2"]

    \b
    ramify sweep hex.yaml --workers 2
    ramify sweep hex.yaml --trials 80              # forty more
    ramify sweep hex.yaml --cluster auto --store postgresql://user@host/games
    """
    from ramify.arena import ParallelSettings

    with arena.resumable():
        from ramify.sweeps import load_sweep
        from ramify.sweeps.remote import planned

        config = load_sweep(file, **({} if trials is None else {"trials": trials}))
        place, parallel = folder or SWEEPS / file.stem, ParallelSettings(concurrency, workers)
        with planned(config, place, parallel, store, options.read_cluster(cluster)) as plan, shown(json) as show:
            result = plan.run(show)
    if json:
        return print_json(document(result))
    return report(config, result, place)


def document(result: SweepResult) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "best": trial_document(result.best),
        "confirmation": None if result.confirmation is None else asdict(result.confirmation),
        "trials": [trial_document(trial) for trial in result.trials],
    }


def trial_document(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "low": trial.low, "high": trial.high}


def report(config: SweepConfig, result: SweepResult, folder: Path) -> None:
    """Print the best trials and the evidence."""
    from ramify.sweeps.report import evidence

    console = table_console()
    console.print(table(result))
    for line in evidence(config, result):
        console.print(line, highlight=False)
    console.print(f"Saved: {folder / 'best.yaml'}", highlight=False)


def table(result: SweepResult) -> Table:
    from rich.table import Table

    from ramify.sweeps.report import settings_text

    found = Table("trial", "settings", "Elo", "95 %", "games", "margin", box=None, pad_edge=False)
    for trial in result.ranked[:SHOWN]:
        interval = f"{trial.low:+.0f} … {trial.high:+.0f}"
        games = f"{trial.games}{'' if trial.state == 'complete' else ' (stopped)'}"
        found.add_row(
            str(trial.number),
            settings_text(trial.settings),
            f"{trial.elo:+.0f}",
            interval,
            games,
            f"{trial.margin:+.2f}",
        )
    return found


@contextmanager
def shown(quiet: bool) -> Iterator[Callable[[SweepProgress], None] | None]:
    """A progress bar over the games of the present trial; only on a terminal."""
    if not watched(quiet):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[best]}")]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("pool", total=None, best="")

        def show(progress: SweepProgress) -> None:
            name = progress.phase
            if progress.trial is not None:
                name = f"{name} {progress.trial + 1} of {progress.trials}"
            best = "" if progress.best is None else f"best {progress.best.elo:+.0f} Elo"
            bar.update(task, description=name, total=progress.wanted or None, completed=progress.games, best=best)

        yield show
