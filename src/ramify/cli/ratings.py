"""``ramify ratings``: the rating list of all games in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import arena
from ramify.cli.common import fail, parse_settings

if TYPE_CHECKING:
    from ramify.store import Store


def ratings(
    game: Annotated[str | None, typer.Option(help="Of this game; needed where the store has several.")] = None,
    set_: arena.Parameters = None,
    store: arena.StorePath = Path("ramify.db"),
    anchor: arena.Anchor = None,
    prior: Annotated[float, typer.Option(min=0, help="Virtual draws of every player against a middling one.")] = 1.0,
    advantage: Annotated[bool, typer.Option(help="Estimate what moving first is worth, too.")] = False,
    count_forfeits: arena.CountForfeits = False,
    json: arena.AsJson = False,
) -> None:
    """Rate every player of a store by all its games.

    Elo says what points to expect, draws included; 95 % intervals account for
    what two games with the same opening have in common. Players that no chain
    of games connects are listed in groups of their own, each with its anchor.

    \b
    ramify ratings --game hex --set size=5 --anchor random
    """
    from ramify.arena import Standings

    if not store.exists():
        fail(f"there is no store {str(store)!r}; 'ramify match' and 'ramify tournament' make one")
    with arena.open_store(store) as kept:
        name, params = choose_game(kept, game, parse_settings(set_ or []))
        found, players = kept.games(name, params, forfeits=True), kept.players()
    playing = {identity for played in found for identity in played.fixture.players}
    labels = arena.different({one: player.label for one, player in players.items() if one in playing})
    more = {"game": name, "params": params, "rating": {"prior": prior, "advantage": advantage}}
    try:
        standings = Standings((), tuple(found), count_forfeits=count_forfeits)
        counted = {identity for played in standings.counted for identity in played.fixture.players}
        first = next((one for one in labels if one in counted), None)  # of those that the store has met
        pinned = arena.find_anchor(labels, anchor) or first
        arena.report(standings, labels, pinned, as_json=json, cross=True, more=more)
    except ValueError as error:
        fail(error)


def choose_game(store: Store, game: str | None, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The game that is meant; ends the command where none or several are."""
    there = store.kinds_of_games()
    fitting = [
        (name, found)
        for name, found, _ in there
        if game in (None, name) and all(found.get(key) == value for key, value in params.items())
    ]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(f"{name} {settings(found)} ({count} games)" for name, found, count in there) or "nothing"
    what = "several games fit" if fitting else "no such games"
    return fail(f"{what}: say which with --game and --set. In the store: {known}")


def settings(params: dict[str, Any]) -> str:
    """Parameters as they are typed."""
    return " ".join(f"{key}={value}" for key, value in params.items())
