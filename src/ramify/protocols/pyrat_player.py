"""PyRat bots that speak JSON lines as players."""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar, Literal

from pydantic import Field

from ramify.arena.player import Turn, register_player
from ramify.protocols.engine_player import NAME, EngineConfig, EnginePlayer
from ramify.protocols.process import EngineError, EngineProcess, shortened
from ramify.protocols.pyrat_bot import MAZE, POSITION, PROTOCOL
from ramify.pyrat import DIRECTIONS


@register_player
class PyRatBotConfig(EngineConfig):
    """A PyRat bot: a program that reads and writes JSON lines, as ``ramify pyrat-bot`` does.

    ``patience`` is for its start and for new games; in a turn it has ``seconds`` and ``grace``.
    """

    protocol: ClassVar[str] = "PyRat bot"
    plays: ClassVar[str] = "pyrat"

    kind: Literal["pyrat-bot"] = "pyrat-bot"
    seconds: float = Field(0.1, gt=0, le=3600, description="Time limit per turn, which the bot is told.")
    grace: float = Field(
        0.5, ge=0, le=3600, description="Seconds beyond the time limit after which a bot without an answer forfeits."
    )

    def start(self) -> PyRatBotPlayer:
        return PyRatBotPlayer(self)


class PyRatBotPlayer(EnginePlayer):
    """A running bot."""

    config: PyRatBotConfig

    def _greet(self, process: EngineProcess) -> None:
        hello = self._exchange(process, {"type": "hello", "protocol": PROTOCOL}, "hello", self._deadline())
        self.name = shortened(f"{hello.get('name', '')} {hello.get('version', '')}".strip(), NAME)

    def _ask(self, process: EngineProcess, turn: Turn) -> int:
        fields = turn.state.fields  # type: ignore[attr-defined]  # of a native state
        now = {name: fields[name] for name in POSITION}
        game = {"type": "game", "player": turn.player + 1, **{name: fields[name] for name in MAZE}, **now}
        self._exchange(process, game, "ready", self._deadline())
        deadline = time.monotonic() + self.config.seconds + self.config.grace
        asked = {"type": "turn", **now, "seconds": self.config.seconds}
        move = self._exchange(process, asked, "move", deadline).get("move")
        if move not in DIRECTIONS:
            raise self._illegal(turn.state, str(move))
        return DIRECTIONS.index(move)

    def _exchange(
        self, process: EngineProcess, message: dict[str, Any], wanted: str, deadline: float
    ) -> dict[str, Any]:
        """Send a message and read the answer of this type; raises EngineError if there is none, or an error."""
        process.send(json.dumps(message), deadline)
        while True:
            line = process.read_line(deadline, f"answer of type {wanted!r}")
            try:
                answer = json.loads(line)
            except (ValueError, RecursionError):
                answer = None  # such as a line that a library has printed
            kind = answer.get("type") if isinstance(answer, dict) else None
            if kind == wanted:
                return dict(answer)
            if kind == "error":
                said = shortened(str(answer.get("message")), 200)
                raise EngineError(
                    f"the engine {self.config.command!r} refused a message of type {message['type']}: {said}"
                )
