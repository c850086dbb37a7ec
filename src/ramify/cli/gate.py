"""``ramify gate``: games until it is clear whether a player is stronger, and what to expect of that test."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import arena
from ramify.cli.common import fail, print_json, table_console

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.arena import Gate, Operation, SprtConfig

Elo0 = Annotated[float, typer.Option(help="Not stronger than this is not stronger, in Elo.")]
Elo1 = Annotated[float, typer.Option(help="This much stronger is stronger, in Elo.")]
Alpha = Annotated[float, typer.Option(help="How often a player at elo0 may be called stronger.")]
Beta = Annotated[float, typer.Option(help="How often a player at elo1 may be called not stronger.")]


def gate(
    candidate: Annotated[str | None, typer.Argument(help="The player that is to be tested.")] = None,
    champion: Annotated[str | None, typer.Argument(help="The player that it is to replace.")] = None,
    game: arena.GameName = "hex",
    set_: arena.Parameters = None,
    elo0: Elo0 = 0.0,
    elo1: Elo1 = 50.0,
    alpha: Alpha = 0.05,
    beta: Beta = 0.05,
    max_games: Annotated[int, typer.Option(min=2, help="Undecided after so many games; an even number.")] = 1000,
    characteristic: Annotated[
        bool, typer.Option("--characteristic", help="Only show how often such a gate ends how, and play nothing.")
    ] = False,
    draw: Annotated[float, typer.Option(min=0, max=0.99, help="Share of drawn games, for --characteristic.")] = 0.0,
    opening: arena.Opening = "random:2",
    seed: arena.Seed = 0,
    max_moves: arena.MaxMoves = None,
    adjudicate_above: arena.AdjudicateAbove = None,
    store: arena.StorePath = Path("ramify.db"),
    concurrency: arena.Concurrency = 16,
    workers: arena.Workers = 0,
    json: arena.AsJson = False,
) -> None:
    """Play until it is clear whether a player is stronger than another.

    A sequential test looks after every pair of games and stops as soon as it
    is sure, which takes about 270 games with these defaults where the truth is
    one of the two bounds and 420 midway, fewer with draws. At most 5 % of
    gates give the wrong answer at a bound; 1 % end undecided there, 8 % midway.
    --characteristic shows the table for any other test.

    \b
    ramify gate search:simulations=200 search:simulations=100 --set size=5
    ramify gate --characteristic --elo1 20 --max-games 5000 --draw 0.5
    """
    from ramify.arena import SprtConfig, operating_characteristic

    try:
        test = SprtConfig(elo0=elo0, elo1=elo1, alpha=alpha, beta=beta)
        if characteristic:
            return show_characteristic(operating_characteristic(test, max_games, draw=draw, seed=seed), as_json=json)
    except ValueError as error:
        fail(error)
    if candidate is None or champion is None:
        fail("a gate needs two players, the candidate and the champion; --characteristic needs none")
    setup = arena.read_setup(game, set_, [candidate, champion], opening, seed, max_moves, adjudicate_above)
    return play(setup, test, max_games, store, concurrency, workers, as_json=json)


def play(
    setup: arena.Setup, test: SprtConfig, max_games: int, store: Path, concurrency: int, workers: int, *, as_json: bool
) -> None:
    """Play the gate and print how it ended."""
    from ramify.arena import Interrupted, ParallelSettings
    from ramify.arena import gate as play_gate

    start = time.perf_counter()
    with arena.open_store(store) as kept, arena.progress_bar(as_json) as shown:
        try:
            found = play_gate(
                setup.game,
                *setup.players,
                test=test,
                max_games=max_games,
                config=setup.config,
                results=kept.results(),
                parallel=ParallelSettings(concurrency, workers),
                watch=shown,
            )
        except Interrupted:
            print("ramify: Stopped. Finished games are kept. Run the same command again to resume.", file=sys.stderr)
            raise typer.Exit(130) from None
        except arena.MISTAKES as error:
            fail(error)
    candidate, champion = (config.label for config in setup.players)
    document = {**describe(found), "candidate": candidate, "champion": champion, "seconds": time.perf_counter() - start}
    if as_json:
        return print_json(document)
    candidate, champion = arena.table_names(
        {config.identity: config.label for config in setup.players}, setup.players
    ).values()
    verdict = {None: "not decided", "stronger": "stronger", "not stronger": "not stronger"}[found.verdict]
    print(f"{candidate} against {champion}: {verdict}")
    print(
        f"{len(found.games)} games: {found.wins} won, {found.draws} drawn, {found.losses} lost; "
        f"log-likelihood ratio {found.test.ratio:+.2f}, bounds {found.test.low:+.2f} and {found.test.high:+.2f}"
    )
    return None


def describe(found: Gate) -> dict[str, Any]:
    """A gate as plain data."""
    return {
        "verdict": found.verdict,
        "games": len(found.games),
        "wins": found.wins,
        "draws": found.draws,
        "losses": found.losses,
        "pairs": found.pairs,
        "ratio": found.test.ratio,
        "bounds": [found.test.low, found.test.high],
    }


def show_characteristic(rows: list[Operation], *, as_json: bool) -> None:
    """The operating characteristic, for people or machines."""
    from dataclasses import asdict

    if as_json:
        return print_json({"characteristic": [asdict(row) for row in rows]})
    return table_console().print(characteristic_table(rows))


def characteristic_table(rows: list[Operation]) -> Table:
    """One line for each true strength."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("true Elo", "called stronger", "not stronger", "undecided", "games"):
        table.add_column(name, justify="right")
    for row in rows:
        shares = (f"{100 * share:.1f} %" for share in (row.stronger, row.not_stronger, row.undecided))
        table.add_row(f"{row.elo:+.1f}", *shares, f"{row.games:.0f}")
    return table
