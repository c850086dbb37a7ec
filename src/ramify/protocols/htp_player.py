"""Hex engines over HTP as players."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ramify.arena.player import Turn, register_player
from ramify.protocols.engine_player import NAME, EngineConfig, EnginePlayer
from ramify.protocols.htp import SWAPS
from ramify.protocols.process import EngineError, EngineProcess, last_words, shortened
from ramify.protocols.stones import COLOURS, ProtocolView, cell_name, read_cell

LONGEST = 1 << 18  # characters of an answer


@register_player
class HtpConfig(EngineConfig):
    """A Hex engine over HTP. HTP has no common commands for limits; use the engine's own commands in ``setup``.

    If the engine resigns, it plays the first legal action, since games are played to their end.
    """

    protocol: ClassVar[str] = "HTP"
    plays: ClassVar[str] = "hex"

    kind: Literal["htp"] = "htp"
    setup: list[str] = Field(
        [], description='Commands sent to the engine once after it starts, such as "param_mcts simulations 500".'
    )

    def start(self) -> HtpPlayer:
        return HtpPlayer(self)


class HtpPlayer(EnginePlayer):
    """A running Hex engine."""

    config: HtpConfig
    takes_swap = False

    def _greet(self, process: EngineProcess) -> None:
        self.name = shortened(f"{self._command(process, 'name')} {self._command(process, 'version')}", NAME)
        self.takes_swap = "param_game" in self._command(process, "list_commands").split()
        for command in self.config.setup:
            self._command(process, command)

    def _ask(self, process: EngineProcess, turn: Turn) -> int:
        state = turn.state
        told, legal = ProtocolView.of(state), state.legal_actions()
        size = told.stones.size
        if self.takes_swap:  # allowed only while legal: stones alone do not tell an engine about an earlier swap
            self._command(process, f"param_game allow_swap {int(size * size in legal)}")
        self._command(process, f"boardsize {size} {size}")
        self._command(process, "clear_board")
        for colour, cell in told.stones.history:
            self._command(process, f"play {COLOURS[colour]} {cell_name(cell, size)}")
        answer = self._command(process, f"genmove {COLOURS[told.colour]}").strip().lower()
        if answer == "resign":
            return int(legal[0])
        found = read_cell(answer, size)
        action = size * size if answer in SWAPS else None if found is None else told.action(found)
        if action is None or action not in legal:
            raise self._illegal(state, answer)
        return action

    def _command(self, process: EngineProcess, command: str) -> str:
        """The answer to a command; raises EngineError if the command fails or the answer is too long."""
        deadline = self._deadline()
        process.send(command, deadline)
        lines = [process.read_line(deadline, f"answer to {command!r}")]
        while not lines[0].startswith(("=", "?")):  # empty lines, or unexpected messages
            lines = [process.read_line(deadline, f"answer to {command!r}")]
        length = len(lines[0])
        while lines[-1]:
            lines.append(process.read_line(deadline, f"end of the answer to {command!r}"))
            length += len(lines[-1]) + 1
            if length > LONGEST:
                shown = last_words(lines[0])
                raise EngineError(f"the engine {self.config.command!r} answers {command!r} without end: {shown!r}")
        text = "\n".join(lines)[1:].strip()
        if lines[0].startswith("?"):
            raise EngineError(f"the engine {self.config.command!r} rejected {command!r}: {last_words(text)}")
        return text
