"""A run of self-play: games into shards, one after another, with a look at how it goes."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import ramify.selfplay.records as records
from ramify.games import Game
from ramify.selfplay.journal import WAIT_SECONDS, Journal, held, recover_held, writing
from ramify.selfplay.play import SelfPlay

logger = logging.getLogger("ramify")

PROGRESS_SECONDS = 0.2  # between two calls of progress
SHARD_SECONDS = 60.0  # that a finished game waits for its shard at most
LEAVING_SECONDS = 120.0  # given to the player of a killed trainer, which notices when it next reports to it


@dataclass(frozen=True)
class Progress:
    """How far a run is, and how fast."""

    games: int
    moves: int
    evaluations: int
    seconds: float
    active: int
    mean_batch: float
    busy: float  # share of the time in which the evaluator worked
    mean_length: float
    draws: float  # share of the games
    cache_hits: float | None
    shards: int
    bytes: int

    @property
    def positions_per_s(self) -> float:
        """Moves played per second."""
        return self.moves / max(self.seconds, 1e-9)

    @property
    def evaluations_per_s(self) -> float:
        return self.evaluations / max(self.seconds, 1e-9)

    @property
    def games_per_s(self) -> float:
        return self.games / max(self.seconds, 1e-9)


def measure(play: SelfPlay, shards: int = 0, size: int = 0) -> Progress:
    """What a run looks like now."""
    counts, seconds = play.counts, time.perf_counter() - play.started
    return Progress(
        games=counts["games"],
        moves=counts["moves"],
        evaluations=counts["evaluations"],
        seconds=seconds,
        active=counts["active"],
        mean_batch=play.evaluated / max(play.batches, 1),
        busy=play.busy / max(seconds, 1e-9),
        mean_length=counts["lengths"] / max(counts["games"], 1),
        draws=counts["draws"] / max(counts["games"], 1),
        cache_hits=getattr(play.evaluator, "hit_rate", None),
        shards=shards,
        bytes=size,
    )


def run(
    play: SelfPlay,
    folder: str | os.PathLike[str],
    *,
    games_per_shard: int = 256,
    shard_seconds: float = SHARD_SECONDS,
    network: str | Callable[[], str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Play until the games are done, and write them to ``folder`` in shards of ``games_per_shard``.

    A shard is also written when ``shard_seconds`` have passed, when anything goes wrong, and on Ctrl-C. Until then
    finished games are in a journal beside the shards, which the next run on the folder (or ``recover``) makes a shard
    of: whatever ends a run, finished games are not lost. Shards are numbered on from those already there.
    ``network`` is written into their headers: a name, or what gives it when a shard is written. A folder has games of
    one game with one set of parameters: others are refused. So is a folder that another process plays into.
    """
    folder = Path(folder)
    with held(folder, WAIT_SECONDS) as sure:
        recover_held(folder, sure)
        refuse_other_game(folder, play.game)
        return run_held(Shards(play, folder, games_per_shard, network), progress, shard_seconds)


class Shards:
    """Where the games of a run go: a journal as soon as they are finished, shards a little later."""

    def __init__(
        self, play: SelfPlay, folder: Path, games_per_shard: int = 256, network: str | Callable[[], str] | None = None
    ) -> None:
        self.play, self.folder, self.network, self.games = play, folder, network, games_per_shard
        self.header = header_of(play)
        self.waiting: list[bytes] = []
        self.count, self.size = len(records.shards(folder)), 0
        self.written = time.perf_counter()  # when the last shard was
        self._job: tuple[Path, bytes, list[bytes]] | None = None
        with writing(folder):
            self._journal = Journal(folder, {**self.header, "network": network if isinstance(network, str) else None})

    def add(self, finished: list[bytes], seconds: float) -> None:
        """Take games, and write shards that are full or due."""
        self.waiting.extend(finished)
        with writing(self.folder):
            self._journal.add(finished)
            late = time.perf_counter() - self.written > seconds
            if len(self.waiting) >= self.games or (self.waiting and late):
                self._write()
                while len(self.waiting) >= self.games:
                    self._write()
                self._journal.keep(self.waiting)

    def close(self) -> None:
        """Write all games that are left; they stay in the journal if that fails."""
        finished = self.play.take()
        self.waiting.extend(finished)
        try:
            with writing(self.folder):
                with suppress(OSError):  # of a full disk: a shard is smaller
                    self._journal.add(finished)
                while self.waiting:
                    self._write()
        except BaseException:
            self._journal.leave()
            raise
        self._journal.close()

    def _write(self) -> None:
        # Ctrl-C may come at any moment, even just after the shard is there: doing this again changes nothing then.
        if self._job is None:
            chosen = records.lot(self.waiting, self.games)
            name = self.network() if callable(self.network) else self.network
            data = records.pack_shard(chosen, {**self.header, "network": name})
            self._job = (records.next_shard(self.folder), data, chosen)
        path, data, chosen = self._job
        records.place_shard(path, data)
        self.size += len(data)
        self.count += 1
        there = set(chosen)
        self.waiting[:] = [record for record in self.waiting if record not in there]
        self._job = None
        self.written = time.perf_counter()


