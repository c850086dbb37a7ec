"""Where a store is: the path of an SQLite file, or the URL of a PostgreSQL database."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ramify.base.files import is_url
from ramify.store.errors import StoreError

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")  # schemes of URLs, all of them with the same driver
FORM = "postgresql://USER@HOST:PORT/DATABASE"


@dataclass(frozen=True)
class Location:
    """The place of a store. Passwords are only in ``url``, which is never shown."""

    url: URL = field(repr=False)
    name: str  # in messages: the path, or the URL without password and options
    path: Path | None  # the file; None: a database of a server
    beside: Path  # games that cannot be written are kept in files with this name and an ending

    def hidden(self, text: str) -> str:
        """The text without the password."""
        options = [self.url.query.get(name) for name in ("password", "sslpassword")]
        for secret in (self.url.password, *options):
            if isinstance(secret, str) and secret:
                text = text.replace(secret, "***")
        return text


def read_location(where: str | os.PathLike[str]) -> Location:
    """The location of a store; raises a StoreError for a URL that is not one of PostgreSQL."""
    text = os.fspath(where)
    if is_url(text):
        return server(text)
    if re.match(r"postgres(ql)?(\+\w+)?:/", text):  # what a Path makes of a URL
        raise StoreError("the URL of a store was given as a path: give it as a text")
    path = Path(text)
    return Location(URL.create("sqlite", database=str(path)), str(path), path, path)


def server(text: str) -> Location:
    """A database of PostgreSQL. No part of a URL that cannot be read is repeated: it may hold a password."""
    scheme = text.partition("://")[0]
    if scheme not in POSTGRES:
        raise StoreError(f"a store is the path of an SQLite file or {FORM}, not a URL that starts with {scheme}://")
    try:
        url = make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        url = None
    if url is None or "@" in (url.host or ""):
        raise StoreError(
            f"the URL of the store cannot be read: give {FORM}, with special characters of a password as %40 for @"
        ) from None
    if not url.database:
        raise StoreError(f"the URL of the store names no database: give {FORM}")
    name = shown(url)
    mark = hashlib.sha256(f"{name} {url.query.get('options', '')}".encode()).hexdigest()[:8]  # these choose a schema
    return Location(url, name, None, Path(f"{re.sub(r'[^A-Za-z0-9_-]', '_', url.database)}-{mark}"))


def shown(url: URL) -> str:
    """A URL without its password and its options, except the host."""
    host = url.host or url.query.get("host", "")
    port = url.port or url.query.get("port", "")
    user = url.username or url.query.get("user", "")
    at = f"{host}:{port}" if port else f"{host}"
    return f"postgresql://{f'{user}@' if user else ''}{at}/{url.database}"
