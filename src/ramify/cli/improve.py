"""``ramify improve``: tune the search, train with the best settings, and tune again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli import arena, options
from ramify.cli.common import print_json, table_console
from ramify.cli.sweep import SWEEPS, SweepStore, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ramify.sweeps import Round


def improve(
    file: Annotated[Path, typer.Argument(help="The YAML file that says what is tuned, trained, and against whom.")],
    folder: Annotated[
        Path | None, typer.Option(help="The folder of the loop. Default: sweeps/ and the name of the file.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Number of training runs, in place of the file's.")] = None,
    concurrency: options.Concurrency = 16,
    workers: options.Workers = 0,
    store: SweepStore = None,
    cluster: options.ClusterAddress = None,
    json: options.AsJson = False,
) -> None:
    """Tune a search, train a network with the best settings, and tune again.

    Every round tunes search settings by games against a fixed pool, as 'ramify
    sweep' does, and then trains from the last network with what was found; after
    the last run they are tuned once more. Settings are adopted if they win new
    games. Ctrl-C loses nothing; the same command goes on where it stopped. With
    --cluster, processes on all nodes play the trials and the games of the
    training runs; the store and the folder are ones that they reach.

    \b
    game: hex
    params: {size: 5}
    first: search:evaluator=rollout,simulations=100
    player: search:network={run},simulations=100
    settings: {c_puct: {low: 0.5, high: 4.0, log: true}}
    opponents: ["search:evaluator=rollout,simulations=100", "alphabeta:depth=2"]
    train: hex-5
    train_seconds: 180

    \b
    ramify improve hex.yaml --rounds 3 --workers 2
    ramify improve hex.yaml --cluster auto --store postgresql://user@host/games
    """
    from ramify.arena import ParallelSettings

    with arena.resumable("Everything is saved"):
        from ramify.sweeps import Improve, load_improve

        config = load_improve(file, **({} if rounds is None else {"rounds": rounds}))
        parallel, nodes = ParallelSettings(concurrency, workers), options.read_cluster(cluster)
        plan = Improve(config, folder or SWEEPS / file.stem, parallel, store, nodes)
        with shown(json) as show:
            found = plan.run(None if show is None else lambda _, progress: show(progress) if progress else None)
    if json:
        return print_json({"folder": str(plan.folder), "rounds": [asdict(one) for one in found]})
    return report(found)


def report(rounds: Sequence[Round]) -> None:
    """Print what every round found."""
    from rich.table import Table

    from ramify.sweeps.report import settings_text

    table = Table("round", "settings adopted", "Elo", "95 %", "gain in new games", box=None, pad_edge=False)
    for one in rounds:
        gain = (
            "nothing to gain" if one.gain is None else f"{one.gain:+.0f} ({one.gain_low:+.0f} to {one.gain_high:+.0f})"
        )
        elo, interval = "not played", ""
        if one.elo is not None and one.error is not None:
            elo, interval = f"{one.elo:+.0f}", f"{one.elo - 1.96 * one.error:+.0f} … {one.elo + 1.96 * one.error:+.0f}"
        table.add_row(str(one.number), settings_text(one.settings) or "as before", elo, interval, gain)
    console = table_console()
    console.print(table)
    console.print(f"Player: {rounds[-1].player}", highlight=False)
