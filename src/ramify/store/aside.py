"""Finished games that could not be written to a store yet: kept in memory and in a file until they can.

The file is in the directory of the store (of a server: in the current one) or, if that is not writable, in the
directory for temporary files. Opening a store imports such files next to it, except those of processes that are still
running, which write them themselves.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ramify.base.files import is_running

_numbers = itertools.count(1)
Record = dict[str, Any]  # {"players": rows, "game": row}


class Aside:
    """Unsaved games of one process."""

    def __init__(self, store: Path) -> None:
        self.records: list[Record] = []
        self.file: Path | None = None
        self._written = 0  # number of records in the file
        self._places = [store.parent.absolute(), Path(tempfile.gettempdir())]
        self._name = f"{store.name}.unsaved-{os.getpid()}-{next(_numbers)}.jsonl"

    def add(self, record: Record) -> None:
        """Keep a game. If no file can be written, it stays in memory until the next call."""
        self.records.append(record)
        text = "".join(json.dumps(one) + "\n" for one in self.records[self._written :])
        for place in [self.file.parent] if self.file is not None else self._places:
            with contextlib.suppress(OSError):
                append(place / self._name, text)
                self.file, self._written = place / self._name, len(self.records)
                return

    def clear(self) -> None:
        """Delete the games, which are in the store now."""
        self.records, self._written = [], 0
        if self.file is not None:
            self.file.unlink(missing_ok=True)
            self.file = None


def append(path: Path, text: str) -> None:
    """Append lines to a file: all of them, or none."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.truncate(path, size)
        raise


def take_in(store: Path, write: Callable[[list[Record]], None]) -> None:
    """Pass unsaved games of earlier processes to ``write``, then delete their files."""
    for path in left_beside(store):
        records = list(read_records(path))
        write(records)
        path.unlink(missing_ok=True)


def left_beside(store: Path) -> list[Path]:
    """Unsaved files of processes that have ended."""
    found = []
    for name in sorted(glob.glob(f"{glob.escape(str(store))}.unsaved-*.jsonl")):  # noqa: PTH207 - it cannot escape
        process = name.rpartition(".unsaved-")[2].partition("-")[0]
        if process.isdecimal() and not is_running(int(process)):
            found.append(Path(name))
    return found


def read_records(path: Path) -> Iterator[Record]:
    """The games in a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record: Record = json.loads(line)
        yield record
