"""The games of a run, as they come to lie on disk."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ramify.selfplay.records import DamagedShard, GameRecord, read_header, read_shards, shards


class Shelf:
    """Reads every shard of a folder once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: set[str] = set()

    def unread(self) -> list[Path]:
        """Shards that came since the last call."""
        found = [path for path in shards(self.folder) if path.name not in self._seen]
        self._seen.update(path.name for path in found)
        return found

    def fresh(self) -> list[GameRecord]:
        """The games of those shards; damaged ones are reported and left out."""
        return [game for _, games in read_shards(self.unread()) for game in games]


def count_games(folder: Path) -> int:
    """How many games are on disk, as far as the shards can be read."""
    total = 0
    for path in shards(folder):
        with suppress(DamagedShard, OSError):
            total += read_header(path)["games"]
    return total


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
