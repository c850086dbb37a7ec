"""Finished games that no shard has yet: a journal that outlives its process, and what becomes of it afterwards.

One process at a time plays into a folder. Whoever holds the folder knows that all journals in it are of runs that died.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import ramify.selfplay.records as records
from ramify.base.files import InUse, locked, reason

LOCK = ".selfplay.lock"
WAIT_SECONDS = 10.0  # for another process to let go of the folder, where that is to be expected
SHORTEST = struct.calcsize(records.GAME)  # a record of no moves
OLD_SECONDS = 3600.0  # without locks: a file that nobody has touched for so long is nobody's

JOURNAL = re.compile(r"\.journal-(\d+)(-[0-9a-f]+)?")
NEXT_JOURNAL = re.compile(r"\.next\.journal-(\d+)(-[0-9a-f]+)?")
BESIDE = re.compile(r"\.\d+\.games\.([0-9a-f]{8}|claim)")  # a shard that was being written; see ramify.base.files

logger = logging.getLogger("ramify")
_of_this_process: set[str] = set()  # journals that are being written


@contextmanager
def held(folder: Path, wait: float = 0.0) -> Iterator[bool]:
    """Keep other processes from playing into a folder, which is made; InUse if one still does after ``wait`` seconds.

    Gives whether others are kept out for sure: not so on file systems without locks.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sure = stack.enter_context(locked(folder / LOCK, f"playing games into {folder}", wait))
        except OSError as error:
            raise OSError(f"games cannot be kept in {folder}: {reason(error)}") from None
        yield sure


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say in one sentence that something could not be written."""
    try:
        yield
    except OSError as error:
        raise OSError(f"games cannot be written to {folder}: {reason(error)}") from error


class Journal:
    """Finished games that no shard has yet, written down at once: they outlive the process, however it ends.

    A file of a JSON header line and of pieces, each with its length and checksum: the header once more, and records.
    A piece that is damaged costs none of the others.
    """

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        head = json.dumps(header, sort_keys=True).encode()
        self._start = head + b"\n" + _piece(head)
        name = f"journal-{os.getpid()}-{secrets.token_hex(4)}"
        self.path = folder / f".{name}"
        self._beside = folder / f".next.{name}"
        self._file = self.path.open("xb")
        _of_this_process.update((self.path.name, self._beside.name))
        self._file.write(self._start)

    def add(self, finished: Iterable[bytes]) -> None:
        for record in finished:
            self._file.write(_piece(record))
        self._file.flush()

    def keep(self, waiting: Iterable[bytes]) -> None:
        """Forget all games but these: shards have the others. In one go: a crash leaves the old journal or the new."""
        following = self._beside.open("wb")
        following.write(self._start)
        self._file, old = following, self._file
        old.close()
        self.add(waiting)
        self._beside.replace(self.path)

    def leave(self) -> None:
        """Close the journal and leave it for ``recover``."""
        with suppress(OSError):  # a full disk: what could not be written is lost
            self._file.close()
        _of_this_process.difference_update((self.path.name, self._beside.name))

    def close(self) -> None:
        """Close the journal, all of whose games are in shards."""
        self.leave()
        for path in (self._beside, self.path):
            path.unlink(missing_ok=True)


def _piece(data: bytes) -> bytes:
    return struct.pack("<II", len(data), zlib.crc32(data)) + data


def _pieces(data: bytes, path: Path) -> Iterator[bytes]:
    """The whole pieces of a journal. What is between them is damaged; what comes after them was being written."""
    at, gap = data.find(b"\n") + 1 if _plain_header(data.partition(b"\n")[0]) is not None else 0, False
    while at + 8 <= len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        piece = data[at + 8 : at + 8 + size] if size <= len(data) - at - 8 else b""
        if (len(piece) >= SHORTEST or piece.startswith(b"{")) and zlib.crc32(piece) == checksum:
            if gap:
                logger.warning("%s: a damaged part of it is left out", path)
            gap = False
            at += 8 + size
            yield piece
        else:
            gap = True
            at += 1


def _plain_header(data: bytes) -> dict[str, Any] | None:
    """The header that these bytes are, if they are one."""
    if not data.startswith(b"{"):
        return None
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        return found if isinstance(found, dict) else None
    return None


def recover(folder: str | os.PathLike[str], wait: float = WAIT_SECONDS) -> int:
    """Make shards of the journals that runs which died have left; returns how many games that saved.

    Files that such runs were writing are removed. Where another process goes on playing, all that is its own affair.
    """
    folder = Path(folder)
    if not _left_behind(folder):
        return 0
    try:
        with held(folder, wait) as sure:
            return recover_held(folder, sure)
    except InUse as busy:
        logger.warning("nothing was recovered: %s", busy)
        return 0


def _left_behind(folder: Path) -> list[Path]:
    patterns = (JOURNAL, NEXT_JOURNAL, BESIDE)
    named = (path for path in folder.glob(".*") if any(pattern.fullmatch(path.name) for pattern in patterns))
    return sorted(path for path in named if path.is_file() and not path.is_symlink())


def recover_held(folder: Path, sure: bool) -> int:
    """As ``recover``, for who holds the folder, for sure or not."""
    saved = 0
    with writing(folder):
        for path in _left_behind(folder):
            if not sure and _in_use(path):
                continue
            if JOURNAL.fullmatch(path.name):
                data = _read(path)
                if data is None:
                    continue
                saved += _save(folder, path, data)
            path.unlink(missing_ok=True)
    return saved


def _read(journal: Path) -> bytes | None:
    """The bytes of a journal; None for a file that is none, or nothing of which can be read."""
    try:
        data = journal.read_bytes()
    except OSError as error:
        logger.warning("%s stays as it is: %s", journal, reason(error))
        return None
    if data and not data.startswith(b"{") and next(_pieces(data, journal), None) is None:
        logger.warning("%s stays as it is: no journal of games, or all of it is damaged", journal)
        return None
    return data


def _save(folder: Path, journal: Path, data: bytes) -> int:
    """Write those games of a journal that no shard has; returns how many."""
    pieces = list(_pieces(data, journal))
    heads = [piece for piece in pieces if _plain_header(piece) is not None]
    known, waiting = records.numbers_in(folder) if len(pieces) > len(heads) else set(), list[bytes]()
    for piece in pieces:
        if piece in heads:
            continue
        try:
            game = records.decode(piece)
        except records.DamagedShard as damage:
            logger.warning("%s: left out: %s", journal, damage)
            continue
        if (game.number, game.seed) not in known:
            known.add((game.number, game.seed))
            waiting.append(piece)
    header = _plain_header(heads[0]) if heads else None
    header = header or _header_without_checksum(folder, journal, data)
    saved = len(waiting)
    while waiting:
        chosen = records.lot(waiting, len(waiting))
        records.place_shard(records.next_shard(folder), records.pack_shard(chosen, header))
        waiting = waiting[len(chosen) :]
    return saved


def _header_without_checksum(folder: Path, journal: Path, data: bytes) -> dict[str, Any]:
    """The header in a journal's first line, as far as the shards of the folder, all of one game, do not belie it."""
    found, newest = _plain_header(data.partition(b"\n")[0]), records.newest_header(folder)
    if found is None:
        logger.warning("%s: its header cannot be read; that of the newest shard is taken", journal)
        found = {}
    if newest is None:
        return found
    same = all(found.get(name) == newest.get(name) for name in ("game", "params"))
    return found if same else dict(newest)


def _in_use(path: Path) -> bool:
    """Whether a file may be a living process's: what can be told without locks."""
    found = JOURNAL.fullmatch(path.name) or NEXT_JOURNAL.fullmatch(path.name)
    if found is None:
        with suppress(OSError):
            return time.time() - path.stat().st_mtime < OLD_SECONDS
        return True
    process = int(found[1])
    if process == os.getpid():  # if not of a run that goes on: of an earlier one, or of a process long gone
        return path.name in _of_this_process
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
