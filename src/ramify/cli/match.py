"""``ramify match``: games between two players."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli import arena, options
from ramify.cli.tournament import play


def match(
    game: options.GameName,
    first: Annotated[str, typer.Argument(help=options.PLAYER)],
    second: Annotated[str, typer.Argument(help="The other player.")],
    param: options.Params = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    games: Annotated[int, typer.Option(min=2, help="Number of games; an even number.")] = 100,
    opening: options.Opening = "random:2",
    seed: options.Seed = 0,
    max_moves: options.MaxMoves = None,
    adjudicate_above: options.AdjudicateAbove = None,
    store: options.StorePlace = options.DEFAULT_STORE,
    concurrency: options.Concurrency = 16,
    workers: options.Workers = 0,
    replay: options.Replay = False,
    count_forfeits: options.CountForfeits = False,
    anchor: options.Anchor = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the games to a file: .pgn for chess, .sgf for Hex.")
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Play a match between two players and estimate the Elo difference.

    Games are played in pairs: the same opening twice, with the players
    swapped. Games that are in the store already are not played again, unless a
    player has changed, a player forfeited, or --replay is given. --network and
    --set are defaults for the players that search; without a network or an
    evaluator these use random games, and evaluator=planner is the strong choice
    for PyRat. Ctrl-C keeps finished games.

    The anchor, at 0 Elo, is the player that has been in the store longest, of
    two new players the second; --anchor chooses another.

    \b
    ramify match hex search:simulations=400 search:simulations=100 -p size=5
    ramify match hex search alphabeta:depth=3 -p size=7 --network hex-7
    ramify match hex search:network=runs/hex-5 search:network=hex-5 -p size=5
    ramify match connect_four random search --opening every:1 --games 14
    ramify match pyrat search:evaluator=planner,normalize=remaining greedy --games 20
    ramify match chess search uci:command=stockfish,nodes=100 --opening book.pgn:16 --save match.pgn
    """
    given = arena.GivenOptions(param, set_, network)
    setup = arena.read_setup(game, given, [first, second], opening, seed, max_moves, adjudicate_above)
    if save is not None:
        arena.check_save(setup.game, save)
    pairings = [(setup.players[0], setup.players[1])]
    labels = arena.different({config.identity: config.label for config in setup.players})
    how = arena.How(store, concurrency, workers, replay, count_forfeits)
    chosen = arena.find_anchor(labels, anchor, setup.players)
    play(setup, pairings, games, how, chosen, baseline=setup.players[1], save=save, as_json=json)
