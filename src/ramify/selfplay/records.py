"""Game records on disk: one compact record per game, many records per shard.

A shard is a file: magic, version, a JSON header, the records compressed by zstandard, and a checksum of everything
before it. Shards are written atomically and never replaced. A damaged shard is never read in part: ``read_shard``
raises ``DamagedShard``; ``read_shards`` and ``read_folder`` log and skip it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.base.files import write_new
from ramify.engine.config import SearchConfig
from ramify.engine.policies import Root
from ramify.games import Game, State
from ramify.games.files.openings import read_position

MAGIC = b"RAMIFYGR"
VERSION, EXTENDED_VERSION = 1, 2  # 2: some of the games have STARTED or DRAWS
SUFFIX = ".games"
LEVEL = 6  # compression level: a tenth smaller than 3, and still faster than games are played
SIZES = "<IIQQ"  # after the magic: version, bytes of the header, of the packed records, of the records
DIGEST = 32  # bytes
GAME = "<QQffHI"  # of a record: number, seed, returns, flags, moves

# Limits against forged shards that would fill the memory; real shards stay far below them.
MOST_WRITTEN = 256 << 20  # bytes of records in one shard, unless a single game has more
MOST_UNPACKED = 1 << 30  # bytes of records
MOST_DECODED = 5 << 30  # bytes of games in memory, about
MOST_RATIO = 64  # of either to the size of the file, where that allows for more

logger = logging.getLogger("ramify")

RESIGNED, CUT = 1, 2
STARTED, DRAWS = 4, 8  # the position in which the game starts follows; searches end with the chance of a draw
RECORDED, OPENING, FULL = 4, 8, 16
_PRIOR_BASE = np.uint32(3 << 28)


class DamagedShard(ValueError):  # noqa: N818 - it says what is wrong, as IllegalAction does
    """A shard that is damaged or is not a shard."""


@dataclass(frozen=True)
class FoundBySearch:
    """The recorded search of one move, as in SearchResult. Arrays are indexed by outcome."""

    value: NDArray[np.float32]  # [2]
    evaluation: NDArray[np.float32]  # [2]
    outcomes: tuple[NDArray[np.int32], NDArray[np.int32]]
    priors: tuple[NDArray[np.float32], NDArray[np.float32]]  # as used by the search
    scores: tuple[NDArray[np.float32], NDArray[np.float32]]  # selection scores at the end of the search
    visits: NDArray[np.int64]  # [n0, n1]
    payoffs: NDArray[np.float32]  # [2, n0, n1], nan where unvisited
    average: tuple[NDArray[np.float32], NDArray[np.float32]] | None
    draw: float | None = None  # chance of a draw, where it is known

    def root(self, config: SearchConfig) -> Root:
        """The root statistics from which policies are computed; ``config`` is the search's, from the shard's header."""
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
    """One move of a game: the acting players, their actions, and the result of a full search."""

    acting: tuple[int, ...]
    actions: tuple[int, ...]
    opening: bool  # random, before the first search
    full: bool
    found: FoundBySearch | None


@dataclass(frozen=True)
class GameRecord:
    """A recorded game; determined by ``number`` and the run's seed."""

    number: int
    seed: int
    returns: NDArray[np.float32]  # [2]; by resignation where ``resigned``
    resigned: bool
    cut: bool
    moves: list[Move]
    start: str | None = None  # the first position, as text or as its fields in JSON; None: that of the seed

    def initial_state(self, game: Game) -> State:
        """The first position."""
        return game.initial_state(seed=self.seed) if self.start is None else read_position(game, self.start)

    def states(self, game: Game) -> Iterator[State]:
        """The positions before each move, and the final one."""
        state = self.initial_state(game)
        for move in self.moves:
            yield state.copy()
            state.apply(*move.actions)
        yield state


class _Reader:
    """Reads numbers from bytes; the decoded data may take about ``room`` bytes of memory."""

    def __init__(self, data: bytes, room: int) -> None:
        self.data, self.at, self.room = data, 0, room

    def spend(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise DamagedShard("the decoded games exceed the memory limit")

    def take(self, form: str) -> Any:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, "<" + kind, count, self.at)
        self.at += found.nbytes
        return found


