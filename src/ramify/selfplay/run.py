"""A self-play run: generates games and saves them in shards."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import ramify.selfplay.records as records
from ramify.engine.batching import backend_of
from ramify.engine.cache import hit_rate
from ramify.games import Game
from ramify.selfplay.journal import WAIT_SECONDS, Journal, held, recover_held, writing
from ramify.selfplay.play import SelfPlay

logger = logging.getLogger("ramify")

PROGRESS_SECONDS = 0.2  # seconds between two calls of progress
SHARD_SECONDS = 60.0  # maximum time until a finished game is in a shard
LEAVING_SECONDS = 120.0  # time for the self-play process of a killed trainer to notice and end


@dataclass(frozen=True)
class Progress:
    """Progress and speed of a run."""

    games: int
    moves: int
    evaluations: int
    seconds: float
    active: int
    mean_batch: float
    busy: float  # share of the time in which the evaluator had work: on a GPU, at least one batch under way
    mean_length: float
    draws: float  # fraction of the games
    cache_hits: float | None
    shards: int
    bytes: int
    backend: str | None = None  # libraries that run the network

    @property
    def positions_per_s(self) -> float:
        """Moves played per second."""
        return self.moves / max(self.seconds, 1e-9)

    @property
    def evaluations_per_s(self) -> float:
        """Evaluations per second so far."""
        return self.evaluations / max(self.seconds, 1e-9)

    @property
    def games_per_s(self) -> float:
        """Finished games per second so far."""
        return self.games / max(self.seconds, 1e-9)


def measure(play: SelfPlay, shards: int = 0, size: int = 0) -> Progress:
    """The current progress of a run."""
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
        cache_hits=cache_hits(play),
        shards=shards,
        bytes=size,
        backend=backend_of(play.evaluator),
    )


def cache_hits(play: SelfPlay) -> float | None:
    """Fraction of leaves found in a cache: that of the search, or of the evaluator; None without one."""
    if play.cache is None:
        rate: float | None = getattr(play.evaluator, "hit_rate", None)
        return rate
    counts = play.counts
    return hit_rate(counts["cache_hits"], counts["cache_misses"])


def run(
    play: SelfPlay,
    folder: str | os.PathLike[str],
    *,
    games_per_shard: int = 256,
    shard_seconds: float = SHARD_SECONDS,
    network: str | Callable[[], str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    others: Sequence[Game] = (),
) -> Progress:
    """Generate self-play games and save them to ``folder`` in shards of ``games_per_shard``.

    A shard is also written after ``shard_seconds``, after an error, and on Ctrl-C. Until then finished games are in a
    journal in the same directory; if the process is killed, the next run (or ``recover``) writes them to a shard, so
    finished games are never lost. New shards are numbered after existing ones. ``network`` is the name of the network
    in their headers, or a function that returns it when a shard is written. Raises a ValueError if ``folder`` has games
    of another game or with other parameters (but those of ``others`` are allowed), and InUse if another process plays
    into it.
    """
    folder = Path(folder)
    with held(folder, WAIT_SECONDS) as sure:
        recover_held(folder, sure)
        refuse_other_game(folder, play.game, others)
        return run_held(Shards(play, folder, games_per_shard, network), progress, shard_seconds)


class ShardWriter:
    """Saves finished games: to a journal at once, and to shards a little later."""

    def __init__(
        self,
        folder: Path,
        header: dict[str, Any],
        games_per_shard: int = 256,
        network: str | Callable[[], str] | None = None,
    ) -> None:
        self.folder, self.header, self.network, self.games = folder, header, network, games_per_shard
        self.waiting: list[bytes] = []
        self.count, self.size = len(records.shards(folder)), 0
        self.written = time.perf_counter()  # time of the last shard
        self._job: tuple[Path, bytes, list[bytes]] | None = None
        with writing(folder):
            self._journal = Journal(folder, {**self.header, "network": network if isinstance(network, str) else None})

    def add(self, finished: list[bytes], seconds: float) -> None:
        """Add games, and write shards that are full or due."""
        self.waiting.extend(finished)
        with writing(self.folder):
            self._journal.add(finished)
            late = time.perf_counter() - self.written > seconds
            if len(self.waiting) >= self.games or (self.waiting and late):
                self._write()
                while len(self.waiting) >= self.games:
                    self._write()
                self._journal.keep(self.waiting)

    def close(self, finished: Sequence[bytes] = ()) -> None:
        """Write all remaining games, and these, to shards; they stay in the journal if that fails."""
        self.waiting.extend(finished)
        try:
            with writing(self.folder):
                with suppress(OSError):  # on a full disk a shard, which is smaller, may still fit
                    self._journal.add(finished)
                while self.waiting:
                    self._write()
        except BaseException:
            self._journal.leave()
            raise
        self._journal.close()

    def _write(self) -> None:
        # Ctrl-C may come at any moment, even just after the shard is written; repeating this then changes nothing.
        if self._job is None:
            chosen = records.shard_records(self.waiting, self.games)
            name = self.network() if callable(self.network) else self.network
            data = records.pack_shard(chosen, {**self.header, **self.facts(chosen), "network": name})
            self._job = (records.next_shard(self.folder), data, chosen)
        path, data, chosen = self._job
        records.place_shard(path, data)
        self.size += len(data)
        self.count += 1
        there = set(chosen)
        self.waiting[:] = [record for record in self.waiting if record not in there]
        self._job = None
        self.written = time.perf_counter()

    def facts(self, chosen: Sequence[bytes]) -> dict[str, Any]:
        """What the header of a shard with these games says beyond that of all."""
        del chosen
        return {}


class Shards(ShardWriter):
    """Saves the games of a self-play run."""

    def __init__(
        self, play: SelfPlay, folder: Path, games_per_shard: int = 256, network: str | Callable[[], str] | None = None
    ) -> None:
        super().__init__(folder, header_of(play), games_per_shard, network)
        self.play = play

    def close(self, finished: Sequence[bytes] = ()) -> None:
        super().close([*finished, *self.play.take()])


def run_held(
    shards: Shards, progress: Callable[[Progress], None] | None = None, shard_seconds: float = SHARD_SECONDS
) -> Progress:
    """As ``run``, for the holder of the directory."""
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
    """The header of the shards of these games, without the network."""
    return {
        "game": play.game.name,
        "params": json.loads(json.dumps(play.game.params, default=str)),  # a Python game may have any
        "search": play.search.model_dump(exclude={"cache"}),  # changes nothing in the games
        "play": play.play.model_dump(),
        "seed": play.seed,
    }


def refuse_other_game(folder: Path, game: Game, others: Sequence[Game] = ()) -> None:
    """Raise a ValueError if the directory has games of another game, or of the same game with other parameters than
    this one and ``others``."""
    before = records.newest_header(folder)
    if before is None or "game" not in before:
        return
    if before["game"] != game.name:
        raise ValueError(f"{folder} has games of {before['game']}, not of {game.name}: use another folder")
    changes = other_parameters(before["params"], game)
    if changes and all(other_parameters(before["params"], other) for other in others):
        text = _describe(changes)
        raise ValueError(f"{folder} has games of {game.name} with other parameters ({text}): use another folder")


def other_parameters(params: dict[str, Any], game: Game) -> list[tuple[str, Any, Any]]:
    """(name, old, new) of the parameters in a header of a shard that differ from those of a game.

    A parameter that cannot be written as JSON, as a game written in Python may have, is not compared: its text may
    differ between processes.
    """
    old, new = params, dict(game.params)
    for name in [name for name, value in new.items() if not _plain(value)]:
        old, new = ({key: value for key, value in part.items() if key != name} for part in (old, new))
    return list(differences("", old, json.loads(json.dumps(new))))


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def warn_of_other_settings(folder: Path, play: SelfPlay) -> None:
    """Log (logger ``ramify``) how the settings of these games differ from the newest ones of the directory.

    The network is not compared: it changes during training, and every shard names its own.
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
        logger.warning("%s already has games with other settings: %s", folder, _describe(changes))


def _describe(changes: Iterable[tuple[str, Any, Any]]) -> str:
    return "; ".join(f"{name} {old!r}, now {new!r}" for name, old, new in changes)


def differences(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, old, new) of every entry in which two pieces of plain data differ."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield name, old, new
        return
    for key in sorted({*old, *new}):
        yield from differences(f"{name}.{key}".lstrip("."), old.get(key), new.get(key))


def first_game(folder: Path) -> int:
    """The first game number above all those in the directory, once another process has released it."""
    if not folder.exists():
        return 0
    with held(folder, LEAVING_SECONDS) as sure:
        recover_held(folder, sure)
        return max((number for number, _ in records.numbers_in(folder)), default=-1) + 1


def games_to_play(folder: Path, count: int) -> tuple[list[int], int]:
    """Numbers of games that earlier runs did not finish, at most ``count``, and the first number not started.

    Long games are more likely to be in progress when a run ends. Skipping their numbers would bias the recorded games
    towards short ones, so they are played first.
    """
    there = {number for number, _ in records.numbers_in(folder)}
    first = max(there, default=-1) + 1
    return list(islice((number for number in range(first) if number not in there), count)), first
