"""A run of self-play: games into shards, one after another, with a look at how it goes."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ramify.selfplay.records as records
from ramify.games import Game
from ramify.selfplay.play import SelfPlay

logger = logging.getLogger("ramify")

PROGRESS_SECONDS = 0.2  # between two calls of progress


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
    shard_seconds: float = 60.0,
    network: str | Callable[[], str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Play until the games are done, and write them to ``folder`` in shards of ``games_per_shard``.

    A shard is also written when ``shard_seconds`` have passed, when anything goes wrong, and on Ctrl-C. Until then
    finished games are in a journal beside the shards, which the next run on the folder (or ``recover``) makes a shard
    of: whatever ends a run, finished games are not lost. Shards are numbered on from those already there.
    ``network`` is written into their headers: a name, or what gives it when a shard is written. A folder has games of
    one game with one set of parameters: others are refused.
    """
    folder = Path(folder)
    records.recover(folder)
    refuse_other_game(folder, play.game)
    header = header_of(play)
    waiting: list[bytes] = []
    count, size = len(records.shards(folder)), 0
    last = shown = time.perf_counter()

    job: tuple[Path, list[bytes]] | None = None
    journal = records.Journal(folder, {**header, "network": network if isinstance(network, str) else None})

    def write() -> None:
        nonlocal count, size, last, job
        # Ctrl-C may come at any moment, even just after the shard is there: doing this again changes nothing then.
        if job is None:
            job = (records.next_shard(folder), waiting[:games_per_shard])
        path, chosen = job
        if not path.exists():
            name = network() if callable(network) else network
            size += records.write_shard(path, chosen, {**header, "network": name})
            count += 1
        there = set(chosen)
        waiting[:] = [record for record in waiting if record not in there]
        job = None
        last = time.perf_counter()

    try:
        for finished in play:
            waiting.extend(finished)
            journal.add(finished)
            if len(waiting) >= games_per_shard or (waiting and time.perf_counter() - last > shard_seconds):
                write()
                while len(waiting) >= games_per_shard:
                    write()
                journal.keep(waiting)
            if progress is not None and time.perf_counter() - shown > PROGRESS_SECONDS:
                shown = time.perf_counter()
                progress(measure(play, count, size))
    finally:
        waiting.extend(play.take())
        while waiting:
            write()
        journal.close()
    return measure(play, count, size)


def header_of(play: SelfPlay) -> dict[str, Any]:
    """What shards of these games say of themselves, less their network."""
    return {
        "game": play.game.name,
        "params": json.loads(json.dumps(play.game.params, default=str)),  # a Python game may have any
        "search": play.search.model_dump(),
        "play": play.play.model_dump(),
        "seed": play.seed,
    }


def newest_header(folder: Path) -> dict[str, Any] | None:
    """What the last whole shard of a folder says of itself; None where there is none."""
    for path in reversed(records.shards(folder)):
        with suppress(records.DamagedShard, OSError):
            return records.read_header(path)
    return None


def refuse_other_game(folder: Path, game: Game) -> None:
    """Raise a ValueError if the folder has games of another game, or of the same with other parameters.

    A parameter that is no plain data, as a game written in Python may have, is not compared: its text may be another
    one in every process.
    """
    before = newest_header(folder)
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
    header, before = header_of(play), newest_header(folder)
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
    """The number of the first game that is not in the folder yet, so that a run can go on where it stopped."""
    last = -1
    records.recover(folder)
    for _, games in records.read_folder(folder) if folder.exists() else ():
        last = max([last, *(game.number for game in games)])
    return last + 1