def decode(data: bytes) -> GameRecord:
    """Decode a record as written by the compiled pool (cpp/search/record.cpp); raises DamagedShard if it is invalid."""
    return _decode(_Reader(data, MOST_DECODED))


def _decode(reader: _Reader) -> GameRecord:
    _number(reader.data)
    try:
        number, seed, first, second, flags, count = reader.take(GAME[1:])
        start = bytes(reader.array("u1", reader.take("I"))).decode() if flags & STARTED else None
        moves = [_decode_move(reader, bool(flags & DRAWS)) for _ in range(count)]
    except DamagedShard:
        raise
    except (struct.error, ValueError, IndexError, MemoryError):  # too short, or numbers that cannot be
        raise DamagedShard("a record is not a game") from None
    if reader.at != len(reader.data):
        raise DamagedShard(f"game {number}: the record has {len(reader.data) - reader.at} extra bytes")
    returns = np.array([first, second], np.float32)
    return GameRecord(number, seed, returns, bool(flags & RESIGNED), bool(flags & CUT), moves, start)


def _decode_move(reader: _Reader, draws: bool) -> Move:
    flags = reader.take("B")
    acting = tuple(player for player in (0, 1) if flags >> player & 1)
    if not acting:
        raise DamagedShard("a record has a move without an acting player")
    reader.spend(256)
    actions = tuple(reader.take("H") for _ in acting)
    found = _decode_search(reader, acting, draws) if flags & RECORDED else None
    return Move(acting, actions, bool(flags & OPENING), bool(flags & FULL), found)


def _decode_search(reader: _Reader, acting: tuple[int, ...], draws: bool) -> FoundBySearch:
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
    reader.spend(2048 + 32 * sum(counts) + 16 * counts[0] * counts[1])  # before it is taken
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
        reader.take("f") if draws else None,
    )


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ImportError("game records need zstandard: pip install 'ramify[selfplay]'") from None
    return zstandard


class Header(dict[str, Any]):
    """The header of a shard; a missing entry raises DamagedShard."""

    def __init__(self, path: Path, said: dict[str, Any]) -> None:
        super().__init__(said)
        self.path = path

    def __missing__(self, name: str) -> Any:
        raise DamagedShard(f"{self.path}: the header has no entry {name!r}")


HEADER_TYPES = {"games": int, "game": str, "params": dict, "search": dict, "play": dict, "seed": int}


def pack_shard(records: Iterable[bytes], header: dict[str, Any]) -> bytes:
    """The bytes of a shard with these records and this header."""
    listed = list(records)
    payload = b"".join(struct.pack("<I", len(record)) + record for record in listed)
    packed: bytes = _zstandard().ZstdCompressor(level=LEVEL).compress(payload)
    head = json.dumps({**header, "games": len(listed)}, sort_keys=True).encode()
    version = EXTENDED_VERSION if any(game_flags(record) & (STARTED | DRAWS) for record in listed) else VERSION
    body = MAGIC + struct.pack(SIZES, version, len(head), len(packed), len(payload)) + head + packed
    return body + _digest(body)


def write_shard(path: Path, records: Iterable[bytes], header: dict[str, Any]) -> int:
    """Write records and their header as one shard, atomically; returns its size in bytes.

    Raises FileExistsError if the file exists: a shard is never replaced.
    """
    data = pack_shard(records, header)
    write_new(path, data)
    return len(data)


def place_shard(path: Path, data: bytes) -> Path:
    """Write a packed shard to ``path`` or, if another shard is there, to the next free number.

    If the same shard is there already, nothing is written, so this can be repeated after an interruption.
    """
    while True:
        try:
            write_new(path, data)
        except FileExistsError:
            if path.is_file() and path.read_bytes() == data:
                return path
            path = _numbered(path.parent, int(path.stem) + 1)
        else:
            return path


