"""Chess engines over UCI as players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ramify.arena.player import Turn, register_player
from ramify.protocols.engine_player import NAME, EngineConfig, EnginePlayer
from ramify.protocols.process import EngineError, EngineProcess, check_program, shortened
from ramify.protocols.uci_offers import check_options, read_offers


@register_player
class UciConfig(EngineConfig):
    """A chess engine over UCI, with at least one limit."""

    protocol: ClassVar[str] = "UCI"
    plays: ClassVar[str] = "chess"
    least: ClassVar[Mapping[str, Any]] = {"nodes": 1}

    kind: Literal["uci"] = "uci"
    nodes: int | None = Field(
        None, ge=1, description="Maximum number of nodes the engine searches per move; None: no limit."
    )
    depth: int | None = Field(None, ge=1, description="Search depth of the engine in plies; None: no limit.")
    seconds: float | None = Field(None, gt=0, description="Time per move in seconds; None: no limit.")
    options: dict[str, str | int | float | bool] = Field(
        {}, description="UCI options of the engine, such as Hash or Threads."
    )

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.nodes is None and self.depth is None and self.seconds is None:
            try:
                check_program(self.command)  # without it, no limit helps
            except EngineError as error:
                raise ValueError(str(error)) from None
            raise ValueError("set at least one of nodes, depth and seconds")
        return self

    def start(self) -> UciPlayer:
        return UciPlayer(self)

    def go(self) -> str:
        """The command that starts a search."""
        words = ["go"]
        if self.nodes is not None:
            words += ["nodes", str(self.nodes)]
        if self.depth is not None:
            words += ["depth", str(self.depth)]
        if self.seconds is not None:
            words += ["movetime", str(max(1, round(1000 * self.seconds)))]
        return " ".join(words)


class UciPlayer(EnginePlayer):
    """A running chess engine."""

    config: UciConfig

    def _greet(self, process: EngineProcess) -> None:
        deadline = self._deadline()
        process.send("uci", deadline)
        known = list[str]()
        while (line := process.read_line(deadline, "'uciok'").strip()) != "uciok":
            known.append(line)
            if line.startswith("id name "):
                self.name = shortened(line.removeprefix("id name "), NAME)
        check_options(self.config.command, read_offers(known), self.config.options)
        for name, value in self.config.options.items():
            text = str(value).lower() if isinstance(value, bool) else value
            process.send(f"setoption name {name} value {text}", self._deadline())
        self._wait(process)

    def _wait(self, process: EngineProcess) -> None:
        deadline = self._deadline()
        process.send("isready", deadline)
        while process.read_line(deadline, "'readyok'").strip() != "readyok":
            pass

    def _ask(self, process: EngineProcess, turn: Turn) -> int:
        state = turn.state
        process.send("ucinewgame", self._deadline())
        self._wait(process)
        process.send(position(state), self._deadline())
        deadline = self._deadline(self.config.seconds or 0.0)
        process.send(self.config.go(), deadline)
        while not (words := process.read_line(deadline, "'bestmove'").split()) or words[0] != "bestmove":
            pass
        answer = words[1] if len(words) > 1 else ""
        try:
            action = state.action(answer)
        except ValueError:
            raise self._illegal(state, answer) from None
        if action not in state.legal_actions():
            raise self._illegal(state, answer)
        return action


def position(state: Any) -> str:
    """The command that sets up a position, with the moves since the last irreversible one, so that the engine can
    detect repetitions."""
    if not state.fields["history"]:
        return f"position fen {state.fen}"
    board = state.board
    moves = " ".join(move.uci() for move in board.move_stack)
    return f"position fen {board.root().fen(en_passant='fen')} moves {moves}"
