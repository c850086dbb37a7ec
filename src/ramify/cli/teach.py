"""``ramify teach``: label chess positions with another engine, as training data."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli import options
from ramify.cli.common import Panel, fail, parse_settings, print_json, watched

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.protocols.teaching import TeachProgress

LINE_SECONDS = 30.0


def teach(
    folder: Annotated[Path, typer.Argument(help="The folder for the records. Existing ones count, and are kept.")],
    engine: Annotated[
        str, typer.Option(metavar="COMMAND", help="The command that starts the engine, which speaks UCI.")
    ] = "stockfish",
    positions: Annotated[int, typer.Option(min=1, help="Number of labelled positions that the folder shall have.")] = (
        100_000
    ),
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the engine's search of a position.")] = 2000,
    multipv: Annotated[int, typer.Option(min=1, help="Number of best moves that the engine scores.")] = 4,
    engines: Annotated[
        int | None, typer.Option(min=1, help="Number of engine processes. Default: one per core.")
    ] = None,
    cluster: options.ClusterAddress = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a UCI option of the engine. Repeatable.")
    ] = None,
    teach: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Set a field of TeachConfig. Repeatable.")
    ] = None,
    seed: options.Seed = 0,
    json: options.AsJson = False,
) -> None:
    """Label chess positions with another engine.

    The engine plays games of mixed strength and scores their positions: the
    policy is a softmax of the scores of its best moves, the value its chances
    of win, draw and loss. The records are those of self-play, and 'ramify
    train' learns from them. No position is labelled twice. Ctrl-C stops and
    loses nothing; the same command goes on where it stopped. With --cluster,
    engines run on all nodes, and the games come to the folder here.

    \b
    ramify teach labels --engine stockfish --positions 1000000
    ramify teach labels --nodes 500 --multipv 1 --engines 16
    ramify teach labels --option Hash=32 --teach temperature=0.2
    ramify teach labels --nodes 50 --teach policy=children
    ramify teach labels --cluster auto --positions 100000000
    ramify train chess-taught                        # learns from the folder labels
    """
    from ramify.protocols.process import EngineError
    from ramify.protocols.teacher import TeachConfig
    from ramify.protocols.teaching import teach as label_positions

    given = parse_settings(teach or [])
    uci = {**TeachConfig.model_fields["options"].default, **parse_settings(option or [])}
    with ExitStack() as stack:
        try:
            settings = {"command": engine, "nodes": nodes, "multipv": multipv, "options": uci, "seed": seed}
            config = TeachConfig(**{**settings, **given})
            nodes_of = options.read_cluster(cluster)
            shown = Panel(stack, progress_table) if watched(json) else Lines(quiet=json)
            done = label_positions(folder, config, positions, engines=engines, cluster=nodes_of, progress=shown)
        except (ValueError, TypeError, ImportError, OSError, RuntimeError, EngineError) as error:
            fail(error)
    if json:
        print_json({**asdict(done), "positions_per_s": done.positions_per_s, "folder": str(folder)})
    else:
        rate = f" ({done.positions_per_s:,.0f}/s, {done.positions_per_s / max(done.engines, 1):,.0f} per engine)"
        print(
            f"{folder} has {done.positions:,} labelled positions, {done.new:,} of them new{rate if done.new else ''}."
        )
    if done.positions < positions:
        print("ramify: stopped. Everything labelled is saved; the same command goes on.", file=sys.stderr)
        raise typer.Exit(130)


class Lines:
    """Without a terminal: a line on stderr now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.printed = quiet, time.monotonic()

    def __call__(self, progress: TeachProgress) -> None:
        if not self.quiet and time.monotonic() - self.printed >= LINE_SECONDS:
            self.printed = time.monotonic()
            done = f"{progress.positions:,} of {progress.wanted:,} positions"
            print(f"{done}, {progress.positions_per_s:,.0f}/s, {progress.seconds:,.0f} s", file=sys.stderr, flush=True)


def progress_table(progress: TeachProgress) -> Table:
    """The progress as a bar and a few figures."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    left = (progress.wanted - progress.positions) / max(progress.positions_per_s, 1e-9)
    table = Table.grid(padding=(0, 2))
    time_left = f"about {left:,.0f} s left" if progress.new else ""
    table.add_row("positions", f"{progress.positions:,} of {progress.wanted:,}  {time_left}")
    table.add_row("", ProgressBar(total=progress.wanted, completed=progress.positions, width=60))
    rate = progress.positions_per_s
    table.add_row("speed", f"{rate:,.0f} positions/s, {rate / max(progress.engines, 1):,.0f} per engine")
    table.add_row("games", f"{progress.games:,}, {progress.moves / max(progress.games, 1):.0f} moves each")
    for node in progress.nodes:
        table.add_row("node", f"{node.host}: {node.engines} engines, {node.positions:,} positions")
    if progress.failures:
        table.add_row("restarts", f"{progress.failures} of engines that failed")
    return table
