"""Error messages for a store's file: one sentence with the file, the problem and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DatabaseError, IntegrityError

COPY = "restore a backup, or choose another file"
# Problem and remedy by SQLite's error code. The file itself is never changed.
SENTENCES = {
    sqlite3.SQLITE_NOTADB: ("cannot be opened as a store: it is not an SQLite database", COPY),
    sqlite3.SQLITE_CORRUPT: ("is damaged", f"{COPY}; 'sqlite3 FILE .recover' may recover some of it"),
    sqlite3.SQLITE_BUSY: ("is locked by another process", "try again when that has ended"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "try again when that has ended"),
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


class StoreError(RuntimeError):
    """The file is not a store, is damaged, cannot be read or written, or is of a newer version."""


@contextmanager
def explained(path: Path, *, reading: bool = False) -> Iterator[None]:
    """Turn errors of SQLite and the system into StoreError; with ``reading``, also values that cannot be decoded."""
    try:
        yield
    except IntegrityError:  # an error of the caller, not of the file
        raise
    except DatabaseError as error:
        raise StoreError(sentence(path, error.orig)) from error
    except sqlite3.Error as error:
        raise StoreError(sentence(path, error)) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be opened as a store: {error.strerror}; choose another file") from error
    except (ValueError, TypeError) as error:
        if not reading:
            raise
        first = str(error).partition("\n")[0]
        raise StoreError(f"{path} is damaged: a row cannot be read ({first}); {COPY}") from error


def sentence(path: Path, error: BaseException | None) -> str:
    """The message for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the other bits are the extended code
    if code not in SENTENCES:
        return f"{path} cannot be used as a store: {error}; {COPY}"
    what, remedy = SENTENCES[code]
    return f"{path} {what} ({error}); {remedy}"