def shard_records(records: Sequence[bytes], games: int) -> list[bytes]:
    """The first records that go into one shard of at most ``games``, bounded by size; at least one record."""
    total, chosen = 0, list[bytes]()
    for record in records[:games]:
        total += len(record)
        if chosen and total > MOST_WRITTEN:
            break
        chosen.append(record)
    return chosen


def _digest(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST).digest()


def read_header(path: Path) -> Header:
    """The header of a shard, without decoding its games; raises DamagedShard if the shard is damaged."""
    return _open_shard(path)[0]


def newest_header(folder: Path) -> Header | None:
    """The header of the last undamaged shard of a directory; None if there is none."""
    for path in reversed(shards(folder)):
        with suppress(DamagedShard, OSError):
            return read_header(path)
    return None


def read_shard(path: Path) -> tuple[Header, list[GameRecord]]:
    """Header and games of a shard; raises DamagedShard if the shard is damaged."""
    header, packed, size = _open_shard(path)
    room, games = max(MOST_DECODED, MOST_RATIO * len(packed)), list[GameRecord]()
    try:
        for record in _unpack(packed, size):
            reader = _Reader(record, room)
            games.append(_decode(reader))
            room = reader.room
    except DamagedShard as damage:
        raise DamagedShard(f"{path}: {damage}") from None
    _check_count(header, len(games))
    return header, games


def read_records(path: Path) -> tuple[Header, list[bytes]]:
    """Header and undecoded records of a shard; raises DamagedShard if the shard is damaged."""
    header, packed, size = _open_shard(path)
    try:
        found = list(_unpack(packed, size))
    except DamagedShard as damage:
        raise DamagedShard(f"{path}: {damage}") from None
    _check_count(header, len(found))
    return header, found


def read_numbers(path: Path) -> list[tuple[int, int]]:
    """Number and seed of a shard's games, without decoding them; raises DamagedShard if the shard is damaged."""
    header, packed, size = _open_shard(path)
    try:
        found = [_number(record) for record in _unpack(packed, size)]
    except DamagedShard as damage:
        raise DamagedShard(f"{path}: {damage}") from None
    _check_count(header, len(found))
    return found


def record_number(record: bytes) -> int:
    """The number of a game, from its record."""
    return _number(record)[0]


def _number(record: bytes) -> tuple[int, int]:
    if len(record) < struct.calcsize(GAME):
        raise DamagedShard("a record is not a game")
    number, seed = struct.unpack_from("<QQ", record)
    if number >= 1 << 63:
        raise DamagedShard(f"the game number {number} is out of range")
    return number, seed


def game_flags(record: bytes) -> int:
    """The flags of a game, such as RESIGNED; 0 if the record is too short to be a game."""
    return int(struct.unpack_from(GAME, record)[4]) if len(record) >= struct.calcsize(GAME) else 0


def _check_count(header: Header, count: int) -> None:
    if count != header["games"]:
        raise DamagedShard(f"{header.path}: it has {count} games, but its header says {header['games']}")


def _open_shard(path: Path) -> tuple[Header, memoryview, int]:
    """Header, compressed records and uncompressed size of a shard, after verifying its checksum."""
    start = len(MAGIC) + struct.calcsize(SIZES)
    data = _content(path, start)
    if len(data) < start + DIGEST or data[: len(MAGIC)] != MAGIC:
        raise DamagedShard(f"{path}: not a shard of games")
    version, head_size, packed_size, size = struct.unpack_from(SIZES, data, len(MAGIC))
    if version not in (VERSION, EXTENDED_VERSION):
        raise DamagedShard(
            f"{path}: format version {version}; this version of ramify reads versions {VERSION} and {EXTENDED_VERSION}"
        )
    if len(data) != start + head_size + packed_size + DIGEST:
        raise DamagedShard(f"{path}: {len(data)} bytes instead of {start + head_size + packed_size + DIGEST}")
    if _digest(data[:-DIGEST]) != data[-DIGEST:]:
        raise DamagedShard(f"{path}: the checksum is wrong")
    if size > max(MOST_UNPACKED, MOST_RATIO * packed_size):
        raise DamagedShard(f"{path}: implausible size: {packed_size} bytes that would unpack to {size}")
    return _read_head(path, bytes(data[start : start + head_size])), data[start + head_size : -DIGEST], size


