"""What can be wrong with a store's file, in one sentence: which file, what is wrong, what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DatabaseError, IntegrityError

COPY = "restore a copy of it, or choose another file"
# By SQLite's code: what is wrong, and what to do. Nothing is ever done to the file itself.
SENTENCES = {
    sqlite3.SQLITE_NOTADB: ("cannot be opened as a store: it is no SQLite database", COPY),
    sqlite3.SQLITE_CORRUPT: ("is damaged", f"{COPY}; 'sqlite3 FILE .recover' may rescue what is left"),
    sqlite3.SQLITE_BUSY: ("is locked by another process", "try again when that has ended"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "try again when that has ended"),
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "make room, and run the same command again"),
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only", "copy it to where it can be, or choose another"),
    sqlite3.SQLITE_PERM: ("cannot be written: it is not allowed", "copy it to where it can be, or choose another"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened as a store",
        "it and its folder must be there and allow writing; copy it to where they do, or choose another file",
    ),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "check its disk, and run the same command again"),
    sqlite3.SQLITE_ERROR: ("has not the tables of this version of ramify", COPY),
}


class StoreError(RuntimeError):
    """A file that is no store, is damaged, cannot be read or written now, or is of a newer version."""


@contextmanager
def explained(path: Path, *, reading: bool = False) -> Iterator[None]:
    """Turns what SQLite and the system say of a file into a StoreError. Where rows are read, so are values that cannot
    be what was written."""
    try:
        yield
    except IntegrityError:  # a mistake of the caller's, not of the file
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
    """What an error of SQLite means for the file."""
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the rest says which kind of it
    if code not in SENTENCES:
        return f"{path} cannot be used as a store: {error}; {COPY}"
    what, remedy = SENTENCES[code]
    return f"{path} {what} ({error}); {remedy}"
