"""Games on disk: one compact record per game, many in a shard that is whole or not there at all.

A shard is a file: magic, version, a JSON header, the records compressed by zstandard, and a checksum of all that. It is
written beside its place and moved there, so a run that is killed loses the games in flight and nothing else. A damaged
shard is never read in part: ``read_shard`` raises ``DamagedShard``; ``read_shards`` and ``read_folder`` report and
skip it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import Game, State
from ramify.search.config import SearchConfig
from ramify.search.files import write_atomically
from ramify.search.policies import Root

MAGIC = b"RAMIFYGR"
VERSION = 1
SUFFIX = ".games"
LEVEL = 6  # of compression: a tenth smaller than 3, and still faster than games are played

logger = logging.getLogger("ramify")

RESIGNED, CUT = 1, 2
RECORDED, OPENING, FULL = 4, 8, 16
_PRIOR_BASE = np.uint32(3 << 28)


class DamagedShard(ValueError):  # noqa: N818 - it says what is wrong, as IllegalAction does
    """A shard that is not what was written."""


@dataclass(frozen=True)
class FoundBySearch:
    """What a search found at one move, as in SearchResult. Arrays are over outcomes."""

    value: NDArray[np.float32]  # [2]
    evaluation: NDArray[np.float32]  # [2]
    outcomes: tuple[NDArray[np.int32], NDArray[np.int32]]
    priors: tuple[NDArray[np.float32], NDArray[np.float32]]  # as searched with
    scores: tuple[NDArray[np.float32], NDArray[np.float32]]  # what selection would have compared next
    visits: NDArray[np.int64]  # [n0, n1]
    payoffs: NDArray[np.float32]  # [2, n0, n1], nan where unvisited
    average: tuple[NDArray[np.float32], NDArray[np.float32]] | None

    def root(self, config: SearchConfig) -> Root:
        """The numbers that policies are made of; ``config`` is the search's, from the shard's header."""
        values = []
        for player in (0, 1):
            visits = self.visits.sum(axis=1 - player)
            sums = np.nansum(np.where(self.visits > 0, self.visits * self.payoffs[player], 0.0), axis=1 - player)
            values.append(
                np.where(visits > 0, sums / np.maximum(visits, 1), self.evaluation[player]).astype(np.float32)
            )
        q = (values[0], values[1])
        return Root(self.visits, self.priors, q, self.payoffs, self.evaluation, self.average, self.scores, config)


@dataclass(frozen=True)
class Move:
    """One move of a game: who acted, what they did, and what a full search found."""

    acting: tuple[int, ...]
    actions: tuple[int, ...]
    opening: bool  # random, before the first search
    full: bool
    found: FoundBySearch | None


@dataclass(frozen=True)
class GameRecord:
    """A whole game. ``number`` and the run's seed decide it."""

    number: int
    seed: int
    returns: NDArray[np.float32]  # [2]; by resignation where ``resigned``
    resigned: bool
    cut: bool
    moves: list[Move]

    def states(self, game: Game) -> Iterator[State]:
        """The positions in which the moves were made, and the last one."""
        state = game.initial_state(seed=self.seed)
        for move in self.moves:
            yield state.copy()
            state.apply(*move.actions)
        yield state


