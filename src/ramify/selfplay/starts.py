"""Openings of self-play: positions in which games start, and their place in the records."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ramify.games import Game, State
from ramify.games.files.openings import play_opening, read_openings
from ramify.selfplay.records import GAME, STARTED

FLAGS = struct.calcsize("<QQff")  # where the flags of a game are in its record
HEAD = struct.calcsize(GAME)


@dataclass(frozen=True)
class StartPosition:
    """The position after an opening."""

    state: State

    @cached_property
    def text(self) -> bytes:
        """What a record has of it: the fields of the position as JSON."""
        return position_text(self.state).encode()

    def text_for(self, seed: int) -> bytes:
        """The same for the game with this seed, from which its chance events are drawn."""
        if not getattr(self.state.game, "has_chance_events", False):
            return self.text
        state: Any = self.state.copy()
        state.reseed_chance(seed >> 1)  # as the pool does it: seeds of chance events have 63 bits
        return position_text(state).encode()


def start_positions(game: Game, file: str | None, share: float = 1.0) -> list[StartPosition]:
    """The positions one of which each game draws, all with the same chance: those after the openings in a file and,
    where openings have only a share of the games, the initial position as often as it takes. None: no positions."""
    if file is None:
        return []
    found = opening_positions(game, file)
    if share == 1:
        return found
    first = game.initial_state(0)
    if first.key != game.initial_state(1).key:
        raise ValueError(f"play.opening_share must be 1: every game of {game.name} has an initial position of its own")
    return found + [StartPosition(first)] * max(1, round(len(found) * (1 - share) / share))


def opening_positions(game: Game, file: str) -> list[StartPosition]:
    """The positions after the openings in a file; raises a ValueError if one cannot be played or ends the game."""
    found = []
    for words in read_openings(file):
        try:
            state, _ = play_opening(game, words)
        except ValueError as error:
            raise ValueError(f"play.openings: {' '.join(words)!r}: {error}") from None
        if state.is_over:
            raise ValueError(f"play.openings: {' '.join(words)!r} ends the game")
        found.append(StartPosition(state))
    if not found:
        raise ValueError(f"play.openings: there are no openings in {file!r}")
    position_text(found[0].state)  # raises for games whose positions have no fields
    return found


def position_text(state: State) -> str:
    """A position as its fields in JSON, which ``read_position`` reads."""
    fields = getattr(state, "fields", None)
    if fields is None:
        raise ValueError(f"positions of {state.game.name} cannot be written as text")
    return json.dumps(fields, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def placed(record: bytes, openings: Sequence[StartPosition]) -> bytes:
    """The record of a game with the position in which it started: the pool chose it by the seed of the game."""
    if not openings:
        return record
    (seed,) = struct.unpack_from("<Q", record, 8)
    (flags,) = struct.unpack_from("<H", record, FLAGS)
    text = openings[int(seed) % len(openings)].text_for(int(seed))
    changed = struct.pack("<H", int(flags) | STARTED)
    return b"".join(
        [record[:FLAGS], changed, record[FLAGS + 2 : HEAD], struct.pack("<I", len(text)), text, record[HEAD:]]
    )
