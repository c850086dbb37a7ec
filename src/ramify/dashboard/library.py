"""Stored games: of the store, of the ratings of runs, and of self-play. A client names a source and a number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.arena import short_names
from ramify.arena.game_files import game_record
from ramify.base.files import is_url
from ramify.dashboard.board import turn_text
from ramify.dashboard.runs import RunFolder
from ramify.games import Game, State, make
from ramify.games.files import GameRecord
from ramify.games.files.record import result_of
from ramify.games.pictures import Analysis, Choice

if TYPE_CHECKING:
    from ramify.selfplay.records import FoundBySearch
    from ramify.store import Store

STORE = "store"
KEPT = 8  # stores that stay open
LONGEST = 5000  # turns of a game that is shown


@dataclass
class Replay:
    """A game to look at, move by move."""

    title: str
    record: GameRecord
    states: list[State]
    labels: list[str]
    values: list[float | None]  # of player 0, in every position where it is known
    thoughts: list[Analysis | None] = field(default_factory=list)  # what the search found before every move
    note: str = ""

    @property
    def game(self) -> Game:
        return self.states[0].game

    def swing(self) -> int | None:
        """The position after the move that changed the value most."""
        best, where = 0.0, None
        last: float | None = None
        for number, value in enumerate(self.values):
            if value is not None:
                if last is not None and abs(value - last) > best:
                    best, where = abs(value - last), number
                last = value
        return where


class Library:
    """The games of one server."""

    def __init__(self, store: str | Path, runs: RunFolder) -> None:
        self.place, self.runs = str(store), runs
        self._stores: OrderedDict[str, Store] = OrderedDict()
        self._lock = threading.Lock()

    def sources(self) -> dict[str, str]:
        """Where there are games: keys and titles."""
        found = {STORE: f"Store {self.title()}"} if self.has_store() else {}
        for name in self.runs.names():
            folder = self.runs.path(name)
            if (folder / "ramify.db").is_file():
                found[f"rated:{name}"] = f"Rating of {name}"
            if any((folder / "games").glob("*.games")):
                found[f"selfplay:{name}"] = f"Self-play of {name}"
        return found

    def has_store(self) -> bool:
        """Whether there is a store, apart from those of runs."""
        return is_url(self.place) or Path(self.place).is_file()

    def title(self) -> str:
        """What the store is called: its file, or its database."""
        if not is_url(self.place):
            return Path(self.place).name
        from ramify.store.location import read_location

        return read_location(self.place).name.rpartition("/")[2]

    def store(self, source: str) -> Store:
        """The store of a source; a ValueError if it has none, or it cannot be opened."""
        from ramify.store import Store, StoreError

        kind, _, name = source.partition(":")
        place = self.place if source == STORE else str(self.runs.path(name) / "ramify.db")
        there = self.has_store() if source == STORE else Path(place).is_file()
        if kind not in (STORE, "rated") or not there:
            raise ValueError(f"there is no store {source[:60]!r}")
        with self._lock:
            if place not in self._stores:
                try:
                    self._stores[place] = Store(place)
                except StoreError as error:
                    raise ValueError(str(error)) from error
            self._stores.move_to_end(place)
            while len(self._stores) > KEPT:
                with suppress(Exception):
                    self._stores.popitem(last=False)[1].close()
            return self._stores[place]

    def names(self, source: str, identities: Sequence[str]) -> dict[str, str]:
        """Short names of players, by identity."""
        labels = self.store(source).labels(list(dict.fromkeys(identities)))
        return dict(zip(labels, short_names(list(labels.values())), strict=True))

    # One game.

    def stored(self, source: str, number: int) -> Replay:
        """A game of a store; a ValueError if there is none."""
        played = self.store(source).game(number)
        if played is None:
            raise ValueError(f"there is no game {number}")
        game = make(played.fixture.game, **played.fixture.params)
        names = self.names(source, played.fixture.players)
        record = game_record(game, played, names)
        first, second = (names.get(identity, identity) for identity in played.fixture.players)
        note = {"cut": "ended after the most moves allowed", "adjudicated": "adjudicated", "forfeit": played.detail}
        return make_replay(f"{first} – {second}", record, note=note.get(played.reason, ""))

    def shards(self, name: str) -> list[str]:
        """The files of a run's self-play games, the newest first."""
        return sorted((path.stem for path in (self.runs.path(name) / "games").glob("*.games")), reverse=True)

    def shard(self, name: str, shard: str) -> Path:
        """One of these files; a ValueError if there is none."""
        if shard not in self.shards(name):
            raise ValueError(f"the run {name} has no games {shard[:20]!r}")
        return self.runs.path(name) / "games" / f"{shard}.games"

    def recorded(self, name: str, shard: str, place: int) -> Replay:
        """A game of self-play by its place in a file."""
        from ramify.engine.config import SearchConfig
        from ramify.selfplay.records import decode, read_records

        header, records = read_records(self.shard(name, shard))
        if not 0 <= place < len(records):
            raise ValueError(f"{shard} has {len(records)} games")
        found, game = decode(records[place]), make(header["game"], **header["params"])
        turns = tuple(move.actions for move in found.moves)[:LONGEST]
        start = found.initial_state(game)
        record = GameRecord(start=start, turns=turns, players=(f"{name}", f"{name}"))
        replay = make_replay(f"Game {found.number + 1:,} of the self-play of {name}", record)
        config = SearchConfig(**header["search"])
        for number, move in enumerate(found.moves[:LONGEST]):
            if move.found is not None:
                replay.values[number] = float(move.found.value[0])
                replay.thoughts[number] = thought(replay.states[number], move.found, config)
        replay.note = "resigned" if found.resigned else "cut off" if found.cut else ""
        return replay


def make_replay(title: str, record: GameRecord, note: str = "") -> Replay:
    """A game with its positions and the names of its moves."""
    states = record.states()
    labels = [turn_text(state, turn) for state, turn in zip(states, record.turns, strict=False)]
    values: list[float | None] = [None] * len(states)
    if states[-1].is_over and result_of(states[-1]) != "*":
        values[-1] = float(states[-1].returns[0]) if not states[-1].game.simultaneous else None
    return Replay(title, record, states, labels, values, [None] * len(states), note)


def thought(state: State, found: FoundBySearch, config: Any) -> Analysis:
    """What a recorded search found, as pictures take it."""
    root = found.root(config)
    choices = {}
    for player in state.acting:
        visits = found.visits.sum(axis=1 - player)
        total = max(int(visits.sum()), 1)
        rows = [
            Choice(
                int(action),
                state.action_name(int(action), player),
                float(visits[i] / total),
                float(root.q[player][i]) if visits[i] else None,
            )
            for i, action in enumerate(found.outcomes[player])
        ]
        choices[player] = tuple(sorted(rows, key=lambda row: -row.share))
    values = {player: float(found.value[player]) for player in state.acting}
    return Analysis(int(found.visits.sum()) + 1, values, choices)
