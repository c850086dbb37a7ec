"""Training runs in a folder: found by their markers, read without scanning, and never left by a name from a client."""

from __future__ import annotations

import json
import math
import os
import re
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TAIL = 64 << 10  # bytes at the end of a metrics file in which the last iteration is looked for
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=,-]{0,99}")  # of a run that the pages can show
STEP_POINTS, KEPT_CURVES = 1500, 64  # points of a curve, and runs whose curves stay in memory


@dataclass(frozen=True)
class RunSummary:
    """A run in one line."""

    name: str
    folder: Path
    game: str
    config: dict[str, Any] = field(repr=False)
    iteration: int
    iterations: int
    step: int
    seconds: float
    running: bool
    changed: float  # when its metrics were last written, in seconds since 1970
    last: dict[str, Any] = field(repr=False)
    stored: int | None = None  # its number in the store, for a run that only the store knows


class RunFolder:
    """The runs directly within a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._markers: dict[Path, tuple[float, dict[str, Any]]] = {}
        self._tails: dict[Path, tuple[tuple[float, int], dict[str, Any]]] = {}
        self._curves: OrderedDict[tuple[Path, str], tuple[int, list[dict[str, Any]]]] = OrderedDict()

    def names(self) -> list[str]:
        """The names of runs, the last changed first."""
        found = []
        with suppress(OSError):
            for path in self.folder.iterdir():
                if NAME.fullmatch(path.name) and not path.is_symlink() and (path / "ramify-run.json").is_file():
                    found.append((_changed(path), path.name))
        return [name for _, name in sorted(found, reverse=True)]

    def path(self, name: str) -> Path:
        """The folder of a run; a ValueError if there is no run of that name."""
        path = self.folder / name
        if not NAME.fullmatch(name) or path.is_symlink() or not (path / "ramify-run.json").is_file():
            raise ValueError(f"there is no run {name[:100]!r}")
        return path

    def summaries(self) -> list[RunSummary]:
        """All runs, the last changed first."""
        found = []
        for name in self.names():
            with suppress(OSError, ValueError, KeyError):
                found.append(self.summary(name))
        return found

    def of_game(self, game: str) -> list[RunSummary]:
        """Runs of a game that have a network."""
        return [run for run in self.summaries() if run.game == game and self.checkpoints(run.name)]

    def summary(self, name: str) -> RunSummary:
        """One run in one line."""
        folder = self.path(name)
        running = self.process(name) is not None
        return summary_of(name, folder, self._config(folder), self._last(folder), (running, _changed(folder)))

    def _config(self, folder: Path) -> dict[str, Any]:
        marker = folder / "ramify-run.json"
        changed = marker.stat().st_mtime
        if self._markers.get(marker, (None, {}))[0] != changed:
            written = json.loads(marker.read_text(encoding="utf-8"))
            config = written.get("config") if isinstance(written, dict) else None
            self._markers[marker] = (changed, config if isinstance(config, dict) else {})
        return self._markers[marker][1]

    def _last(self, folder: Path) -> dict[str, Any]:
        """The newest line of an iteration, from the end of the metrics file."""
        file = folder / "metrics.jsonl"
        if not file.is_file():
            return {}
        facts = file.stat()
        known = (facts.st_mtime, facts.st_size)
        if self._tails.get(file, (None, {}))[0] != known:
            with file.open("rb") as opened:
                opened.seek(max(0, facts.st_size - TAIL))
                lines = opened.read().split(b"\n")
            self._tails[file] = (known, _newest(lines))
        return self._tails[file][1]

    def checkpoints(self, name: str) -> list[int]:
        """The numbers of a run's checkpoints, oldest first."""
        found = [one.name for one in (self.path(name) / "checkpoints").glob("[0-9]*")]
        return sorted(int(one) for one in found if one.isdigit())

    def network(self, name: str, number: str | None = None) -> Path:
        """A run's folder, which stands for its best network, or the network of one checkpoint."""
        folder = self.path(name)
        if number is None:
            return folder
        file = folder / "checkpoints" / f"{int(number):06d}" / "network.safetensors" if number.isdigit() else folder
        if not file.is_file():
            raise ValueError(f"the run {name} has no checkpoint {number[:20]!r}")
        return file

    def lines(self, name: str, kind: str) -> list[dict[str, Any]]:
        """Metrics of one kind; only what was written since the last call is read."""
        file = self.path(name) / "metrics.jsonl"
        if not file.is_file():
            return []
        at, known = self._curves.get((file, kind), (0, []))
        size = file.stat().st_size
        if size < at:  # resumed from an earlier step: the file was written again
            at, known = 0, []
        if size > at:
            with file.open("rb") as opened:
                opened.seek(at)
                new = opened.read(size - at)
            whole = new[: new.rfind(b"\n") + 1]
            known = [*known, *_parsed(whole, kind)]
            self._curves[file, kind] = (at + len(whole), known)
            while len(self._curves) > KEPT_CURVES:
                self._curves.popitem(last=False)
        return thinned(known)

    def process(self, name: str) -> int | None:
        """The process that trains a run now, if there is one."""
        lock = self.path(name) / "run.lock"
        with suppress(OSError, ValueError):
            number = int(lock.read_text(encoding="ascii") or "0")
            other = number > 1 and number != os.getpid()  # a lock that was left behind may name any process
            command = Path(f"/proc/{number}/cmdline").read_bytes() if other else b""
            if b"ramify" in command:
                return number
        return None

    def rating(self, name: str) -> dict[str, Any] | None:
        """The rating that ``ramify rate`` has written, if there is one; without players that are not understood."""
        from ramify.arena.runs import read_rating

        found = read_rating(self.path(name))
        players = found.get("players") if found is not None else None
        sound = [one for one in players if _is_rated(one)] if isinstance(players, list) else []
        return {**found, "players": sound} if found is not None and sound else None


