"""Games of mixed strength that a teacher plays and labels, as game records.

Every game draws how it is played: a random opening, the temperature of its moves, the nodes of searches that only
choose a move, and the share of random moves. So positions are as diverse as those that weak players get into.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import Game, make
from ramify.protocols.process import EngineError
from ramify.protocols.teacher import Line, TeachConfig, Teacher, softmax
from ramify.selfplay.encoding import Label, RecordWriter, without_labels
from ramify.selfplay.records import GameRecord, decode

MOST_PROBES = 64  # slots looked at in the table of positions before a position counts as new


class SeenPositions:
    """The positions that were labelled, as 64-bit checksums in a table that all processes share through a file.

    Without locks: if two processes enter a position at the same moment, it may be labelled twice.
    """

    def __init__(self, path: Path, positions: int) -> None:
        """Open the table, or create it with room for so many positions; an existing one keeps its size."""
        slots = 1 << max(16, math.ceil(math.log2(2 * max(1, positions))))
        if not path.exists() or path.stat().st_size % 8 or not path.stat().st_size:
            with path.open("wb") as file:
                file.truncate(8 * slots)
        self._table: NDArray[np.uint64] = np.memmap(path, np.uint64, "r+")
        self._mask = len(self._table) - 1
        if len(self._table) & self._mask:
            raise ValueError(f"{path} is not a table of positions: delete it, and it is made again")

    @property
    def slots(self) -> int:
        return len(self._table)

    def dump(self) -> bytes:
        """The whole table, as the content of another file."""
        return self._table.tobytes()

    def __contains__(self, key: int) -> bool:
        return self._find(key)[0]

    def add(self, key: int) -> bool:
        """Enter a position; returns whether it is new. A table that is nearly full takes positions for new ones."""
        there, place = self._find(key)
        if place is not None:
            self._table[place] = key
        return not there

    def _find(self, key: int) -> tuple[bool, int | None]:
        """Whether a position is there, and the free slot for it otherwise, if there is one nearby."""
        table, place = self._table, key & self._mask
        for _ in range(MOST_PROBES):
            there = int(table[place])
            if there == key:
                return True, None
            if there == 0:
                return False, place
            place = (place + 1) & self._mask
        return False, None


def position_key(fen: str) -> int:
    """A checksum of what is on the board, who moves and the rights to castle and capture; never 0."""
    known = fen.rsplit(" ", 2)[0].encode()  # without the counters of moves
    return int.from_bytes(hashlib.blake2b(known, digest_size=8).digest(), "little") or 1


def labelled_keys(record: GameRecord) -> tuple[int, ...]:
    """The checksums of the labelled positions of a game."""
    states: Iterator[Any] = record.states(make("chess"))
    return tuple(position_key(state.fen) for state, move in zip(states, record.moves, strict=False) if move.found)


@dataclass(frozen=True)
class Manner:
    """How one game is played."""

    random_share: float
    temperature: float
    nodes: int
    plays_on: bool  # though it is decided

    @classmethod
    def drawn(cls, config: TeachConfig, rng: random.Random) -> Manner:
        def between(least: float, most: float) -> float:
            return math.exp(rng.uniform(math.log(least), math.log(most)))

        return cls(
            rng.choice(config.random_shares),
            between(*config.play_temperature),
            round(between(*config.play_nodes)),
            rng.random() < config.playthrough,
        )


@dataclass(frozen=True)
class TaughtGame:
    """A finished game: its record, and how many of its positions are labelled."""

    record: bytes
    labels: int
    moves: int
    failure: str = ""  # of the engine, which ended the game early
    keys: tuple[int, ...] = ()  # of the labelled positions, in order

    @classmethod
    def of_record(cls, record: bytes) -> TaughtGame:
        """What can be told from the record alone."""
        game = decode(record)
        keys = labelled_keys(game)
        return cls(record, len(keys), len(game.moves), keys=keys)

    def only_new(self, is_new: Callable[[int], bool]) -> TaughtGame:
        """The same game without the labels of positions that are not new."""
        dropped = {place for place, key in enumerate(self.keys) if not is_new(key)}
        if not dropped:
            return self
        keys = tuple(key for place, key in enumerate(self.keys) if place not in dropped)
        return replace(self, record=without_labels(self.record, dropped), labels=len(keys), keys=keys)


class GameTeacher:
    """Plays one game after another with a teacher and labels its positions."""

    def __init__(
        self, game: Game, teacher: Teacher, is_new: Callable[[int], bool], stopping: Callable[[], bool]
    ) -> None:
        self.game, self.teacher, self.config = game, teacher, teacher.config
        self._is_new, self._stopping = is_new, stopping
        self._keys: list[int] = []  # of the labelled positions of the game in progress

    def play(self, number: int) -> TaughtGame:
        """Play the game of that number. A failure of the engine, and ``stopping``, end it where it is."""
        config, rng = self.config, random.Random(f"{self.config.seed}/{number}")
        manner = Manner.drawn(config, rng)
        self._keys = []
        state: Any = self.game.initial_state()
        writer = RecordWriter(number, 0, draws=True)
        self._play_opening(state, writer, rng)
        decided, failure = 0, ""
        try:
            self.teacher.new_game()
            while not state.is_over and writer.moves < config.max_moves and not self._stopping():
                share = config.label_share * (config.decided_share if decided else 1)
                value = self._play_move(state, writer, manner, rng, share)
                if value is None:
                    decided += decided > 0
                else:
                    decided = decided + 1 if abs(value) >= config.decided_above else 0
                if decided >= config.decided_moves and not manner.plays_on:
                    break
        except EngineError as error:
            failure = str(error)
            self.teacher.close()
        record = writer.finish([float(value) for value in state.returns], cut=not state.is_over)
        return TaughtGame(record, writer.labels, writer.moves, failure, tuple(self._keys))

    def _play_opening(self, state: Any, writer: RecordWriter, rng: random.Random) -> None:
        for _ in range(rng.randint(0, self.config.opening_moves)):
            action = rng.choice(state.legal_actions().tolist())
            after = state.after(action)
            if after.is_over:
                return
            writer.add_opening(state.acting[0], action)
            state.apply(action)

    def _play_move(
        self, state: Any, writer: RecordWriter, manner: Manner, rng: random.Random, share: float
    ) -> float | None:
        """Play one move; returns the value of player 0 if the position was labelled, with the probability ``share``."""
        fen, player, legal = state.fields["fen"], state.acting[0], state.legal_actions().tolist()
        key = position_key(fen)
        labelled = rng.random() < share and self._is_new(key)
        label, lines = None, list[Line]()
        if labelled and self.config.policy == "children":
            lines = self._child_lines(state, legal)
        elif labelled or manner.random_share < 1:
            lines = self.teacher.lines(fen, self.config.nodes if labelled else manner.nodes)
        actions = actions_of(state, legal, lines)
        if labelled:
            label = make_label(lines, actions, player, self.config.temperature)
            self._keys.append(key)
        if rng.random() < manner.random_share or not lines:
            action = rng.choice(legal)
        else:
            action = rng.choices(actions, softmax([line.utility for line in lines], manner.temperature))[0]
        writer.add(player, action, legal, label)
        state.apply(action)
        return None if label is None else label.value

    def _child_lines(self, state: Any, legal: list[int]) -> list[Line]:
        """Scores of all legal moves by searches of the positions after them, best first."""
        lines = []
        for action in legal:
            after, name = state.after(action), state.action_name(action)
            if after.is_over:
                wins = float(after.returns[state.acting[0]]) > 0
                lines.append(Line(name, None, 1, (1000, 0, 0)) if wins else Line(name, 0, None, (0, 1000, 0)))
                continue
            reply = self.teacher.lines(after.fen, self.config.nodes, 1)[0]
            lines.append(seen_from_before(name, reply))
        return sorted(lines, key=lambda line: -line.utility)


def seen_from_before(move: str, reply: Line) -> Line:
    """The score of a move, from that of the position after it, in which the other player moves."""
    centipawns = None if reply.centipawns is None else -reply.centipawns
    mate = None if reply.mate is None else 1 - reply.mate if reply.mate <= 0 else -reply.mate
    wdl = None if reply.wdl is None else (reply.wdl[2], reply.wdl[1], reply.wdl[0])
    return Line(move, centipawns, mate, wdl)


def make_label(lines: list[Line], actions: list[int], player: int, temperature: float) -> Label:
    """Policy and value from the scores of moves; ``actions`` are what the moves are."""
    weights = softmax([line.utility for line in lines], temperature)
    win, draw, loss = lines[0].chances
    value = win - loss if player == 0 else loss - win
    return Label(dict(zip(actions, weights, strict=True)), value, draw)


def actions_of(state: Any, legal: list[int], lines: list[Line]) -> list[int]:
    """The actions that the moves of lines are; an EngineError names one that is not legal."""
    found = []
    for line in lines:
        try:
            action = state.action(line.move)
        except ValueError:
            action = -1
        if action not in legal:
            raise EngineError(f"the engine chose {line.move[:40]!r}, which is not legal in {state.fen}")
        found.append(action)
    return found
