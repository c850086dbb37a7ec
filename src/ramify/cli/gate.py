"""``ramify gate``: a sequential test of whether one player is stronger than another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import arena, options
from ramify.cli.common import fail, print_json, table_console

if TYPE_CHECKING:
    from rich.table import Table

    from ramify.arena import Gate, Operation, SprtConfig

Elo0 = Annotated[float, typer.Option(help="H0: the Elo difference is at most this.")]
Elo1 = Annotated[float, typer.Option(help="H1: the Elo difference is at least this.")]
Alpha = Annotated[float, typer.Option(help="Error rate at elo0: the probability of accepting H1.")]
Beta = Annotated[float, typer.Option(help="Error rate at elo1: the probability of accepting H0.")]


def gate(
    game: Annotated[
        str | None,
        typer.Argument(
            help="The game: a name from 'ramify games', openspiel:NAME, gym:NAME, pettingzoo:NAME or pgx:NAME."
        ),
    ] = None,
    candidate: Annotated[str | None, typer.Argument(help=f"The player to test. {options.PLAYER}")] = None,
    champion: Annotated[str | None, typer.Argument(help="The player to compare it with.")] = None,
    param: options.Params = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    elo0: Elo0 = 0.0,
    elo1: Elo1 = 50.0,
    alpha: Alpha = 0.05,
    beta: Beta = 0.05,
    max_games: Annotated[int, typer.Option(min=2, help="Stop undecided after this many games; even.")] = 1000,
    characteristic: Annotated[
        bool, typer.Option("--characteristic", help="Print the operating characteristic of the test; play no games.")
    ] = False,
    draw: Annotated[float, typer.Option(min=0, max=0.99, help="Draw rate assumed by --characteristic.")] = 0.0,
    opening: options.Opening = "random:2",
    seed: options.Seed = 0,
    max_moves: options.MaxMoves = None,
    adjudicate_above: options.AdjudicateAbove = None,
    store: options.StorePlace = options.DEFAULT_STORE,
    concurrency: options.Concurrency = 16,
    workers: options.Workers = 0,
    json: options.AsJson = False,
) -> None:
    """Test whether one player is stronger than another (SPRT).

    A sequential probability ratio test on pairs of games, which stops as soon
    as the result is significant. With the default settings and no draws that
    takes about 270 games if the true difference is elo0 or elo1, and 420 if it
    lies midway. At elo0 and elo1 at most 5 % of the tests give the wrong answer
    and 1 % end undecided; midway, 8 % end undecided. --characteristic prints
    these figures for other settings.

    \b
    ramify gate hex search:simulations=200 search:simulations=100 -p size=5
    ramify gate --characteristic --elo1 20 --max-games 5000 --draw 0.5
    """
    from ramify.arena import SprtConfig, operating_characteristic

    try:
        test = SprtConfig(elo0=elo0, elo1=elo1, alpha=alpha, beta=beta)
        if characteristic:
            return show_characteristic(operating_characteristic(test, max_games, draw=draw, seed=seed), as_json=json)
    except ValueError as error:
        fail(error)
    if game is None or candidate is None or champion is None:
        fail("a gate needs a game and two players, the candidate and the champion; --characteristic needs none")
    given = arena.GivenOptions(param, set_, network)
    setup = arena.read_setup(game, given, [candidate, champion], opening, seed, max_moves, adjudicate_above)
    return play(setup, test, max_games, store, concurrency, workers, as_json=json)


def play(
    setup: arena.Setup, test: SprtConfig, max_games: int, store: str, concurrency: int, workers: int, *, as_json: bool
) -> None:
    """Play the games of the test and print its result."""
    from ramify.arena import ParallelSettings
    from ramify.arena import gate as play_gate

    start = time.perf_counter()
    with arena.open_store(store) as kept, arena.progress_bar(as_json) as shown, arena.resumable():
        results = kept.results()
        results.meet(setup.players[::-1])  # the champion first: it is the anchor of later ratings, as in a match
        found = play_gate(
            setup.game,
            *setup.players,
            test=test,
            max_games=max_games,
            config=setup.config,
            results=results,
            parallel=ParallelSettings(concurrency, workers),
            watch=shown,
        )
    candidate, champion = (config.label for config in setup.players)
    document = {**describe(found), "candidate": candidate, "champion": champion, "seconds": time.perf_counter() - start}
    if as_json:
        return print_json(document)
    candidate, champion = arena.table_names(
        {config.identity: config.label for config in setup.players}, setup.players
    ).values()
    verdict = {None: "undecided", "stronger": "stronger", "not stronger": "not stronger"}[found.verdict]
    print(f"{candidate} against {champion}: {verdict}")
    print(
        f"{len(found.games)} games: {found.wins} wins, {found.draws} draws, {found.losses} losses; "
        f"log-likelihood ratio {found.test.ratio:+.2f}, bounds {found.test.low:+.2f} to {found.test.high:+.2f}"
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
    """Print the operating characteristic."""
    from dataclasses import asdict

    if as_json:
        return print_json({"characteristic": [asdict(row) for row in rows]})
    return table_console().print(characteristic_table(rows))


def characteristic_table(rows: list[Operation]) -> Table:
    """One row for each true Elo difference."""
    from rich.table import Table

    from ramify.arena.ratings import elo_text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("true Elo", "stronger", "not stronger", "undecided", "mean games"):
        table.add_column(name, justify="right")
    for row in rows:
        shares = (f"{100 * share:.1f} %" for share in (row.stronger, row.not_stronger, row.undecided))
        table.add_row(elo_text(row.elo, 1), *shares, f"{row.games:.0f}")
    return table
