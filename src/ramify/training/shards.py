"""The games of a run, as they come to lie on disk, and what of them a run has learnt from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ramify.selfplay.records import SUFFIX, DamagedShard, GameRecord, read_header, read_shards, shards


@dataclass(frozen=True)
class Taken:
    """What a run has learnt from. Its checkpoints keep this, so that nothing is counted twice when it goes on.

    In turns, the games of iterations that are over; with overlap, those of every shard that was taken in.
    """

    games: int = 0
    positions: int = 0
    next_game: int = 0  # numbers from here on are free
    last_shard: int | None = None  # with overlap: the number of the shard taken in last; -1: none that is there
    needed_from: int = 0  # the number of the first shard that the window needs
    discarded: int = 0  # games whose shards were deleted (loop.keep_games)
    discarded_before: int = 0  # shards below this number are counted there already


def shard_number(path: Path) -> int:
    """The number of a shard; -1 if it has none, and is not a run's own then."""
    return int(path.stem) if re.fullmatch(rf"[0-9]{{6,}}{re.escape(SUFFIX)}", path.name) else -1


def own_shards(folder: Path) -> list[Path]:
    """The shards of a run's folder, in the order of their numbers."""
    return sorted((path for path in shards(folder) if shard_number(path) >= 0), key=shard_number)


class ShardWatcher:
    """Reads every shard of a folder once, and deletes those that nobody needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[str, tuple[int, int]] = {}  # which file it was: names come again after files were deleted
        self._games: dict[str, int] = {}  # how many are in a shard
        self._last_game: dict[int, int] = {}  # the highest number of a game, by number of the shard

    def unread(self, up_to: int | None = None) -> list[Path]:
        """Shards that came since the last call, up to a number if one is given."""
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

    def fresh(self) -> list[GameRecord]:
        """The games of those shards; damaged ones are reported and left out."""
        found = []
        for path in self.unread():
            for _, games in read_shards([path]):
                self._last_game[shard_number(path)] = max((game.number for game in games), default=-1)
                found += games
        return found

    def first_with(self, game: int) -> int:
        """The number of the first shard, of those read by ``fresh``, that has this game or later ones."""
        later = [shard for shard, last in self._last_game.items() if last >= game]
        return min(later, default=max(self._last_game, default=-1) + 1)

    def count(self, path: Path) -> int:
        """How many games a shard has, as far as it can be read."""
        if path.name not in self._games:
            self._games[path.name] = 0
            with suppress(DamagedShard, OSError):
                self._games[path.name] = int(read_header(path)["games"])
        return self._games[path.name]

    def surplus(self, before: int, keep: int) -> list[Path]:
        """Shards below a number, oldest first, without which there are still so many games; never the last shard.

        What cannot be read as a shard is left alone: nothing says that it is ours.
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


def in_window(lots: list[tuple[int, int]], window: int) -> list[tuple[int, int]]:
    """Those (name, positions) that reach into a window of so many positions; the last one always."""
    left, start = window, len(lots)
    while start > 0 and (left > 0 or start == len(lots)):
        start -= 1
        left -= lots[start][1]
    return lots[start:]


def missing(first: int, count: int, have: Iterable[int]) -> list[tuple[int, int]]:
    """(first, count) of every unbroken row of numbers that are not there."""
    there, rows = set(have), list[tuple[int, int]]()
    for number in range(first, first + count):
        if number in there:
            continue
        if rows and sum(rows[-1]) == number:
            rows[-1] = (rows[-1][0], rows[-1][1] + 1)
        else:
            rows.append((number, 1))
    return rows
