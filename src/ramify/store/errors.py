"""Error messages for a store: one sentence with its location, the problem and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError, IntegrityError

if TYPE_CHECKING:
    from ramify.store.location import Location

COPY = "restore a backup, or choose another file"
ELSEWHERE = "restore a backup, or choose another database"
LOCKED = ("is locked by another process", "try again when that has ended")
# Problem and remedy by SQLite's error code. The file itself is never changed.
SENTENCES = {
    sqlite3.SQLITE_NOTADB: ("cannot be opened as a store: it is not an SQLite database", COPY),
    sqlite3.SQLITE_CORRUPT: ("is damaged", f"{COPY}; 'sqlite3 FILE .recover' may recover some of it"),
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "free some space, and run the same command again"),
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only", "make it writable, or choose another file"),
    sqlite3.SQLITE_PERM: ("cannot be written: permission denied", "change its permissions, or choose another file"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened as a store",
        "its directory must exist, and both must be writable; fix that, or choose another file",
    ),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "check its disk, and run the same command again"),
    sqlite3.SQLITE_ERROR: ("does not have the tables of this version of ramify", COPY),
}
# The same by the SQLSTATE of PostgreSQL, or by its first two characters.
STATES = {
    "40": LOCKED,
    "55P03": LOCKED,
    "42501": (
        "cannot be used as a store: permission denied",
        "grant the user CREATE on the schema and all rights on the tables",
    ),
    "42P01": ("does not have the tables of this version of ramify", ELSEWHERE),
    "42703": ("does not have the tables of this version of ramify", ELSEWHERE),
    "25006": ("cannot be written: it is read-only", "make it writable, or choose another database"),
    "53100": ("cannot be written: the disk is full", "free some space, and run the same command again"),
    "53300": ("has too many connections", "raise max_connections of the server, or start fewer processes"),
}
UNREACHABLE = ("cannot be reached", "check that the server runs, and the host, the user, the password and the database")
# A transaction that failed with one of these may succeed when it is repeated: serialization failure, deadlock, lock
# timeout, too many connections, and a server that is shutting down or starting.
TRANSIENT = frozenset({"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"})


class StoreError(RuntimeError):
    """The location is not a store, is damaged, cannot be read or written, or is of a newer version."""


@contextmanager
def explained(location: Location, *, reading: bool = False) -> Iterator[None]:
    """Turn errors of the database and the system into StoreError; with ``reading``, also values that cannot be
    decoded."""
    name = location.name
    try:
        yield
    except IntegrityError:  # an error of the caller, not of the store
        raise
    except DatabaseError as error:
        raise StoreError(sentence(location, error.orig)) from error
    except sqlite3.Error as error:
        raise StoreError(sentence(location, error)) from error
    except OSError as error:
        raise StoreError(f"{name} cannot be opened as a store: {error.strerror}; choose another file") from error
    except (ValueError, TypeError) as error:
        if not reading:
            raise
        first = str(error).partition("\n")[0]
        remedy = COPY if location.path is not None else ELSEWHERE
        raise StoreError(f"{name} is damaged: a row cannot be read ({first}); {remedy}") from error


def sentence(location: Location, error: BaseException | None) -> str:
    """The message for an error of the database."""
    if location.path is None:
        return server_sentence(location, error)
    code = sqlite_code(error)
    if code not in SENTENCES:
        return f"{location.name} cannot be used as a store: {error}; {COPY}"
    what, remedy = SENTENCES[code]
    return f"{location.name} {what} ({error}); {remedy}"


def server_sentence(location: Location, error: BaseException | None) -> str:
    """The message for an error of PostgreSQL; those of connections come without a state."""
    state = getattr(error, "sqlstate", None)
    said = location.hidden(" ".join(str(error).split()))
    if state is None:
        what, remedy = UNREACHABLE
    else:
        unknown = ("cannot be used as a store", ELSEWHERE)
        what, remedy = STATES.get(state) or STATES.get(state[:2]) or unknown
    return f"{location.name} {what} ({said}); {remedy}"


def sqlite_code(error: BaseException | None) -> int:
    """SQLite's error code, without the bits of the extended code."""
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF


def is_transient(error: DatabaseError | sqlite3.Error) -> bool:
    """Whether a transaction may succeed when it is repeated: it met another writer, or lost its connection."""
    cause = error.orig if isinstance(error, DatabaseError) else error
    if sqlite_code(cause) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return True
    lost = isinstance(error, DatabaseError) and error.connection_invalidated
    return lost or getattr(cause, "sqlstate", None) in TRANSIENT
