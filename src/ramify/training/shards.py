"""The shards of a run's games, and the record of which games were used for training."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ramify.selfplay.records import SUFFIX, DamagedShard, GameRecord, Header, read_header, read_shards, shards


@dataclass(frozen=True)
class Consumed:
    """Games used for training so far; saved in checkpoints, so that nothing is counted twice after a resume.

    These are the games of completed iterations or, with overlap, of all shards added to the window.
    """

    games: int = 0
    positions: int = 0
    next_game: int = 0  # the next unused game number
    unfinished: tuple[int, ...] = ()  # with overlap: lower numbers that no shard added has a game of
    last_shard: int | None = None  # with overlap: the number of the last shard added; -1: none
    needed_from: int = 0  # the number of the first shard in the window
    discarded: int = 0  # games whose shards were deleted (loop.keep_games)
    discarded_before: int = 0  # shards below this number are included in ``discarded``


def shard_number(path: Path) -> int:
    """The number of a shard; -1 if its name has none, in which case it is not one of the run's own."""
    return int(path.stem) if re.fullmatch(rf"[0-9]{{6,}}{re.escape(SUFFIX)}", path.name) else -1


def own_shards(folder: Path) -> list[Path]:
    """The shards of a run, ordered by number."""
    return sorted((path for path in shards(folder) if shard_number(path) >= 0), key=shard_number)


class ShardWatcher:
    """Finds new shards in a directory, and shards that are no longer needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[str, tuple[int, int]] = {}  # identity of the file: names are reused after a deletion
        self._games: dict[str, int] = {}  # number of games per shard
        self._last_game: dict[int, int] = {}  # the highest number of a game, by number of the shard

    def unread(self, up_to: int | None = None) -> list[Path]:
        """Shards that are new since the last call, up to a shard number if one is given."""
        found = []
        for path in own_shards(self.folder):
            if up_to is not None and shard_number(path) > up_to:
                break
            with suppress(FileNotFoundError):
                kept = path.stat()
                if self._seen.get(path.name) != (kept.st_ino, kept.st_mtime_ns):
                    self._seen[path.name] = (kept.st_ino, kept.st_mtime_ns)
                    self._games.pop(path.name, None)
                    found.append(path)
        return found

    def fresh(self) -> list[tuple[Header, list[GameRecord]]]:
        """Header and games of each unread shard; damaged shards are logged and skipped."""
        found = []
        for path in self.unread():
            for header, games in read_shards([path]):
                self._last_game[shard_number(path)] = max((game.number for game in games), default=-1)
                found.append((header, games))
        return found

    def first_with(self, game: int) -> int:
        """The number of the first shard read by ``fresh`` that has this game or later ones."""
        later = [shard for shard, last in self._last_game.items() if last >= game]
        return min(later, default=max(self._last_game, default=-1) + 1)

    def count(self, path: Path) -> int:
        """Number of games in a shard; 0 if it cannot be read."""
        if path.name not in self._games:
            self._games[path.name] = 0
            with suppress(DamagedShard, OSError):
                self._games[path.name] = int(read_header(path)["games"])
        return self._games[path.name]

    def surplus(self, before: int, keep: int) -> list[Path]:
        """Shards below number ``before``, oldest first, that can be deleted if ``keep`` games are to remain.

        The last shard and files that cannot be read as shards are never included.
        """
        there = own_shards(self.folder)
        left, found = sum(map(self.count, there)), list[Path]()
        for path in there[:-1]:
            if shard_number(path) >= before or left - self.count(path) < keep:
                break
            if self.count(path):
                left -= self.count(path)
                found.append(path)
        return found


def in_window(parts: list[tuple[int, int]], window: int) -> list[tuple[int, int]]:
    """The (name, positions) that overlap a window of that many positions; always includes the last one."""
    left, start = window, len(parts)
    while start > 0 and (left > 0 or start == len(parts)):
        start -= 1
        left -= parts[start][1]
    return parts[start:]


def missing(first: int, count: int, have: Iterable[int]) -> list[tuple[int, int]]:
    """(first, count) of every consecutive run of missing numbers."""
    there, rows = set(have), list[tuple[int, int]]()
    for number in range(first, first + count):
        if number in there:
            continue
        if rows and sum(rows[-1]) == number:
            rows[-1] = (rows[-1][0], rows[-1][1] + 1)
        else:
            rows.append((number, 1))
    return rows
