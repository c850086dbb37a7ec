"""``ramify match``: games between two players."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli import arena
from ramify.cli.tournament import play


def match(
    first: Annotated[str, typer.Argument(help="A player, such as alphabeta:depth=3 or search:simulations=200.")],
    second: Annotated[str, typer.Argument(help="The other one; its rating is 0.")],
    game: arena.GameName = "hex",
    set_: arena.Parameters = None,
    games: Annotated[int, typer.Option(min=2, help="An even number: half of them with each player first.")] = 100,
    opening: arena.Opening = "random:2",
    seed: arena.Seed = 0,
    max_moves: arena.MaxMoves = None,
    adjudicate_above: arena.AdjudicateAbove = None,
    store: arena.StorePath = Path("ramify.db"),
    concurrency: arena.Concurrency = 16,
    workers: arena.Workers = 0,
    replay: arena.Replay = False,
    count_forfeits: arena.CountForfeits = False,
    json: arena.AsJson = False,
) -> None:
    """Let two players play, and say how much stronger the first is.

    Games come in pairs with the same opening and seats exchanged. Those that
    are in the store are not played again, unless a player has changed or has
    forfeited them, or with --replay. Ctrl-C keeps what is finished.

    \b
    ramify match search:simulations=400 search:simulations=100 --set size=5
    ramify match search:network=net.safetensors alphabeta:depth=3 --games 200 --workers 2
    ramify match random search --game connect_four --opening every:1 --games 14
    """
    setup = arena.read_setup(game, set_, [first, second], opening, seed, max_moves, adjudicate_above)
    pairings = [(setup.players[0], setup.players[1])]
    anchor = setup.players[1].identity
    how = arena.How(store, concurrency, workers, replay, count_forfeits)
    play(setup, pairings, games, how, anchor, as_json=json)