class _Reader:
    """Numbers from bytes, one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> Any:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, "<" + kind, count, self.at)
        self.at += found.nbytes
        return found


def decode(data: bytes) -> GameRecord:
    """A record as the compiled pool writes it (cpp/search/record.cpp)."""
    reader = _Reader(data)
    number, seed, first, second, flags, count = reader.take("QQffHI")
    moves = [_decode_move(reader) for _ in range(count)]
    if reader.at != len(data):
        raise DamagedShard(f"game {number}: {len(data) - reader.at} bytes too many")
    returns = np.array([first, second], np.float32)
    return GameRecord(number, seed, returns, bool(flags & RESIGNED), bool(flags & CUT), moves)


def _decode_move(reader: _Reader) -> Move:
    flags = reader.take("B")
    acting = tuple(player for player in (0, 1) if flags >> player & 1)
    actions = tuple(reader.take("H") for _ in acting)
    found = _decode_search(reader, acting) if flags & RECORDED else None
    return Move(acting, actions, bool(flags & OPENING), bool(flags & FULL), found)


def _decode_search(reader: _Reader, acting: tuple[int, ...]) -> FoundBySearch:
    value, evaluation = reader.array("f4", 2), reader.array("f4", 2)
    outcomes, priors, scores, counts = [], [], [], []
    for player in (0, 1):
        count = reader.take("H")
        counts.append(count)
        if player in acting:
            outcomes.append(reader.array("u2", count).astype(np.int32))
            codes = reader.array("u2", count).astype(np.uint32)
            priors.append(((codes << np.uint32(12)) | _PRIOR_BASE).view(np.float32))
            scores.append(reader.array("f4", count))
        else:
            outcomes.append(np.full(count, -1, np.int32))
            priors.append(np.ones(count, np.float32))
            scores.append(np.zeros(0, np.float32))
    visited = reader.take("I")
    places = reader.array("u4", visited)
    visits = np.zeros(counts[0] * counts[1], np.int64)
    visits[places] = reader.array("u4", visited)
    payoffs = np.full((2, len(visits)), np.nan, np.float32)
    for player in (0, 1):
        payoffs[player, places] = reader.array("f4", visited)
    average = None
    if reader.take("B"):
        average = (reader.array("f4", counts[0]), reader.array("f4", counts[1]))
    return FoundBySearch(
        value,
        evaluation,
        (outcomes[0], outcomes[1]),
        (priors[0], priors[1]),
        (scores[0], scores[1]),
        visits.reshape(counts),
        payoffs.reshape(2, *counts),
        average,
    )


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ImportError("records are compressed with zstandard: pip install 'ramify[selfplay]'") from None
    return zstandard


def write_shard(path: Path, records: Iterable[bytes], header: dict[str, Any]) -> int:
    """Write records and what is known of them as one shard; returns its size. Atomic: all of it or nothing."""
    listed = list(records)
    payload = b"".join(struct.pack("<I", len(record)) + record for record in listed)
    packed = _zstandard().ZstdCompressor(level=LEVEL).compress(payload)
    head = json.dumps({**header, "games": len(listed)}, sort_keys=True).encode()
    body = MAGIC + struct.pack("<IIQQ", VERSION, len(head), len(packed), len(payload)) + head + packed
    data = body + hashlib.blake2b(body, digest_size=32).digest()
    write_atomically(path, data)
    return len(data)


def read_header(path: Path) -> dict[str, Any]:
    """What is said of a shard's games, without a look at them."""
    start = len(MAGIC) + struct.calcsize("<IIQQ")
    with path.open("rb") as file:
        data = file.read(start)
        if len(data) < start or not data.startswith(MAGIC):
            raise DamagedShard(f"{path}: not a shard of games")
        _, head_size, _, _ = struct.unpack_from("<IIQQ", data, len(MAGIC))
        try:
            header: dict[str, Any] = json.loads(file.read(head_size))
        except ValueError:
            raise DamagedShard(f"{path}: its header cannot be read") from None
    return header


def read_shard(path: Path) -> tuple[dict[str, Any], list[GameRecord]]:
    """Header and games of a shard; raises DamagedShard unless it is exactly what was written."""
    data = path.read_bytes()
    sizes = struct.calcsize("<IIQQ")
    if len(data) < len(MAGIC) + sizes + 32 or not data.startswith(MAGIC):
        raise DamagedShard(f"{path}: not a shard of games")
    version, head_size, packed_size, payload_size = struct.unpack_from("<IIQQ", data, len(MAGIC))
    if version != VERSION:
        raise DamagedShard(f"{path}: version {version}, but this ramify reads version {VERSION}")
    start = len(MAGIC) + sizes
    if len(data) != start + head_size + packed_size + 32:
        raise DamagedShard(f"{path}: {len(data)} bytes where {start + head_size + packed_size + 32} were written")
    if hashlib.blake2b(data[:-32], digest_size=32).digest() != data[-32:]:
        raise DamagedShard(f"{path}: the checksum is wrong")
    header = json.loads(data[start : start + head_size])
    packed = data[start + head_size : -32]
    payload = _zstandard().ZstdDecompressor().decompress(packed, max_output_size=payload_size)
    games, at = [], 0
    while at < len(payload):
        (size,) = struct.unpack_from("<I", payload, at)
        games.append(decode(payload[at + 4 : at + 4 + size]))
        at += 4 + size
    return header, games