def run_held(
    shards: Shards, progress: Callable[[Progress], None] | None = None, shard_seconds: float = SHARD_SECONDS
) -> Progress:
    """As ``run``, for who holds the folder."""
    play, shown = shards.play, time.perf_counter()
    try:
        for finished in play:
            shards.add(finished, shard_seconds)
            if progress is not None and time.perf_counter() - shown > PROGRESS_SECONDS:
                shown = time.perf_counter()
                progress(measure(play, shards.count, shards.size))
    finally:
        shards.close()
    return measure(play, shards.count, shards.size)


def header_of(play: SelfPlay) -> dict[str, Any]:
    """What shards of these games say of themselves, less their network."""
    return {
        "game": play.game.name,
        "params": json.loads(json.dumps(play.game.params, default=str)),  # a Python game may have any
        "search": play.search.model_dump(),
        "play": play.play.model_dump(),
        "seed": play.seed,
    }


def refuse_other_game(folder: Path, game: Game) -> None:
    """Raise a ValueError if the folder has games of another game, or of the same with other parameters.

    A parameter that is no plain data, as a game written in Python may have, is not compared: its text may be another
    one in every process.
    """
    before = records.newest_header(folder)
    if before is None or "game" not in before:
        return
    if before["game"] != game.name:
        raise ValueError(f"{folder} has games of {before['game']}, not of {game.name}: give another folder")
    old, new = before["params"], dict(game.params)
    for name in [name for name, value in new.items() if not _plain(value)]:
        old, new = ({key: value for key, value in part.items() if key != name} for part in (old, new))
    changes = _told(differences("", old, json.loads(json.dumps(new))))
    if changes:
        raise ValueError(f"{folder} has games of {game.name} with other parameters ({changes}): give another folder")


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def warn_of_other_settings(folder: Path, play: SelfPlay) -> None:
    """Say (logger ``ramify``) how these games will differ from the last ones of the folder.

    The network is no difference: it changes all the time in training, and every shard names its own.
    """
    header, before = header_of(play), records.newest_header(folder)
    if before is None:
        return
    changes = [
        difference
        for part in ("search", "play")
        for difference in differences(part, before.get(part), json.loads(json.dumps(header[part])))
    ]
    if changes:
        logger.warning("%s: games with other settings are there already: %s", folder, _told(changes))


def _told(changes: Iterable[tuple[str, Any, Any]]) -> str:
    return "; ".join(f"{name} {old!r}, now {new!r}" for name, old, new in changes)


def differences(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Where two pieces of plain data differ, by name."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield name, old, new
        return
    for key in sorted({*old, *new}):
        yield from differences(f"{name}.{key}".lstrip("."), old.get(key), new.get(key))


def first_game(folder: Path) -> int:
    """The first number above those of all games in the folder, which another process may be about to leave."""
    if not folder.exists():
        return 0
    with held(folder, LEAVING_SECONDS) as sure:
        recover_held(folder, sure)
        return max((number for number, _ in records.numbers_in(folder)), default=-1) + 1


def games_to_play(folder: Path, count: int) -> tuple[list[int], int]:
    """Numbers of games that earlier runs have not finished, ``count`` at most, and the first that none has begun.

    Games that take long are those that are in play when a run is ended. Were their numbers passed over, what is kept
    would have too many short games; so they are played before others.
    """
    there = {number for number, _ in records.numbers_in(folder)}
    first = max(there, default=-1) + 1
    return list(islice((number for number in range(first) if number not in there), count)), first
