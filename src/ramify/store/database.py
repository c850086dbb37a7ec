"""The database file of a store: shared by any number of processes, and upgraded if it is old."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.orm import Session

from ramify.store.errors import COPY, StoreError, explained
from ramify.store.tables import Base

DEFAULT = Path("ramify.db")
HEAD = "0002"  # the newest migration: what this version reads and writes
BUSY_SECONDS = 60.0  # how long a process waits for the others' writing


class Database:
    """Sessions on one file. Writers wait for each other; readers never wait (SQLite's WAL mode)."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a directory, not a store: give the path of a file")
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        self.engine = make_engine(self.path)
        try:
            with explained(self.path):
                upgrade(self.engine, self.path)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that reads the current file. Errors of the file are raised as StoreError."""
        with explained(self.path, reading=True), Session(self.engine) as session:
            yield session

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[Session]:
        """A session with one transaction. It waits at most ``seconds`` for other writers."""
        seconds = BUSY_SECONDS if wait is None else wait
        options = {"ramify_begin": "BEGIN IMMEDIATE", "ramify_wait": seconds}
        with explained(self.path), Session(self.engine.execution_options(**options)) as session, session.begin():
            yield session

    def close(self) -> None:
        self.engine.dispose()


def make_engine(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver's own transactions leave out some statements; see "begin"
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous = NORMAL")  # survives a killed process; fsync only when the log is copied
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer says so at once: one that first reads and then writes could find its view outdated, and fail.
        options = connection.get_execution_options()
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * options.get('ramify_wait', BUSY_SECONDS))}")
        connection.exec_driver_sql(options.get("ramify_begin", "BEGIN"))

    return engine


def upgrade(engine: Engine, path: Path) -> None:
    """Upgrade the tables to this version. If several processes try at once, one of them does it."""
    with engine.connect() as connection:
        if version(connection, path) == HEAD:
            return
    use_wal(engine)  # not before it is known that the file is a store: this changes it
    with engine.execution_options(ramify_begin="BEGIN IMMEDIATE").connect() as connection, connection.begin():
        found = version(connection, path)
        if found == HEAD:
            return
        migrate(connection, found, path)


def use_wal(engine: Engine) -> None:
    """Enable WAL mode, in which readers do not block a writer; the setting is stored in the file."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def version(connection: Connection, path: Path) -> str | None:
    """The migration version of the file; None if it is empty. Raises StoreError if it is not a complete store."""
    tables = inspect(connection).get_table_names()
    found: str | None = None
    if "alembic_version" in tables:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    missing = set(Base.metadata.tables) - set(tables)
    if (tables and "alembic_version" not in tables) or (found is not None and missing >= set(Base.metadata.tables)):
        raise StoreError(
            f"{path} is a database of another program, with the tables {', '.join(tables)}; choose another file"
        )
    if found == HEAD and missing:
        raise StoreError(f"{path} is damaged: it lacks the tables {', '.join(sorted(missing))}; {COPY}")
    return found


def migrate(connection: Connection, found: str | None, path: Path) -> None:
    """Run the missing migrations."""
    from alembic import command
    from alembic.script import ScriptDirectory

    config = migrations_config()
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(
            f"{path} was written by a newer version of ramify (table version {found}; this version supports {HEAD}); "
            "update ramify, or use another store"
        )
    command.upgrade(config, "head")


def migrations_config() -> Any:
    """Alembic's configuration, with the location of the migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
