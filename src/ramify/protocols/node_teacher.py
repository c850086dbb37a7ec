"""An engine on a node of a cluster that plays and labels games, and hands them over.

A finished game is written to a file on the node before it is sent, and the file is deleted when the game was saved. If
the process dies in between, the next one on a node that sees the file hands the game over.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.base.files import locked, write_atomically
from ramify.cluster import Link, Published
from ramify.games import make
from ramify.protocols.engine_processes import Steady, yield_to_engine
from ramify.protocols.process import check_program
from ramify.protocols.taught_games import GameTeacher, SeenPositions, TaughtGame
from ramify.protocols.teacher import TeachConfig, Teacher
from ramify.selfplay.handover import STOP, Kept, Ready, adopt, own_place, remove_empty
from ramify.selfplay.records import DamagedShard, next_shard, pack_shard, place_shard, read_records, shards

TABLE = ".positions-"  # how the names of tables of positions begin
WAIT_SECONDS = 0.2  # between two looks where there is nothing to do
CLOSE_SECONDS = 20.0  # time for the last games to be saved
LOCK_SECONDS = 60.0  # time for another process of the node to write the table of positions


@dataclass(frozen=True)
class Begin:
    """A game to play, by its number."""

    number: int


@dataclass(frozen=True)
class Known:
    """Positions that were labelled elsewhere, as bytes."""

    keys: bytes

    @classmethod
    def of(cls, keys: list[int]) -> Known:
        return cls(struct.pack(f"<{len(keys)}Q", *keys))

    def __iter__(self) -> Iterator[int]:
        return (key for (key,) in struct.iter_unpack("<Q", self.keys))


@dataclass(frozen=True)
class Finished:
    """A game, and the name of its file."""

    name: str
    played: TaughtGame
    left_behind: bool = False  # by a process that died


@dataclass(frozen=True)
class Lesson:
    """What every process of a run is given."""

    config: TeachConfig
    header: dict[str, Any]  # of files of games
    root: Path  # for games that have not been handed over
    table: str  # name of the file with the positions that are known on the node; it begins with TABLE
    known: Published  # its content at first


def teach_on_node(link: Link, lesson: Lesson) -> None:
    """The work of a process on a node; ends on the message ``STOP``."""
    check_program(lesson.config.command)
    with own_place(lesson.root) as place:
        adopt(lesson.root, place)
        NodeTeacher(link, lesson, place / "games").run()
    clear(lesson.root)


def known_positions(lesson: Lesson) -> SeenPositions:
    """The table of labelled positions, which the processes of this node share."""
    path = lesson.root / lesson.table
    with locked(path.with_name(f"{path.name}.lock"), f"writing {path}", LOCK_SECONDS):
        if not path.exists():
            write_atomically(path, lesson.known.get())
    return SeenPositions(path, 1)


def clear(root: Path) -> None:
    """Remove the directory of a run, with its tables of positions, if no process uses it and no games are left."""
    if any(place.is_dir() for place in root.glob("*-*")):
        return
    for table in root.glob(f"{TABLE}*"):
        table.unlink(missing_ok=True)
    remove_empty(root)


class NodeTeacher:
    """Plays the games whose numbers it is given; writes them to ``folder`` until they are saved."""

    def __init__(self, link: Link, lesson: Lesson, folder: Path) -> None:
        self.link, self.lesson, self.folder = link, lesson, folder
        self.seen = known_positions(lesson)
        self.numbers = deque[int]()
        self.unkept: dict[str, Path] = {}
        self.stopping = False

    def run(self) -> None:
        for path in shards(self.folder):
            self._hand_over_found(path)
        self.link.send(Ready())
        yield_to_engine()
        teacher, steady = Teacher(self.lesson.config), Steady()
        player = GameTeacher(make("chess"), teacher, self.seen.add, self._is_stopping)
        try:
            while not self._is_stopping():
                if not self.numbers:
                    self._read(WAIT_SECONDS)
                    continue
                played = player.play(self.numbers.popleft())
                self._hand_over(played)
                steady.check(played)
        finally:
            teacher.close()
        self._wait_until_saved()

    def _is_stopping(self) -> bool:
        self._read()
        return self.stopping

    def _read(self, wait: float = 0.0) -> None:
        while self.link.poll(wait):
            self._receive(self.link.recv())
            wait = 0.0

    def _receive(self, message: Any) -> None:
        if message == STOP:
            self.stopping = True
        elif isinstance(message, Begin):
            self.numbers.append(message.number)
        elif isinstance(message, Known):
            for key in message:
                self.seen.add(key)
        elif isinstance(message, Kept) and (path := self.unkept.pop(message.name, None)) is not None:
            path.unlink(missing_ok=True)

    def _hand_over(self, played: TaughtGame) -> None:
        name = ""
        if played.labels:
            path = place_shard(next_shard(self.folder), pack_shard([played.record], self.lesson.header))
            name = path.name
            self.unkept[name] = path
        self.link.send(Finished(name, played))

    def _hand_over_found(self, path: Path) -> None:
        """Send what a process that died has left; a file that cannot be read stays on the node."""
        with suppress(DamagedShard, OSError):
            (record,) = read_records(path)[1]
            self.unkept[path.name] = path
            self.link.send(Finished(path.name, TaughtGame.of_record(record), left_behind=True))

    def _wait_until_saved(self) -> None:
        end = time.monotonic() + CLOSE_SECONDS
        while self.unkept and time.monotonic() < end:
            self._read(WAIT_SECONDS)
