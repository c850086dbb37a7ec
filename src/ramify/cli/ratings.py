"""``ramify ratings``: the rating list of all games in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.base.files import is_url
from ramify.cli import arena, options
from ramify.cli.common import fail, parse_settings

if TYPE_CHECKING:
    from ramify.store import Store


def ratings(
    game: Annotated[str | None, typer.Argument(help="The game; needed if the store has several.")] = None,
    param: options.Params = None,
    store: options.StorePlace = options.DEFAULT_STORE,
    anchor: options.Anchor = None,
    prior: Annotated[float, typer.Option(min=0, help="Number of virtual draws of each player against average.")] = 1.0,
    advantage: Annotated[bool, typer.Option(help="Also estimate the first-move advantage.")] = False,
    count_forfeits: options.CountForfeits = False,
    json: options.AsJson = False,
) -> None:
    """Rate all players in a store.

    Elo predicts the expected score, draws included. The 95 % intervals take
    into account that two games with the same opening are correlated. Players
    without games between them are listed in separate groups, each with its
    own anchor. The anchor is the player that has been in the store longest,
    as in 'ramify match' and 'ramify tournament'; --anchor chooses another.

    \b
    ramify ratings hex -p size=5 --anchor random
    """
    from ramify.arena import Standings

    if not is_url(store) and not Path(store).exists():
        fail(f"there is no store {store!r}; 'ramify match' and 'ramify tournament' create one")
    with arena.open_store(store) as kept:
        name, params = choose_game(kept, game, parse_settings(param or []))
        found, players = kept.games(name, params, forfeits=True), kept.players()
    playing = {identity for played in found for identity in played.fixture.players}
    labels = arena.different({one: player.label for one, player in players.items() if one in playing})
    more = {"game": name, "params": params, "rating": {"prior": prior, "advantage": advantage}}
    try:
        standings = Standings((), tuple(found), count_forfeits=count_forfeits)
        chosen = arena.find_anchor(labels, anchor)
        anchors = list(labels) if chosen is None else [chosen]
        arena.report(standings, labels, anchors, as_json=json, cross=True, more=more)
    except ValueError as error:
        fail(error)


def choose_game(store: Store, game: str | None, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The game to rate; ends the command if none or several fit."""
    there = store.kinds_of_games()
    fitting = [
        (name, found)
        for name, found, _ in there
        if game in (None, name) and all(found.get(key) == value for key, value in params.items())
    ]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(f"{name} {settings(found)} ({count} games)" for name, found, count in there) or "nothing"
    what = "several games fit" if fitting else "there are no such games"
    return fail(f"{what}: choose one with GAME and -p. In the store: {known}")


def settings(params: dict[str, Any]) -> str:
    """Parameters as typed on the command line."""
    return " ".join(f"{key}={value}" for key, value in params.items())
