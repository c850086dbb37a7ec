"""What players have in common that are other programs."""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from ramify.arena.player import PlayerConfig, Turn
from ramify.games import Game, State
from ramify.protocols.process import EngineError, EngineProcess

NAME = 200  # characters of a program's name and version


class EngineConfig(PlayerConfig):
    """A program as a player. The seeds of turns do not reach it: whether it plays alike each time is its own affair."""

    protocol: ClassVar[str]
    plays: ClassVar[str]  # the game that programs of this protocol play
    least: ClassVar[Mapping[str, Any]] = {}  # settings that there must be, to start one only to ask its name

    command: str = Field(min_length=1, description="how to start it, as typed in a shell (nothing is expanded)")
    patience: float = Field(60.0, gt=0, description="seconds, beyond its own limits, until it counts as hanging")

    def content(self) -> dict[str, Any]:
        """The settings, and what the program says it is: it is started to be asked."""
        return {**self.model_dump(mode="json", exclude={"patience"}), "engine": self.identify()}

    def identify(self) -> str:
        """Name and version, as the program gives them; it is asked once."""
        return _name_of(type(self), self.command, self.patience)

    def open(self, game: Game) -> EnginePlayer:
        if game.name != self.plays:
            raise ValueError(f"{self.protocol} programs play {self.plays}, not {game.name}")
        return self.start()

    @abstractmethod
    def start(self) -> EnginePlayer:
        """The program, running."""


@functools.lru_cache(maxsize=64)
def _name_of(kind: type[EngineConfig], command: str, patience: float) -> str:
    player = kind(command=command, patience=patience, **kind.least).start()
    player.close()
    return player.name


class EnginePlayer(ABC):
    """Asks a program, turn by turn. Each turn it is told a new game and the whole position, so that a choice does not
    depend on those before. After a failure it is started anew."""

    name = ""  # as the program gives it

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self._process: EngineProcess | None = None
        self._start()

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        """An action for each turn; EngineError, with the program ended, where it fails."""
        return [self._guarded(turn.state) for turn in turns]

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            process, self._process = self._process, None
            process.close()

    def _guarded(self, state: State) -> int:
        try:
            action = self._ask(self._start(), state)
        except BaseException:
            self.close()
            raise
        return action

    def _start(self) -> EngineProcess:
        if self._process is None:
            self._process = EngineProcess(self.config.command)
            try:
                self._greet(self._process)
            except BaseException:
                self.close()
                raise
        return self._process

    def _illegal(self, state: State, answer: str) -> EngineError:
        self.close()
        return EngineError(f"the engine {self.config.command!r} chose {answer[:40]!r}, which is not legal in\n{state}")

    def _deadline(self, seconds: float = 0.0) -> float:
        return time.monotonic() + seconds + self.config.patience

    @abstractmethod
    def _greet(self, process: EngineProcess) -> None:
        """What is said once, when the program has been started."""

    @abstractmethod
    def _ask(self, process: EngineProcess, state: State) -> int:
        """Tell the position and read the answer."""