def _content(path: Path, start: int) -> memoryview:
    """The bytes of a file; only the first few if it is not a shard."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
        raise DamagedShard(f"{path}: not a regular file")
    try:
        with path.open("rb") as file:
            data = file.read(start)
            if data.startswith(MAGIC):
                file.seek(0)
                data = file.read()
            return memoryview(data)
    except MemoryError:
        raise DamagedShard(f"{path}: too large for the memory") from None


def _read_head(path: Path, data: bytes) -> Header:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        raise DamagedShard(f"{path}: the header is not valid JSON") from None
    if not isinstance(said, dict):
        raise DamagedShard(f"{path}: the header is not a JSON object")
    for name, kind in HEADER_TYPES.items():
        if name in said and not isinstance(said[name], kind):
            raise DamagedShard(f"{path}: {name!r} in the header must be of type {kind.__name__}")
    return Header(path, said)


def _unpack(packed: memoryview, size: int) -> Iterator[bytes]:
    """Decompress the records one by one, so that no more is unpacked than is read."""
    zstandard = _zstandard()
    left = size
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as stream:
            while left:
                (length,) = struct.unpack("<I", _read(stream, 4))
                left -= 4 + length
                if left < 0:
                    raise DamagedShard("a record is longer than the shard")
                yield _read(stream, length)
            if stream.read(1):
                raise DamagedShard(f"the records are longer than the {size} bytes in the header")
    except (zstandard.ZstdError, MemoryError):
        raise DamagedShard("the records cannot be decompressed") from None


def _read(stream: Any, size: int) -> bytes:
    """Read ``size`` bytes in parts, so that a forged length does not allocate memory."""
    parts, left = list[bytes](), size
    while left:
        part = stream.read(min(left, 1 << 20))
        if not part:
            raise DamagedShard("the records are truncated")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def shards(folder: str | os.PathLike[str]) -> list[Path]:
    """The shards of a directory, in the order in which they were written."""
    return sorted(path for path in Path(folder).glob(f"*{SUFFIX}") if not path.name.startswith("."))


def games_folder(folder: str | os.PathLike[str]) -> Path:
    """The directory of shards that a folder stands for: that of a training run, or the folder itself."""
    inside = Path(folder) / "games"
    return inside if inside.is_dir() else Path(folder)


def folder_shards(folder: str | os.PathLike[str]) -> list[Path]:
    """As ``shards``; raises a FileNotFoundError if there is no such directory."""
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"no such directory of games: {os.fspath(folder)!r}")
    return shards(folder)


def next_shard(folder: Path) -> Path:
    """The path of the next shard."""
    numbers = [int(path.stem) for path in shards(folder) if path.stem.isascii() and path.stem.isdigit()]
    return _numbered(folder, max(numbers, default=-1) + 1)


def _numbered(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}{SUFFIX}"


def read_folder(folder: str | os.PathLike[str]) -> Iterator[tuple[Header, list[GameRecord]]]:
    """Header and games of every undamaged shard of a directory, as ``read_shards`` yields them."""
    yield from read_shards(folder_shards(folder))


def read_shards(paths: Iterable[Path]) -> Iterator[tuple[Header, list[GameRecord]]]:
    """Header and games of each shard; a damaged or unreadable one is logged (logger ``ramify``) and skipped."""
    for path in paths:
        try:
            found = read_shard(path)
        except (DamagedShard, OSError) as damage:
            logger.warning("skipped: %s", damage)
        else:
            yield found


def numbers_in(folder: str | os.PathLike[str]) -> set[tuple[int, int]]:
    """Number and seed of every game in the undamaged shards of a directory; damaged ones are logged and skipped."""
    found = set[tuple[int, int]]()
    for path in shards(folder):
        try:
            found.update(read_numbers(path))
        except (DamagedShard, OSError) as damage:
            logger.warning("skipped: %s", damage)
    return found
