"""The journal of finished games that are not in a shard yet, and its recovery after a crash.

One process at a time plays into a directory. The holder of the lock knows that all journals in it are left over from
runs that died.
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
from ramify.base.files import InUse, is_running, locked, reason

LOCK = ".selfplay.lock"
WAIT_SECONDS = 10.0  # for another process to release the directory, where that is expected
SHORTEST = struct.calcsize(records.GAME)  # size of a record without moves
OLD_SECONDS = 3600.0  # without locks: a file not modified for this long is left over

JOURNAL = re.compile(r"\.journal-(\d+)(-[0-9a-f]+)?")
NEXT_JOURNAL = re.compile(r"\.next\.journal-(\d+)(-[0-9a-f]+)?")
BESIDE = re.compile(r"\.\d+\.games\.([0-9a-f]{8}|claim)")  # a shard that was being written; see ramify.base.files

logger = logging.getLogger("ramify")
_of_this_process: set[str] = set()  # journals that are being written


@contextmanager
def held(folder: Path, wait: float = 0.0) -> Iterator[bool]:
    """Lock a directory (created if missing) for self-play; InUse if another process holds it after ``wait`` seconds.

    Yields whether other processes are excluded: False on file systems without locks.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sure = stack.enter_context(locked(folder / LOCK, f"playing games into {folder}", wait))
        except OSError as error:
            raise OSError(f"cannot use {folder} for self-play games: {reason(error)}") from None
        yield sure


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError of a write into one sentence that names the directory."""
    try:
        yield
    except OSError as error:
        raise OSError(f"cannot write games to {folder}: {reason(error)}") from error


class Journal:
    """Finished games that are not in a shard yet, written at once so that they survive the end of the process.

    The file consists of a JSON header line and of pieces with length and checksum: the header again, then the records.
    A damaged piece does not affect the others.
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
        """Atomically reduce the journal to these games; the others are in shards."""
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
        """Close and delete the journal; all of its games are in shards."""
        self.leave()
        for path in (self._beside, self.path):
            path.unlink(missing_ok=True)


def _piece(data: bytes) -> bytes:
    return struct.pack("<II", len(data), zlib.crc32(data)) + data


def _pieces(data: bytes, path: Path) -> Iterator[bytes]:
    """The intact pieces of a journal. Data between them is damaged; data after the last one was being written."""
    at, gap = data.find(b"\n") + 1 if _plain_header(data.partition(b"\n")[0]) is not None else 0, False
    while at + 8 <= len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        piece = data[at + 8 : at + 8 + size] if size <= len(data) - at - 8 else b""
        if (len(piece) >= SHORTEST or piece.startswith(b"{")) and zlib.crc32(piece) == checksum:
            if gap:
                logger.warning("%s: skipped a damaged part", path)
            gap = False
            at += 8 + size
            yield piece
        else:
            gap = True
            at += 1


def _plain_header(data: bytes) -> dict[str, Any] | None:
    """Parse a header; None if the bytes are not one."""
    if not data.startswith(b"{"):
        return None
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        return found if isinstance(found, dict) else None
    return None


def recover(folder: str | os.PathLike[str], wait: float = WAIT_SECONDS) -> int:
    """Write the journals left by runs that died to shards; returns the number of games recovered.

    Temporary files of such runs are removed. Nothing is done while another process plays into the directory.
    """
    folder = Path(folder)
    if not _left_behind(folder):
        return 0
    try:
        with held(folder, wait) as sure:
            return recover_held(folder, sure)
    except InUse as busy:
        logger.warning("no games were recovered: %s", busy)
        return 0


def _left_behind(folder: Path) -> list[Path]:
    patterns = (JOURNAL, NEXT_JOURNAL, BESIDE)
    named = (path for path in folder.glob(".*") if any(pattern.fullmatch(path.name) for pattern in patterns))
    return sorted(path for path in named if path.is_file() and not path.is_symlink())


def recover_held(folder: Path, sure: bool) -> int:
    """As ``recover``, for the holder of the directory; ``sure`` is the value yielded by ``held``."""
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
    """The bytes of a journal; None if the file is not a journal or cannot be read."""
    try:
        data = journal.read_bytes()
    except OSError as error:
        logger.warning("%s was not recovered: %s", journal, reason(error))
        return None
    if data and not data.startswith(b"{") and next(_pieces(data, journal), None) is None:
        logger.warning("%s was not recovered: it is not a journal of games, or is damaged completely", journal)
        return None
    return data


def _save(folder: Path, journal: Path, data: bytes) -> int:
    """Write the games of a journal that are not in a shard; returns their number."""
    pieces = list(_pieces(data, journal))
    heads = [piece for piece in pieces if _plain_header(piece) is not None]
    known, waiting = records.numbers_in(folder) if len(pieces) > len(heads) else set(), list[bytes]()
    for piece in pieces:
        if piece in heads:
            continue
        try:
            game = records.decode(piece)
        except records.DamagedShard as damage:
            logger.warning("%s: skipped: %s", journal, damage)
            continue
        if (game.number, game.seed) not in known:
            known.add((game.number, game.seed))
            waiting.append(piece)
    header = _plain_header(heads[0]) if heads else None
    header = header or _header_without_checksum(folder, journal, data)
    saved = len(waiting)
    while waiting:
        chosen = records.shard_records(waiting, len(waiting))
        records.place_shard(records.next_shard(folder), records.pack_shard(chosen, header))
        waiting = waiting[len(chosen) :]
    return saved


def _header_without_checksum(folder: Path, journal: Path, data: bytes) -> dict[str, Any]:
    """The header in a journal's first line, or that of the newest shard if the two are of different games."""
    found, newest = _plain_header(data.partition(b"\n")[0]), records.newest_header(folder)
    if found is None:
        logger.warning("%s: the header cannot be read; using that of the newest shard", journal)
        found = {}
    if newest is None:
        return found
    same = all(found.get(name) == newest.get(name) for name in ("game", "params"))
    return found if same else dict(newest)


def _in_use(path: Path) -> bool:
    """Whether a file may belong to a running process, judged without locks."""
    found = JOURNAL.fullmatch(path.name) or NEXT_JOURNAL.fullmatch(path.name)
    if found is None:
        with suppress(OSError):
            return time.time() - path.stat().st_mtime < OLD_SECONDS
        return True
    process = int(found[1])
    if process == os.getpid():  # of a run in progress, or of an earlier process with the same id
        return path.name in _of_this_process
    return is_running(process)
