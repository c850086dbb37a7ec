"""The database of a store: shared by any number of processes, and upgraded if it is old."""

from __future__ import annotations

import gc
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from ramify.store import engines
from ramify.store.errors import COPY, ELSEWHERE, StoreError, explained, is_transient
from ramify.store.location import Location, read_location
from ramify.store.tables import Base

DEFAULT = Path("ramify.db")
HEAD = "0003"  # the newest migration: what this version reads and writes
UPGRADE_LOCK = 0x72616D696679  # number of the lock that PostgreSQL gives to one process that upgrades the tables
SHORTEST, LONGEST = 0.005, 0.5  # seconds between two tries of a transaction that met another

MANY = 500  # keys in one question: databases take no more than so many thousand

Insert = sqlite.Insert | postgresql.Insert
T = TypeVar("T")


class Database:
    """Sessions on one database. Writers wait for each other; readers never wait (SQLite's WAL mode, PostgreSQL)."""

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self.location = read_location(where)
        path = self.location.path
        if path is not None:
            if path.is_dir():
                raise StoreError(f"{path} is a directory, not a store: give the path of a file")
            with explained(self.location):
                path.parent.mkdir(parents=True, exist_ok=True)
        self.engine = engines.make_engine(self.location)
        try:
            with explained(self.location):
                retried(lambda: upgrade(self.engine, self.location))
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that reads the current state. Errors of the database are raised as StoreError."""
        with explained(self.location, reading=True), Session(self.engine) as session:
            yield session

    def write(self, action: Callable[[Session], T], wait: float | None = None) -> T:
        """Call ``action`` with a session in one transaction; it waits at most ``wait`` seconds for other writers.

        A transaction that is in conflict with another is repeated, so ``action`` may be called several times.
        """
        seconds = engines.BUSY_SECONDS if wait is None else wait
        options = {"ramify_writes": True, "ramify_wait": seconds}

        def attempt() -> T:
            with Session(self.engine.execution_options(**options)) as session, session.begin():
                return action(session)

        try:
            with explained(self.location):
                return retried(attempt, seconds)
        except KeyboardInterrupt:
            pass
        # Ctrl-C within the end of a session can leave its transaction open, and the next one would wait for its lock.
        # The frames that held the session are gone here, so that collecting it ends the transaction.
        gc.collect()
        raise KeyboardInterrupt

    def insert(self, table: type[Base]) -> Insert:
        """An INSERT statement that can say what happens ON CONFLICT."""
        return sqlite.insert(table) if self.location.path is not None else postgresql.insert(table)

    def close(self) -> None:
        self.engine.dispose()


def retried(action: Callable[[], T], seconds: float | None = None) -> T:
    """Call a function, again and again for ``seconds`` if it meets other writers."""
    end = time.monotonic() + (engines.BUSY_SECONDS if seconds is None else seconds)
    pause = SHORTEST
    while True:
        try:
            return action()
        except (DatabaseError, sqlite3.Error) as error:
            if time.monotonic() >= end or not is_transient(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.0))  # those who met must not meet again
        pause = min(2 * pause, LONGEST)


def upgrade(engine: Engine, location: Location) -> None:
    """Upgrade the tables to this version. If several processes try at once, one of them does it."""
    with engine.connect() as connection:
        if version(connection, location) == HEAD:
            return
    if location.path is not None:
        use_wal(engine)  # not before it is known that the file is a store: this changes it
    with engine.execution_options(ramify_writes=True).connect() as connection, connection.begin():
        if location.path is None:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})"))
        found = version(connection, location)
        if found == HEAD:
            return
        migrate(connection, found, location)


def use_wal(engine: Engine) -> None:
    """Enable WAL mode, in which readers do not block a writer; the setting is stored in the file."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def version(connection: Connection, location: Location) -> str | None:
    """The migration version of the store; None if it is empty. Raises StoreError if it is not a complete store."""
    tables = inspect(connection).get_table_names()
    found: str | None = None
    if "alembic_version" in tables:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    missing = set(Base.metadata.tables) - set(tables)
    if (tables and "alembic_version" not in tables) or (found is not None and missing >= set(Base.metadata.tables)):
        kind = "file" if location.path is not None else "database"
        raise StoreError(
            f"{location.name} is a database of another program, with the tables {', '.join(tables)}; "
            f"choose another {kind}"
        )
    if found == HEAD and missing:
        remedy = COPY if location.path is not None else ELSEWHERE
        raise StoreError(f"{location.name} is damaged: it lacks the tables {', '.join(sorted(missing))}; {remedy}")
    return found


def migrate(connection: Connection, found: str | None, location: Location) -> None:
    """Run the missing migrations."""
    from alembic import command
    from alembic.script import ScriptDirectory

    config = migrations_config()
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(
            f"{location.name} was written by a newer version of ramify (table version {found}; this version supports "
            f"{HEAD}); update ramify, or use another store"
        )
    command.upgrade(config, "head")


def migrations_config() -> Any:
    """Alembic's configuration, with the location of the migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
