"""Connections to a database: SQLite files and PostgreSQL servers."""

from __future__ import annotations

import random
import re
import time
from importlib.util import find_spec
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from ramify.store.errors import explained
from ramify.store.location import Location

BUSY_SECONDS = 60.0  # how long a process waits for the others' writing
CONNECT_SECONDS = 10  # how long a process waits for a server to answer
# What a server says that has no connection left. The driver knows no code for it.
CROWDED = re.compile(r"too many (clients|connections)|connection slots are reserved")


def make_engine(location: Location) -> Engine:
    return postgres_engine(location) if location.path is None else sqlite_engine(location)


def sqlite_engine(location: Location) -> Engine:
    engine = create_engine(location.url, connect_args={"timeout": BUSY_SECONDS})

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
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("ramify_writes") else "BEGIN")

    return engine


def postgres_engine(location: Location) -> Engine:
    """An engine that keeps one connection: a server has a hundred of them, for all processes together."""
    if find_spec("psycopg") is None:
        raise ImportError(f"the store {location.name} needs psycopg: pip install 'ramify[postgres]'")
    defaults = {"connect_timeout": CONNECT_SECONDS, "application_name": "ramify", "client_encoding": "utf8"}
    chosen = {name: value for name, value in defaults.items() if name not in location.url.query}
    # Before a connection is used again it is asked whether it is alive: a server may have been restarted.
    engine = create_engine(location.url, connect_args=chosen, pool_size=1, max_overflow=9, pool_pre_ping=True)

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _: Any, arguments: Any, settings: Any) -> Any:
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return dialect.connect(*arguments, **settings)
            except dialect.dbapi.OperationalError as error:
                if not CROWDED.search(str(error)) or time.monotonic() >= end:
                    raise
            time.sleep(random.uniform(0.05, 0.2))

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("ramify_writes"):
            wait = max(1, round(1000 * options.get("ramify_wait", BUSY_SECONDS)))  # 0 would be for ever
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")

    return engine


def neighbour(location: Location, name: str) -> tuple[str, dict[str, Any]]:
    """URL and engine settings of a schema for the tables of another library, in the database of a store; it is made if
    it is missing. The URL has the password of the store: it is not to be shown."""
    engine = postgres_engine(location)
    try:
        with explained(location), engine.begin() as connection:
            schema = f"{connection.exec_driver_sql('SELECT current_schema()').scalar() or 'public'}_{name}"
            there = "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s"
            if (
                connection.exec_driver_sql(there, (schema,)).scalar() is None
            ):  # without it no right to make one is needed
                quoted = connection.dialect.identifier_preparer.quote_identifier(schema)
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {quoted}")
    finally:
        engine.dispose()
    given = location.url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -csearch_path={schema}".strip()
    url = location.url.update_query_dict({"options": options}).render_as_string(hide_password=False)
    return url, {"poolclass": NullPool}  # nobody tells the other library when to close its connections