def summary_of(
    name: str,
    folder: Path,
    config: dict[str, Any],
    last: dict[str, Any],
    now: tuple[bool, float],
    stored: int | None = None,
) -> RunSummary:
    """A run from its settings and its last metrics; ``now``: whether it trains, and when it last changed. Files may be
    damaged: what is no number counts as 0."""
    loop = config.get("loop")
    iterations = _number(loop.get("iterations")) if isinstance(loop, dict) else 0
    return RunSummary(
        name,
        folder,
        str(config.get("game", "")),
        config,
        int(_number(last.get("iteration"))),
        int(iterations),
        int(_number(last.get("step"))),
        _number(last.get("seconds")),
        *now,
        last,
        stored,
    )


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and math.isfinite(value) else 0


def _is_rated(player: Any) -> bool:
    """Whether a player of a rating file has what the pages show."""
    if (
        not isinstance(player, dict)
        or not isinstance(player.get("name"), str)
        or not {"step", "iteration"} <= {*player}
    ):
        return False
    numbers = [player.get(name) for name in ("elo", "low", "high", "games")]
    numbers += [player["step"]] if player["step"] is not None else []
    named = isinstance(player["name"], str)
    return named and all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)


def _changed(folder: Path) -> float:
    with suppress(OSError):
        return (folder / "metrics.jsonl").stat().st_mtime
    with suppress(OSError):
        return (folder / "ramify-run.json").stat().st_mtime
    return 0.0


def _newest(lines: list[bytes]) -> dict[str, Any]:
    """The last whole line of an iteration, else the last of a step."""
    steps: dict[str, Any] = {}
    for line in reversed(lines):
        with suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and said.get("kind") == "iteration":
                return said
            if isinstance(said, dict) and not steps:
                steps = said
    return steps


def _parsed(text: bytes, kind: str) -> list[dict[str, Any]]:
    found = []
    marked = f'"kind": "{kind}"'.encode()
    for line in text.splitlines():
        if marked in line:
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def thinned(lines: list[dict[str, Any]], most: int = STEP_POINTS) -> list[dict[str, Any]]:
    """At most so many lines, evenly, with the last one."""
    if len(lines) <= most:
        return lines
    step = len(lines) / most
    return [lines[min(len(lines) - 1, int((i + 1) * step) - 1)] for i in range(most)]


def differences(configs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Settings in which runs differ: the name of each, and its value in every run."""
    flat = [dict(flattened(config)) for config in configs]
    names = sorted({name for one in flat for name in one})
    rows = [(name, [one.get(name, "") for one in flat]) for name in names]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def flattened(config: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Settings by their dotted names."""
    if isinstance(config, dict) and config:
        return [pair for key, value in config.items() for pair in flattened(value, f"{prefix}{key}.")]
    return [(prefix.rstrip("."), config if isinstance(config, str) else json.dumps(config))]
