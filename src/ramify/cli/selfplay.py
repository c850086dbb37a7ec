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
    from ramify.selfplay import Progress, SelfPlay


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
    parallel_games: Annotated[int, typer.Option(min=1, help="Games played at once.")] = 256,
    threads: Annotated[int, typer.Option(min=1, help="Threads that search.")] = 1,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: what there is.")] = None,
    cache: Annotated[int, typer.Option(min=0, help="Positions kept by a cache before the network; 0: none.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Games depend on it and their number alone.")] = 0,
    games_per_shard: Annotated[int, typer.Option(min=1, help="Games in one file.")] = 256,
    json: Annotated[bool, typer.Option("--json", help="For machines: the figures at the end.")] = False,
) -> None:
    """Play games against oneself and keep them.

    Finished games are safe: Ctrl-C, an error or a full disk lose only those in
    play. Started again on the same folder, a run plays those first, and goes on
    with the next. One process at a time plays into a folder.

    \b
    ramify selfplay hex games/ --set size=5 --games 20
    ramify selfplay hex games/ --set size=7 --network hex-7
    ramify selfplay connect_four games/ --network 4x32 --setting noise_fraction=0.25
    ramify selfplay pyrat games/ --set preset=tiny --simulations 500
    """
    from ramify.engine import SearchConfig
    from ramify.games import make
    from ramify.selfplay import PlayConfig, SelfPlay
    from ramify.selfplay.journal import held, recover_held
    from ramify.selfplay.run import games_to_play, refuse_other_game

    with ExitStack() as stack:
        try:
            made = make(game, **parse_settings(set_ or []))
            refuse_other_game(folder, made)
            chosen, name = choose_evaluator(made, network, evaluator, cache, device=device, threads=threads)
            search = SearchConfig(**{"simulations": simulations, **parse_settings(setting or [])})
            how = PlayConfig(**parse_settings(play or []))
            sure = stack.enter_context(held(folder, wait=1.0))
            recover_held(folder, sure)
            refuse_other_game(folder, made)  # what was recovered included
            unfinished, first = games_to_play(folder, games)
            player = SelfPlay(
                made,
                chosen,
                search,
                how,
                games=games,
                parallel_games=min(parallel_games, games),
                threads=threads,
                seed=seed,
                first=first,
                unfinished=unfinished,
            )
        except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:
            fail(error)
        play_all(player, folder, games, games_per_shard, name, as_json=json)


def play_all(
    player: SelfPlay, folder: Path, games: int, games_per_shard: int, network: str | None, *, as_json: bool
) -> None:
    """Play, and say what came of it; the folder is held."""
    from ramify.selfplay.run import Shards, measure, run_held, warn_of_other_settings

    stopped = False
    try:
        warn_of_other_settings(folder, player)
        shards = Shards(player, folder, games_per_shard, network)
    except (ValueError, OSError) as error:
        fail(error)
    with ExitStack() as stack:
        shown = Panel(stack, partial(figures_table, games=games)) if watched(as_json) else None
        try:
            figures = run_held(shards, progress=shown)
        except (ValueError, RuntimeError, OSError) as error:
            fail(error)
        except KeyboardInterrupt:
            stopped = True
            figures = measure(player, shards.count, shards.size)
    report(figures, folder, as_json=as_json)
    if stopped:
        left = games - figures.games
        on = f"the same command with --games {left} plays the other {left}" if left else "all games were played"
        print(f"ramify: stopped after {figures.games} of {games} games, which are kept; {on}", file=sys.stderr)
        raise typer.Exit(130)


def choose_evaluator(game: Game, network: str | None, otherwise: str, cache: int, **how: Any) -> tuple[Any, str | None]:
    """The evaluator asked for, and the network's identity where there is one."""
    from ramify.cli.analyze import read_evaluator

    chosen: Any = read_evaluator(otherwise)
    identity, device = None, how.get("device")
    if network is not None:
        from ramify.networks.devices import choose_device

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

    ``how`` it is run: see ``ramify.evaluators.network_evaluator`` for what can be said of that.
    """
    import ramify.networks as networks
    from ramify.arena.network_files import network_file
    from ramify.evaluators import network_evaluator as usual_evaluator
    from ramify.networks.config import is_size

    file: Path | None = None
    try:
        file = network_file(text)
    except ValueError as error:
        if not is_size(text):
            raise ValueError(f"{error}; a fresh one is written as its size, such as 6x64 or mlp:2x256") from None
    module = networks.make(game, text) if file is None else networks.load(file, game)
    return usual_evaluator(module, **how), networks.network_id(module)


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
