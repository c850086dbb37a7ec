"""Arena games in the store."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import ColumnElement, func, literal_column, select
from sqlalchemy.orm import Session

from ramify.arena import Claim, Fixture, Limits, Opening, Played, PlayerConfig
from ramify.arena.played import Reason, Winner
from ramify.store.aside import Aside, Record
from ramify.store.claims import Claims
from ramify.store.database import MANY, Database, Insert
from ramify.store.errors import StoreError
from ramify.store.tables import GameRow, PlayerRow, now

RETRY_SECONDS = 10.0  # for which writing a game is tried before it is put aside; a lock is waited for longer
PAUSE = 0.5  # seconds between two tries
TRY_EVERY = 30.0  # seconds, while games are put aside


@dataclass(frozen=True)
class StoredPlayer:
    """A player with games in the store."""

    identity: str
    kind: str
    label: str
    content: Mapping[str, Any]
    versions: Mapping[str, Any] | None  # of its code; None for players met before these were kept


class StoredResults:
    """The arena's ``Results`` on a store.

    ``replay``: only games added to this object are found, and they replace those of the store, except that a forfeit
    never replaces a game that was played to its end. ``forfeits``: forfeited games are found, too.
    """

    def __init__(self, database: Database, *, replay: bool = False, forfeits: bool = False) -> None:
        self._database = database
        self._replay, self._forfeits = replay, forfeits
        self._met: dict[str, dict[str, Any]] = {}
        self._added: set[str] = set()
        self._outdated: dict[str, datetime] = {}  # games that are to be played again, and when they were played
        self._claims = Claims(database, self._finished)
        self._aside = Aside(database.location.beside)
        self._next_try = 0.0

    def find(self, keys: Sequence[str]) -> dict[str, Played]:
        """The stored games with these keys, without forfeits."""
        found: dict[str, Played] = {}
        with self._database.reading() as session:
            for start in range(0, len(keys), MANY):
                asked = select(GameRow).where(GameRow.key.in_(keys[start : start + MANY]))
                for row in session.scalars(asked):
                    if self._reusable(row):
                        found[row.key] = played_of(row)
                    else:
                        self._outdated[row.key] = row.played
        return found

    def claim(self, keys: Sequence[str], number: int) -> Claim:
        """Claim games. While the store cannot be written, all are granted: play goes on, and no game is stored
        twice."""
        if self._aside.records:
            return Claim(keys[:number], {}, ())
        try:
            rows, taken, dead = self._claims.look(keys)
            there = {row.key for row in rows}
            free = [key for key in keys if key not in taken and key not in there][:number]
            granted: list[str] = []
            if free:
                granted, late = self._claims.claim(free, dead)
                rows += late
        except StoreError:
            return Claim(keys[:number], {}, ())
        self._added.update(row.key for row in rows)
        return Claim(granted, {row.key: played_of(row) for row in rows}, taken)

    def release(self) -> None:
        """Give back all claims."""
        self._claims.release()

    def _reusable(self, row: GameRow) -> bool:
        """Whether a stored game need not be played again."""
        return (self._forfeits or row.reason != "forfeit") and (not self._replay or row.key in self._added)

    def _finished(self, row: GameRow) -> bool:
        """Whether a game has been stored since ``find`` looked for it, also one that is to be played again."""
        return self._reusable(row) or self._outdated.get(row.key) != row.played

    def meet(self, players: Sequence[PlayerConfig]) -> None:
        """Store players."""
        rows: list[dict[str, Any]] = [
            {
                "identity": one.identity,
                "kind": one.kind,
                "label": one.label,
                "content": one.content(),
                "versions": one.versions(),
            }
            for one in players
            if one.identity not in self._met
        ]
        if rows:
            self._database.write(lambda session: write_players(self._database, session, rows))
            self._met.update((row["identity"], row) for row in rows)

    def add(self, played: Played) -> None:
        """Store a game. If the file cannot be written, the game is kept aside and written later: the match continues,
        and no finished game is lost."""
        players = [self._met[identity] for identity in set(played.fixture.players) if identity in self._met]
        record: Record = {"players": players, "game": values_of(played)}
        self._added.add(played.key)
        if self._aside.records and time.monotonic() < self._next_try:
            return self._aside.add(record)
        try:
            self._write([*self._aside.records, record], 0.0 if self._aside.records else RETRY_SECONDS)
        except StoreError:
            self._next_try = time.monotonic() + TRY_EVERY
            return self._aside.add(record)
        self._claims.done(played.key)
        return self._aside.clear()

    def finish(self) -> str | None:
        """Try again to write games kept aside. Returns a message with their location and the reason if that fails."""
        if not self._aside.records:
            return None
        try:
            self._write(self._aside.records, RETRY_SECONDS)
            self._aside.clear()
        except StoreError as error:
            number, file = len(self._aside.records), self._aside.file
            self._aside = Aside(self._database.location.beside)  # the message says where they are
            if file is None:
                return f"{number} finished games are lost, because no file could be written: {error}"
            how = "by a store next to it" if self._database.location.path else "when the store is opened there"
            return f"{number} finished games are in {file} and will be imported {how}: {error}"
        return None

    def _write(self, records: list[Record], patience: float) -> None:
        """Write games; retries for ``patience`` seconds."""
        end = time.monotonic() + patience
        while True:
            try:
                return self._database.write(
                    lambda session: write_records(self._database, session, records, replay=self._replay),
                    None if patience else 0.0,
                )
            except StoreError:
                if time.monotonic() >= end:
                    raise
            time.sleep(min(PAUSE, max(0.0, end - time.monotonic())))


def write_records(database: Database, session: Session, records: list[Record], *, replay: bool = False) -> None:
    """Write games, and their players if these are not known."""
    write_players(database, session, [row for record in records for row in record["players"]])
    if records:
        session.execute(insert_game(database, replay=replay), [record["game"] for record in records])


def write_players(database: Database, session: Session, players: list[dict[str, Any]]) -> None:
    """Write players that are not known, the first of them as the oldest."""
    known = {row["identity"]: row for row in reversed(players)}
    rows = [known[identity] for identity in dict.fromkeys(row["identity"] for row in players)]
    start = now()
    dated = [{**row, "added": start + timedelta(microseconds=number)} for number, row in enumerate(rows)]
    if dated:  # in the same order in every process, or two could wait for each other
        order = database.insert(PlayerRow).on_conflict_do_nothing()
        session.execute(order, sorted(dated, key=lambda row: str(row["identity"])))


def insert_game(database: Database, *, replay: bool) -> Insert:
    """The statement that inserts a game. It replaces a forfeited game and, with ``replay``, any game."""
    order = database.insert(GameRow)
    news = {column.name: order.excluded[column.name] for column in GameRow.__table__.columns if column.name != "id"}
    gives_way = GameRow.reason == "forfeit"
    if replay:
        gives_way = gives_way | (order.excluded.reason != "forfeit")
    return order.on_conflict_do_update(index_elements=["key"], set_=news, where=gives_way)


def stored_players(database: Database) -> dict[str, StoredPlayer]:
    """All players, by identity, in the order in which they were added."""
    # In files of earlier versions several players may have been added at the same time.
    then: ColumnElement[Any] = literal_column("rowid") if database.location.path is not None else literal_column("ctid")
    with database.reading() as session:
        rows = session.scalars(select(PlayerRow).order_by(PlayerRow.added, then))
        players = [StoredPlayer(row.identity, row.kind, row.label, row.content, row.versions) for row in rows]
        return {player.identity: player for player in players}


def stored_games(
    database: Database, game: str | None, params: Mapping[str, Any] | None, forfeits: bool
) -> list[Played]:
    """Games in order of insertion, optionally of one game, with these parameters, and with forfeits."""
    asked = select(GameRow).order_by(GameRow.id)
    if not forfeits:
        asked = asked.where(GameRow.reason != "forfeit")
    if game is not None:
        asked = asked.where(GameRow.game == game)
    if params is not None:
        asked = asked.where(GameRow.params == text_of(params))
    with database.reading() as session:
        return [played_of(row) for row in session.scalars(asked)]


def text_of(params: Mapping[str, Any]) -> str:
    """Parameters as canonical JSON."""
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
        "detail": played.detail.replace("\0", "\ufffd"),  # PostgreSQL keeps no zero bytes in texts
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


def stored_kinds(database: Database) -> list[tuple[str, dict[str, Any], int]]:
    """Games, parameters, and the number of games without forfeits."""
    asked = select(GameRow.game, GameRow.params, func.count()).where(GameRow.reason != "forfeit")
    asked = asked.group_by(GameRow.game, GameRow.params).order_by(GameRow.game, GameRow.params)
    with database.reading() as session:
        return [(game, json.loads(params), number) for game, params, number in session.execute(asked)]
