"""Base classes of players that are external engines."""

from __future__ import annotations

import functools
import os
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar

from pydantic import Field

from ramify.arena.player import PlayerConfig, Turn
from ramify.arena.versions import checksums, named_files
from ramify.games import Game, State
from ramify.protocols.process import EngineError, EngineOnDemand, EngineProcess

NAME = 200  # characters of a program's name and version
SCRIPTS = frozenset({".jar", ".js", ".lua", ".pl", ".py", ".rb", ".sh"})  # programs that others run


class EngineConfig(PlayerConfig):
    """An external engine as a player. It ignores the seeds of turns, so it need not be deterministic."""

    protocol: ClassVar[str]
    plays: ClassVar[str]  # the game that programs of this protocol play
    least: ClassVar[Mapping[str, Any]] = {}  # settings that there must be, to start one only to ask its name

    command: str = Field(
        min_length=1,
        description=("Command line that starts the engine; split like a shell command, but nothing is expanded."),
    )
    patience: float = Field(
        60.0,
        gt=0,
        description=("Seconds without an answer, beyond the engine's own limits, after which it counts as hanging."),
    )
    processes: int = Field(
        1,
        ge=1,
        le=256,
        description="Number of copies of the engine, which think at the same time where several games are in progress.",
    )

    where: ClassVar[frozenset[str]] = frozenset({"patience", "processes"})  # they do not affect what it plays

    def content(self) -> dict[str, Any]:
        """The settings, and the engine's name, for which it is started."""
        return {**self.model_dump(mode="json", exclude=set(self.where)), "engine": self.identify()}

    def versions(self) -> dict[str, Any]:
        """The version of the adapter, and checksums of the files named in the command and the settings. The version of
        ramify's own search is not included."""
        versions = {name: known for name, known in super().versions().items() if name != "engine"}
        return {**versions, "files": list(self._identified()[1])}

    def identify(self) -> str:
        """Name and version reported by the engine; queried once, and again after its files have changed."""
        return self._identified()[0]

    def _identified(self) -> tuple[str, tuple[str, ...]]:
        settings = self.model_dump(mode="json", exclude={"kind", "command", *self.where}).values()
        texts = tuple(text for value in settings for text in texts_in(value))
        programs = checksums(path for path in named_files(self.command, texts) if is_program(path))
        return _ask(type(self), self.command, self.patience, texts, tuple(programs.items()))

    def open(self, game: Game) -> EnginePlayer | EngineCopies:
        if game.name != self.plays:
            raise ValueError(f"{self.protocol} engines can play only {self.plays}, not {game.name}")
        return self.start() if self.processes == 1 else EngineCopies(self)

    @abstractmethod
    def start(self) -> EnginePlayer:
        """Start the engine."""


@functools.lru_cache(maxsize=64)
def _ask(
    kind: type[EngineConfig], command: str, patience: float, texts: tuple[str, ...], programs: tuple[Any, ...]
) -> tuple[str, tuple[str, ...]]:
    """The name of an engine, and checksums of its files; cached while ``programs`` do not change."""
    del programs
    before = checksums(named_files(command, texts))
    player = kind(command=command, patience=patience, **kind.least).start()
    player.close()
    after = checksums(before)
    # A file that changed while the program only said its name is one that it writes, such as a log.
    return player.name, tuple(known for path, known in before.items() if after.get(path) == known)


def is_program(path: Path) -> bool:
    return path.suffix in SCRIPTS or os.access(path, os.X_OK)


def texts_in(value: Any) -> list[str]:
    """All strings in plain data."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_in(one)]


class EnginePlayer(EngineOnDemand):
    """A running engine. It gets a new game and the whole position at each turn, so that its choice does not depend on
    earlier turns. After a failure it is restarted."""

    name = ""  # as the program gives it

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config.command)
        self.config = config
        self._running()

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        """An action for each turn; after a failure the engine is ended and EngineError is raised."""
        return [self._guarded(turn) for turn in turns]

    def _guarded(self, turn: Turn) -> int:
        try:
            action = self._ask(self._running(), turn)
        except BaseException:
            self.close()
            raise
        return action

    def _illegal(self, state: State, answer: str) -> EngineError:
        self.close()
        who = f"the engine {self.config.command!r}"
        return EngineError(f"{who} chose {answer[:40]!r}, which is not legal here\n{state}")

    def _deadline(self, seconds: float = 0.0) -> float:
        return time.monotonic() + seconds + self.config.patience

    @abstractmethod
    def _ask(self, process: EngineProcess, turn: Turn) -> int:
        """Send the position and read the answer."""


class EngineCopies:
    """Several running copies of an engine. Each of them takes the next turn that waits for an answer."""

    def __init__(self, config: EngineConfig) -> None:
        self._copies: list[EnginePlayer] = []
        self._free: SimpleQueue[EnginePlayer] = SimpleQueue()
        self._threads = ThreadPoolExecutor(config.processes, "engine")
        try:
            for _ in range(config.processes):
                self._copies.append(config.start())
                self._free.put(self._copies[-1])
        except BaseException:
            self.close()
            raise

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        """An action for each turn. All turns are asked even if one of them fails; then the first error is raised."""
        asked = [self._threads.submit(self._choose, turn) for turn in turns]
        wait(asked)
        return [answer.result() for answer in asked]

    def _choose(self, turn: Turn) -> int:
        copy = self._free.get()
        try:
            return copy.choose([turn])[0]
        finally:
            self._free.put(copy)

    def close(self) -> None:
        """End all copies."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for copy in self._copies:
            copy.close()
