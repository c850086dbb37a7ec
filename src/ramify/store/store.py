"""The store's front door."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from ramify.arena import Played
from ramify.store.aside import Record, take_in
from ramify.store.database import DEFAULT, Database
from ramify.store.errors import StoreError
from ramify.store.results import (
    StoredPlayer,
    StoredResults,
    stored_games,
    stored_kinds,
    stored_players,
    write_records,
)
from ramify.store.runs import Runs


class Store(Runs):
    """One SQLite file that keeps games, players, runs, metrics and checkpoints. Any number of processes may use it.

    A file that is not there is made; one of an older version is brought up to date; one of a newer version, or of
    something else, raises a ``StoreError``.
    """

    def __init__(self, path: str | os.PathLike[str] = DEFAULT) -> None:
        self._database = Database(path)
        self.path = self._database.path
        self._results: list[StoredResults] = []
        with contextlib.suppress(StoreError, SQLAlchemyError, OSError, ValueError, TypeError, KeyError):
            take_in(self.path, self._take)  # what cannot be taken in stays where it is: the store itself can be read

    def _take(self, records: list[Record]) -> None:
        with self._database.writing() as session:
            write_records(session, records)

    def results(self, *, replay: bool = False, forfeits: bool = False) -> StoredResults:
        """The place for an arena's games: ``match(…, results=store.results())`` plays only what is missing.

        Games are found by the identities of their players, which include the versions of their code. ``replay`` plays
        everything again and replaces what is there. Games that a player has forfeited (by an error, too long a
        silence, an illegal action) are played again, unless ``forfeits``.
        """
        results = StoredResults(self._database, replay=replay, forfeits=forfeits)
        self._results.append(results)
        return results

    def players(self) -> dict[str, StoredPlayer]:
        """Every player whose games are here, by identity."""
        return stored_players(self._database)

    def games(
        self, game: str | None = None, params: Mapping[str, Any] | None = None, *, forfeits: bool = False
    ) -> list[Played]:
        """Games in the order in which they came; of one game, and with exactly these parameters, where given. Those
        that a player has forfeited are among them only if ``forfeits``."""
        return stored_games(self._database, game, params, forfeits)

    def kinds_of_games(self) -> list[tuple[str, dict[str, Any], int]]:
        """Games, their parameters, and how many there are; forfeits are not counted."""
        return stored_kinds(self._database)

    def finish(self) -> list[str]:
        """Write games that were put aside while the file could not be written; a sentence for those that still cannot:
        which file they are in, and why."""
        return [said for results in self._results if (said := results.finish()) is not None]

    def close(self) -> None:
        """Let go of the file. A StoreError says where finished games are that it could not take."""
        unsaved, self._results = self.finish(), []
        self._database.close()
        if unsaved:
            raise StoreError("; ".join(unsaved))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(StoreError) if error is not None else contextlib.nullcontext():
            self.close()

    def __repr__(self) -> str:
        return f"Store({os.fspath(self.path)!r})"
