"""Stored games page by page, and in short: for lists that must not read every game."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select

from ramify.arena import Fixture, Limits, Opening, Played
from ramify.store.database import Database
from ramify.store.results import played_of, text_of
from ramify.store.tables import GameRow, PlayerRow

COUNTED = 100_000  # games of a filter that are counted; beyond, there are "more than" so many


@dataclass(frozen=True)
class GameSummary:
    """A stored game in one line."""

    id: int
    game: str
    params: Mapping[str, Any]
    players: tuple[str, str]  # identities
    winner: int | None
    returns: tuple[float, float]
    reason: str
    turns: int
    played: datetime


@dataclass(frozen=True)
class GameFilter:
    """Which games: of a game with exactly these parameters, of a player, or of a pair of players."""

    game: str | None = None
    params: Mapping[str, Any] | None = None
    player: str | None = None
    other: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filter as conditions of a query."""
        found: list[ColumnElement[bool]] = []
        if self.game is not None:
            found.append(GameRow.game == self.game)
        if self.params is not None:
            found.append(GameRow.params == text_of(self.params))
        if self.player is not None and self.other is not None:
            one = (GameRow.first == self.player) & (GameRow.second == self.other)
            found.append(or_(one, (GameRow.first == self.other) & (GameRow.second == self.player)))
        elif self.player is not None:
            found.append(or_(GameRow.first == self.player, GameRow.second == self.player))
        return found


def count_games(database: Database, chosen: GameFilter) -> int:
    """The number of games, at most COUNTED."""
    inner = select(GameRow.id).where(*chosen.conditions()).limit(COUNTED).subquery()
    with database.reading() as session:
        return int(session.scalar(select(func.count()).select_from(inner)) or 0)


def page_of_games(database: Database, chosen: GameFilter, before: int | None, size: int) -> list[GameSummary]:
    """The newest games whose number is below ``before``; their moves are not read."""
    turns = func.json_array_length(GameRow.actions)
    asked = select(
        GameRow.id,
        GameRow.game,
        GameRow.params,
        GameRow.first,
        GameRow.second,
        GameRow.winner,
        GameRow.first_return,
        GameRow.second_return,
        GameRow.reason,
        turns,
        GameRow.played,
    ).where(*chosen.conditions())
    if before is not None:
        asked = asked.where(GameRow.id < before)
    with database.reading() as session:
        rows = session.execute(asked.order_by(GameRow.id.desc()).limit(size)).all()
    return [
        GameSummary(
            row[0], row[1], json.loads(row[2]), (row[3], row[4]), row[5], (row[6], row[7]), row[8], row[9], row[10]
        )
        for row in rows
    ]


def stored_game(database: Database, number: int) -> Played | None:
    """One game with its moves."""
    with database.reading() as session:
        row = session.get(GameRow, number)
        return None if row is None else played_of(row)


def results_only(database: Database, game: str, params: Mapping[str, Any]) -> list[Played]:
    """All games of a kind without their moves, in order of insertion: what ratings need."""
    asked = (
        select(
            GameRow.first,
            GameRow.second,
            GameRow.opening,
            GameRow.start,
            GameRow.seed,
            GameRow.limits,
            GameRow.first_return,
            GameRow.second_return,
            GameRow.winner,
            GameRow.reason,
            GameRow.detail,
        )
        .where(GameRow.game == game, GameRow.params == text_of(params))
        .order_by(GameRow.id)
    )
    limits: dict[str, Limits] = {}
    with database.reading() as session:
        rows = session.execute(asked).all()
    found = []
    for first, second, opening, start, seed, limit, one, two, winner, reason, detail in rows:
        kept = limits.setdefault(json.dumps(limit, sort_keys=True), Limits(**limit))
        fixture = Fixture(game, params, (first, second), Opening(tuple(opening), start), seed, kept)
        found.append(Played(fixture, (), (one, two), winner, reason, detail))
    return found


def labels_of(database: Database, identities: Sequence[str]) -> dict[str, str]:
    """What players are called, by identity."""
    with database.reading() as session:
        asked = select(PlayerRow.identity, PlayerRow.label).where(PlayerRow.identity.in_(list(identities)))
        return {row.identity: row.label for row in session.execute(asked)}