def shards(folder: str | os.PathLike[str]) -> list[Path]:
    """The shards of a folder, in the order in which they were written."""
    return sorted(path for path in Path(folder).glob(f"*{SUFFIX}") if not path.name.startswith("."))


def next_shard(folder: Path) -> Path:
    """Where the next shard goes."""
    numbers = [int(path.stem) for path in shards(folder) if path.stem.isdigit()]
    return folder / f"{max(numbers, default=-1) + 1:06d}{SUFFIX}"


def read_folder(folder: str | os.PathLike[str]) -> Iterator[tuple[dict[str, Any], list[GameRecord]]]:
    """All whole shards of a folder, as ``read_shards`` gives them."""
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"there is no folder {os.fspath(folder)!r} with games")
    yield from read_shards(shards(folder))


def read_shards(paths: Iterable[Path]) -> Iterator[tuple[dict[str, Any], list[GameRecord]]]:
    """Those shards that are whole; one that is damaged or unreadable is reported (logger ``ramify``) and skipped."""
    for path in paths:
        try:
            yield read_shard(path)
        except (DamagedShard, OSError) as damage:
            logger.warning("skipped: %s", damage)


class Journal:
    """Finished games that no shard has yet, written down at once: they outlive the process, however it ends.

    A file of a JSON header line and of records, each with its length and checksum; what comes after the first that is
    not whole was being written when the process died.
    """

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._start = json.dumps(header, sort_keys=True).encode() + b"\n"
        self.path = folder / f".journal-{os.getpid()}"
        self._beside = folder / f".next.journal-{os.getpid()}"
        self._file = self.path.open("wb")
        self._file.write(self._start)

    def add(self, records: Iterable[bytes]) -> None:
        for record in records:
            self._file.write(struct.pack("<II", len(record), zlib.crc32(record)) + record)
        self._file.flush()

    def keep(self, records: Iterable[bytes]) -> None:
        """Forget all games but these: shards have the others. In one go: a crash leaves the old journal or the new."""
        following = self._beside.open("wb")
        following.write(self._start)
        self._file, old = following, self._file
        self.add(records)
        self._beside.replace(self.path)
        old.close()

    def close(self) -> None:
        self._file.close()
        for path in (self._beside, self.path):
            path.unlink(missing_ok=True)


def recover(folder: str | os.PathLike[str]) -> int:
    """Make shards of the journals that runs which died have left; returns how many games that saved."""
    saved = 0
    for path in Path(folder).glob(".next.journal-*"):  # was being written when its run died: the old one is whole
        if not _alive(int(path.name.rpartition("-")[2])):
            path.unlink()
    for path in sorted(Path(folder).glob(".journal-*")):
        if _alive(int(path.name.rpartition("-")[2])):
            continue  # of a run that goes on
        start, _, data = path.read_bytes().partition(b"\n")
        found, at = [], 0
        while at + 8 <= len(data):
            size, checksum = struct.unpack_from("<II", data, at)
            record = data[at + 8 : at + 8 + size]
            if len(record) < size or zlib.crc32(record) != checksum:
                break
            found.append(record)
            at += 8 + size
        known = {game.number for _, games in read_folder(folder) for game in games} if found else set()
        found = [record for record in found if decode(record).number not in known]
        if found:
            write_shard(next_shard(Path(folder)), found, json.loads(start))
            saved += len(found)
        path.unlink()
    return saved


def _alive(process: int) -> bool:
    if process == os.getpid():
        return False  # an earlier run of this very process, or another process of that number, long gone
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
