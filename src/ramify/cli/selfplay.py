"""``ramify selfplay``: generate self-play games and save them."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.base.settings import overridden
from ramify.cli import options
from ramify.cli.common import Panel, fail, parse_settings, print_json, watched
from ramify.cli.old_spellings import typed_arguments

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.games import Game
    from ramify.selfplay import Progress, SelfPlay


def selfplay(
    game: options.GameName,
    folder: Annotated[Path, typer.Argument(help="The folder for the games. Existing games are kept.")],
    param: options.Params = None,
    games: Annotated[int, typer.Option(min=1, help="Number of games to play.")] = 100,
    network: options.NetworkOrSize = None,
    evaluator: options.Evaluator = None,
    simulations: Annotated[int, typer.Option(min=1, help="Number of simulations of a full search.")] = 200,
    set_: options.SearchSettings = None,
    play: options.PlaySettings = None,
    parallel_games: Annotated[int, typer.Option(min=1, help="Number of games played at once.")] = 256,
    threads: Annotated[int, typer.Option(min=1, help="Number of search threads; games written in Python use one.")] = 1,
    device: options.Device = None,
    cache: Annotated[int, typer.Option(min=0, help="Size of the evaluation cache in positions; 0 disables it.")] = 0,
    seed: options.Seed = 0,
    games_per_shard: Annotated[int, typer.Option(min=1, help="Number of games per file.")] = 256,
    json: options.AsJson = False,
) -> None:
    """Generate self-play games and save them.

    Games are saved as they finish: Ctrl-C, an error or a full disk lose
    unfinished games only. After Ctrl-C the command that plays the rest is
    printed. Run again with the same folder, the command plays unfinished games
    first and then adds new ones. Only one process at a time can write to a
    folder.

    \b
    ramify selfplay hex games/ -p size=5 --games 20
    ramify selfplay hex games/ -p size=7 --network hex-7
    ramify selfplay connect_four games/ --network 4x32 -s noise_fraction=0.25
    ramify selfplay pyrat games/ -p preset=tiny --simulations 500
    """
    from ramify.engine import SearchConfig
    from ramify.games import make
    from ramify.selfplay import PlayConfig, SelfPlay
    from ramify.selfplay.journal import held, recover_held
    from ramify.selfplay.run import games_to_play, refuse_other_game

    params, settings = options.read_options(game, param, set_)
    params = options.with_reward(game, params, network)
    with ExitStack() as stack:
        try:
            made = make(game, **params)
            refuse_other_game(folder, made)
            chosen, name = choose_evaluator(made, network, evaluator, device=device, threads=threads)
            search = SearchConfig(**{"simulations": simulations, "cache": cache, **settings})
            if search.cache and network is None:
                raise ValueError("--cache needs --network: the evaluators of the core are not cached")
            how = PlayConfig(**overridden({}, parse_settings(play or []), PlayConfig.what))
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
    """Play the games and print a summary. The caller holds the folder's lock."""
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
        on = f"to play the rest: {again(left)}" if left else "no games are left to play"
        print(f"ramify: stopped. {figures.games} of {games} games are saved; {on}", file=sys.stderr)
        raise typer.Exit(130)


def again(games: int) -> str:
    """The command that was typed, with another number of games."""
    words = typed_arguments()
    for place, word in enumerate(words):
        if word == "--games" and place + 1 < len(words):
            words[place + 1] = str(games)
        elif word.startswith("--games="):
            words[place] = f"--games={games}"
    given = any(word.partition("=")[0] == "--games" for word in words)
    return shlex.join(["ramify", "selfplay", *([] if given else ["--games", str(games)]), *words])


def choose_evaluator(game: Game, network: str | None, otherwise: str | None, **how: Any) -> tuple[Any, str | None]:
    """The evaluator, and the network's identity if it is a network."""
    chosen: Any = options.read_evaluator(otherwise)
    identity, device = None, how.get("device")
    if network is not None:
        from ramify.networks.devices import choose_device

        choose_device(device)  # raises if there is no such device
        chosen, identity = network_evaluator(game, network, **how)
    elif device not in (None, "cpu"):
        raise ValueError(f"--device {device} needs --network: without one, the search runs on the CPU")
    return chosen, identity


def network_evaluator(game: Game, text: str, **how: Any) -> tuple[Any, str]:
    """The evaluator of a network, or of a new one of a size such as 6x64, and the network's identity.

    ``how`` it is run: see ``ramify.evaluators.network_evaluator``.
    """
    from ramify.arena.network_files import load_evaluator, network_file

    try:
        network_file(text)
    except ValueError as error:
        import ramify.networks as networks
        from ramify.evaluators import network_evaluator as usual_evaluator
        from ramify.networks.config import is_size

        if Path(text).exists():
            raise
        if not is_size(text):
            raise ValueError(f"{error}; a new network is given by its size, such as 6x64 or mlp:2x256") from None
        module = networks.make(game, text)
        return usual_evaluator(module, **how), networks.network_id(module)
    return load_evaluator(game, text, **how)


def figures_table(progress: Progress, games: int | None = None) -> Table:
    """The statistics as a table."""
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2))
    of = f" of {games}" if games else ""
    left = ""
    if games and progress.games:
        seconds = (games - progress.games) * progress.seconds / progress.games
        left = f"  about {seconds:,.0f} s left" if seconds >= 1 else ""
    rows = [
        ("games", f"{progress.games}{of}  ({progress.games_per_s:.2f}/s, {progress.active} in progress){left}"),
        ("positions/s", f"{progress.positions_per_s:,.0f}"),
        ("evaluations/s", f"{progress.evaluations_per_s:,.0f}"),
        *evaluator_rows(progress),
        ("game length", f"{progress.mean_length:.1f} moves"),
        ("draws", f"{100 * progress.draws:.1f} %"),
        ("shards", f"{progress.shards}  ({progress.bytes / 1e6:.2f} MB)"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    return table


def evaluator_rows(progress: Progress) -> list[tuple[str, str]]:
    """The rows on an evaluator outside the core; none for random games, which are neither batched nor cached."""
    rows = []
    if progress.mean_batch:
        rows.append(("mean batch size", f"{progress.mean_batch:,.1f}"))
        if progress.backend:
            rows.append(("network run by", progress.backend.replace("+", " and ")))
        rows.append(("evaluator utilization", f"{100 * progress.busy:.0f} %"))
    if progress.cache_hits is not None:
        rows.append(("cache hits", f"{100 * progress.cache_hits:.1f} %"))
    return rows


def report(progress: Progress, folder: Path, *, as_json: bool) -> None:
    """Print the statistics."""
    if as_json:
        rates = {name: getattr(progress, name) for name in ("positions_per_s", "evaluations_per_s", "games_per_s")}
        print_json({**asdict(progress), **rates, "folder": str(folder)})
        return
    from ramify.cli.common import table_console

    table_console().print(figures_table(progress))
    games = f"{progress.games} game" + "s" * (progress.games != 1)
    print(f"Saved {games} to {folder}." if progress.games else "No game was finished, so none was saved.")
