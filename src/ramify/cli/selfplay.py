"""``ramify selfplay``: games of a network, or of plain search, against itself, written to shards."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import Panel, fail, parse_settings, print_json, watched

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.games import Game
    from ramify.selfplay import Progress


def selfplay(
    game: Annotated[str, typer.Argument(help="A game of 'ramify games', or openspiel:NAME.")],
    folder: Annotated[Path, typer.Argument(help="Where the shards go; new ones are numbered on from those there.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the game; may be repeated.")
    ] = None,
    games: Annotated[int, typer.Option(min=1, help="How many games to play.")] = 100,
    network: Annotated[
        str | None,
        typer.Option(help="A saved or shipped network, or a size such as 6x64 for a fresh one; none: random games."),
    ] = None,
    evaluator: Annotated[str, typer.Option(help="Without a network: uniform, rollout, or rollout:N.")] = "rollout",
    simulations: Annotated[int, typer.Option(min=1, help="Of a full search.")] = 200,
    setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of SearchConfig; may be repeated.")
    ] = None,
    play: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of PlayConfig; may be repeated.")
    ] = None,
    places: Annotated[int, typer.Option(min=1, help="Games played at once.")] = 256,
    threads: Annotated[int, typer.Option(min=1, help="Threads that search.")] = 1,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: what there is.")] = None,
    cache: Annotated[int, typer.Option(min=0, help="Positions kept by a cache before the network; 0: none.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Games depend on it and their number alone.")] = 0,
    games_per_shard: Annotated[int, typer.Option(min=1, help="Games in one file.")] = 256,
    json: Annotated[bool, typer.Option("--json", help="For machines: the figures at the end.")] = False,
) -> None:
    """Play games against oneself and keep them.

    Finished games are safe: Ctrl-C, an error or a full disk lose only those in
    play. Started again on the same folder, a run goes on with the next game.

    \b
    ramify selfplay hex games/ --set size=5 --games 20
    ramify selfplay hex games/ --set size=7 --network hex-7
    ramify selfplay connect_four games/ --network 4x32 --setting noise_fraction=0.25
    ramify selfplay pyrat games/ --set preset=tiny --setting selection=regret --play acting=average
    """
    from ramify.games import make
    from ramify.search import SearchConfig
    from ramify.selfplay import PlayConfig, SelfPlay
    from ramify.selfplay.run import first_game, refuse_other_game, run, warn_of_other_settings

    try:
        made = make(game, **parse_settings(set_ or []))
        refuse_other_game(folder, made)
        chosen, name = choose_evaluator(made, network, evaluator, cache, device=device, threads=threads)
        player = SelfPlay(
            made,
            chosen,
            SearchConfig(**{"simulations": simulations, **parse_settings(setting or [])}),
            PlayConfig(**parse_settings(play or [])),
            games=games,
            places=min(places, games),
            threads=threads,
            seed=seed,
            first=first_game(folder),
        )
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:
        fail(error)
    stopped = False
    with ExitStack() as stack:
        shown = Panel(stack, partial(figures_table, games=games)) if watched(json) else None
        try:
            warn_of_other_settings(folder, player)
            figures = run(player, folder, games_per_shard=games_per_shard, network=name, progress=shown)
        except (ValueError, RuntimeError, OSError) as error:
            fail(error)
        except KeyboardInterrupt:
            from ramify.selfplay.records import shards
            from ramify.selfplay.run import measure

            written = shards(folder)
            figures = measure(player, len(written), sum(path.stat().st_size for path in written))
            stopped = True
    report(figures, folder, as_json=json)
    if stopped:
        print("ramify: stopped; the same command plays on", file=sys.stderr)
        raise typer.Exit(130)


def choose_evaluator(game: Game, network: str | None, otherwise: str, cache: int, **how: Any) -> tuple[Any, str | None]:
    """The evaluator asked for, and the network's identity where there is one."""
    from ramify.cli.analyze import read_evaluator

    chosen: Any = read_evaluator(otherwise)
    identity, device = None, how.get("device")
    if network is not None:
        from ramify.training.devices import choose_device

        choose_device(device)  # says so if it is not there
        chosen, identity = network_evaluator(game, network, **how)
    elif device not in (None, "cpu"):
        raise ValueError(f"--device {device} is for networks: without --network, games are searched on the CPU")
    if cache:
        from ramify.evaluators import Cached

        chosen = Cached(chosen, cache)
    return chosen, identity


def network_evaluator(game: Game, text: str, **how: Any) -> tuple[Any, str]:
    """The evaluator of a saved or shipped network, or of a fresh one of a size such as 6x64, and its identity.

    ``how`` it is run: see ``ramify.networks.evaluator`` for what can be said of that.
    """
    import ramify.networks as networks
    from ramify.arena.network_files import network_file
    from ramify.networks.config import is_size

    file: Path | None = None
    try:
        file = network_file(text)
    except ValueError as error:
        if not is_size(text):
            raise ValueError(f"{error}; a fresh one is written as its size, such as 6x64 or mlp:2x256") from None
    module = networks.make(game, text) if file is None else networks.load(file, game)
    return networks.evaluator(module, **how), networks.network_id(module)


def figures_table(progress: Progress, games: int | None = None) -> Table:
    """The figures for people."""
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    of = f" of {games}" if games else ""
    left = ""
    if games and progress.games:
        seconds = (games - progress.games) * progress.seconds / progress.games
        left = f"  about {seconds:,.0f} s left" if seconds >= 1 else ""
    rows = [
        ("games", f"{progress.games}{of}  ({progress.games_per_s:.2f}/s, {progress.active} in play){left}"),
        ("positions/s", f"{progress.positions_per_s:,.0f}"),
        ("evaluations/s", f"{progress.evaluations_per_s:,.0f}"),
        ("mean batch", f"{progress.mean_batch:,.1f}"),
        ("evaluator busy", f"{100 * progress.busy:.0f} %"),
        ("cache hits", "no cache" if progress.cache_hits is None else f"{100 * progress.cache_hits:.1f} %"),
        ("game length", f"{progress.mean_length:.1f} moves"),
        ("draws", f"{100 * progress.draws:.1f} %"),
        ("shards", f"{progress.shards}  ({progress.bytes / 1e6:.2f} MB)"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    return table


def report(progress: Progress, folder: Path, *, as_json: bool) -> None:
    """What a run did."""
    if as_json:
        rates = {name: getattr(progress, name) for name in ("positions_per_s", "evaluations_per_s", "games_per_s")}
        print_json({**asdict(progress), **rates, "folder": str(folder)})
        return
    from ramify.cli.common import table_console

    table_console().print(figures_table(progress))
    print(f"games are in {folder}")
