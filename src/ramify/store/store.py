"""The class ``Store``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from ramify.arena import Played
from ramify.store.aside import Record, take_in
from ramify.store.database import DEFAULT, Database
from ramify.store.errors import StoreError
from ramify.store.pages import (
    GameFilter,
    GameSummary,
    count_games,
    labels_of,
    page_of_games,
    results_only,
    stored_game,
)
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
    """Games, players, runs, metrics and checkpoints, shared by any number of processes.

    ``path`` is that of an SQLite file, or the URL of a PostgreSQL database (``postgresql://user@host/database``), which
    processes of several machines can share. Missing files and tables are created, and those of an older version are
    upgraded. A store of a newer version, and anything that is not a store, raises a ``StoreError``.
    """

    def __init__(self, path: str | os.PathLike[str] = DEFAULT) -> None:
        self._database = Database(path)
        self.location = self._database.location.name  # without a password
        self.path = self._database.location.path  # None: it is on a server
        self._results: list[StoredResults] = []
        with contextlib.suppress(StoreError, SQLAlchemyError, OSError, ValueError, TypeError, KeyError):
            # What cannot be taken in stays where it is: the store itself can be read.
            take_in(self._database.location.beside, self._take)

    def _take(self, records: list[Record]) -> None:
        self._database.write(lambda session: write_records(self._database, session, records))

    def results(self, *, replay: bool = False, forfeits: bool = False) -> StoredResults:
        """Storage for arena games: ``match(…, results=store.results())`` plays only the missing games.

        Games are found by the identities of their players, which include the versions of their code. ``replay`` plays
        all games again and replaces the stored ones. Games that a player forfeited (by an error, a timeout or an
        illegal action) are played again unless ``forfeits`` is set.
        """
        results = StoredResults(self._database, replay=replay, forfeits=forfeits)
        self._results.append(results)
        return results

    def players(self) -> dict[str, StoredPlayer]:
        """All players with stored games, by identity."""
        return stored_players(self._database)

    def games(
        self, game: str | None = None, params: Mapping[str, Any] | None = None, *, forfeits: bool = False
    ) -> list[Played]:
        """Games in order of insertion, optionally of one game and with exactly these parameters. Forfeited games are
        included only with ``forfeits``."""
        return stored_games(self._database, game, params, forfeits)

    def kinds_of_games(self) -> list[tuple[str, dict[str, Any], int]]:
        """Games, their parameters, and the number of stored games without forfeits."""
        return stored_kinds(self._database)

    def page_of_games(self, chosen: GameFilter, before: int | None = None, size: int = 50) -> list[GameSummary]:
        """The newest games, without their moves; ``before``: those with a smaller number, for the next page."""
        return page_of_games(self._database, chosen, before, size)

    def count_games(self, chosen: GameFilter) -> int:
        """The number of games, at most 100,000."""
        return count_games(self._database, chosen)

    def game(self, number: int) -> Played | None:
        """One game by its number; None if there is none."""
        return stored_game(self._database, number)

    def results_only(self, game: str, params: Mapping[str, Any]) -> list[Played]:
        """All games of a kind in order of insertion, forfeits included, without their moves: what ratings need."""
        return results_only(self._database, game, params)

    def labels(self, identities: Sequence[str]) -> dict[str, str]:
        """What players are called, by identity."""
        return labels_of(self._database, identities)

    def finish(self) -> list[str]:
        """Write games that were kept aside while the store could not be written. Returns a message for each set of
        games that still cannot be written, with their location and the reason."""
        return [said for results in self._results if (said := results.finish()) is not None]

    def close(self) -> None:
        """Close the store. Raises a StoreError with the location of finished games that could not be written."""
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
        return f"Store({self.location!r})"
