"""The arena's games in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import func, select
from sqlalchemy.dialects.sqlite import insert

from ramify.arena import Fixture, Limits, Opening, Played, PlayerConfig
from ramify.arena.played import Reason, Winner
from ramify.store.database import Database
from ramify.store.tables import GameRow, PlayerRow

MANY = 500  # keys in one question: SQLite takes no more than so many thousand


@dataclass(frozen=True)
class StoredPlayer:
    """A player that the store has met."""

    identity: str
    kind: str
    label: str
    content: Mapping[str, Any]


class StoredResults:
    """The arena's ``Results`` on a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._met: set[str] = set()

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        found: dict[str, Played] = {}
        with self._database.reading() as session:
            for start in range(0, len(keys), MANY):
                asked = select(GameRow).where(GameRow.key.in_(keys[start : start + MANY]))
                found.update((row.key, played_of(row)) for row in session.scalars(asked))
        return found

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        rows: list[dict[str, Any]] = [
            {"identity": one.identity, "kind": one.kind, "label": one.label, "content": one.content()}
            for one in players
            if one.identity not in self._met
        ]
        if rows:
            with self._database.writing() as session:
                session.execute(insert(PlayerRow).on_conflict_do_nothing(), rows)
            self._met.update(row["identity"] for row in rows)

    def add(self, played: Played) -> None:
        with self._database.writing() as session:
            session.execute(insert(GameRow).on_conflict_do_nothing(index_elements=["key"]), [values_of(played)])


def stored_players(database: Database) -> dict[str, StoredPlayer]:
    """Every player met, by identity."""
    with database.reading() as session:
        rows = session.scalars(select(PlayerRow).order_by(PlayerRow.added, PlayerRow.identity))
        return {row.identity: StoredPlayer(row.identity, row.kind, row.label, row.content) for row in rows}


def stored_games(database: Database, game: str | None, params: Mapping[str, Any] | None) -> list[Played]:
    """Games in the order in which they came; of one game, and with these parameters, where given."""
    asked = select(GameRow).order_by(GameRow.id)
    if game is not None:
        asked = asked.where(GameRow.game == game)
    if params is not None:
        asked = asked.where(GameRow.params == text_of(params))
    with database.reading() as session:
        return [played_of(row) for row in session.scalars(asked)]


def text_of(params: Mapping[str, Any]) -> str:
    """Parameters as a text: equal ones as equal texts."""
    return json.dumps(params, sort_keys=True)


def values_of(played: Played) -> dict[str, Any]:
    """A game as a row."""
    fixture = played.fixture
    return {
        "key": played.key,
        "game": fixture.game,
        "params": text_of(fixture.params),
        "first": fixture.players[0],
        "second": fixture.players[1],
        "opening": list(fixture.opening.actions),
        "start": fixture.opening.start,
        "seed": fixture.seed,
        "limits": fixture.limits.content(),
        "actions": [list(turn) for turn in played.actions],
        "first_return": played.returns[0],
        "second_return": played.returns[1],
        "winner": played.winner,
        "reason": played.reason,
        "detail": played.detail,
        "first_seconds": played.seconds[0],
        "second_seconds": played.seconds[1],
    }


def played_of(row: GameRow) -> Played:
    """A row as a game."""
    opening = Opening(tuple(row.opening), row.start)
    limits = Limits(**row.limits)
    fixture = Fixture(row.game, json.loads(row.params), (row.first, row.second), opening, row.seed, limits)
    return Played(
        fixture,
        tuple(tuple(turn) for turn in row.actions),
        (row.first_return, row.second_return),
        cast(Winner, row.winner),
        cast(Reason, row.reason),
        row.detail,
        (row.first_seconds, row.second_seconds),
    )


def stored_kinds(database: Database) -> dict[tuple[str, str], int]:
    """How many games there are, of each game and parameters (as JSON)."""
    asked = select(GameRow.game, GameRow.params, func.count()).group_by(GameRow.game, GameRow.params)
    with database.reading() as session:
        return {(game, params): number for game, params, number in session.execute(asked)}
