"""Chess games as PGN, read and written by python-chess."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ramify.games.files.record import MARKS, RESULTS, GameFileError, GameRecord, MoveNote
from ramify.games.protocol import State
from ramify.games.registry import make

DRAWS = "Draws"  # our own header, for games with draws="automatic"
KNOWN = {"White", "Black", "Date", "Result", "FEN", "SetUp", DRAWS}
PAWNS_AT_45_DEGREES, LARGEST_ANGLE = 1.117, 1.562  # a value of ½ is a little more than a pawn, 1 is 127 pawns
STANDARD = {"", "standard", "chess", "from position"}


def python_chess() -> Any:
    """The module; an ImportError says how to install it."""
    try:
        import chess
        import chess.pgn
    except ImportError as error:
        raise ImportError("PGN files need python-chess: pip install ramify[chess]") from error
    return chess


def dumps(record: GameRecord) -> str:
    """The text of the file."""
    chess, states = python_chess(), record.states()
    game = chess.pgn.Game()
    if record.start.fen != chess.STARTING_FEN:  # type: ignore[attr-defined]
        game.setup(record.start.fen)  # type: ignore[attr-defined]
    game.headers.update(record.headers)
    game.headers["White"], game.headers["Black"] = (name or "?" for name in record.players)
    game.headers["Date"] = record.date.replace("-", ".") or "????.??.??"
    game.headers["Result"] = record.result
    if (draws := record.start.game.params["draws"]) != "claimed":
        game.headers[DRAWS] = draws
    node, game.comment = game, record.comment
    for number, (state, turn) in enumerate(zip(states, record.turns, strict=False)):
        before, node = node, node.add_variation(chess.Move.from_uci(state.action_name(turn[0])))
        if number < len(record.notes):
            _annotate(before, node, state, record.notes[number])
    if record.resigned is not None:
        node.comment = " ".join([node.comment, f"{('White', 'Black')[record.resigned]} resigns."]).strip()
    return f"{game}\n"


def _annotate(before: Any, node: Any, state: State, note: MoveNote) -> None:
    """Write a note at a move, and its better line as a variation beside it."""
    chess = python_chess()
    node.comment = note.comment
    if note.mark:
        node.nags.add(MARKS.index(note.mark))
    position, line = state.copy(), before
    for number, action in enumerate(note.better):
        move = chess.Move.from_uci(position.action_name(action))
        line = line.add_variation(move) if number == 0 else line.add_main_variation(move)
        position.apply(action)


def value_comment(value: float, simulations: int | None = None) -> str:
    """A search value in [-1, 1] of White as a comment: as [%eval …] in pawns, which programs read, and as it is."""
    pawns = PAWNS_AT_45_DEGREES * math.tan(LARGEST_ANGLE * max(-1.0, min(1.0, value)))
    searched = "" if simulations is None else f", {simulations} simulations"
    return f"[%eval {pawns:.2f}] value {value:+.3f}{searched}"


class Lines:
    """A text that is read line by line, and the number of the line read last."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.number = 0

    @property
    def at_end(self) -> bool:
        return self.number >= len(self.lines)

    def readline(self) -> str:
        self.number += 1
        return self.lines[self.number - 1] if self.number <= len(self.lines) else ""

    def skip_game(self, first: int) -> None:
        """Go on at the headers of the game after the one that begins in this line, wherever its reading ended."""
        number, in_moves = first, False
        while number <= len(self.lines):
            line = self.lines[number - 1].strip()
            if line.startswith("[") and in_moves:
                break
            in_moves = in_moves or bool(line and not line.startswith(("[", "%")))
            number += 1
        self.number = max(number - 1, first)


@dataclass
class MainLine:
    """What is read of a game: its headers, and the moves of its main line with what is said there."""

    headers: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, int]] = field(default_factory=list)  # each with its line in the file
    comments: dict[int, list[str]] = field(default_factory=dict)  # by the number of moves before them
    marks: dict[int, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.headers and not self.moves

    def comment(self, moves: int) -> str:
        return " ".join(" ".join(self.comments.get(moves, ())).split())

    def notes(self) -> tuple[MoveNote, ...]:
        """The notes at the moves; none if nothing is noted anywhere."""
        if not self.marks and not any(self.comments):
            return ()
        numbers = range(1, len(self.moves) + 1)
        return tuple(MoveNote(self.comment(number), self.marks.get(number, "")) for number in numbers)


def read_main_line(lines: Lines) -> MainLine:
    """The next game, without its variations."""
    chess, read = python_chess(), MainLine()
    headers, moves = read.headers, read.moves

    class Reader(chess.pgn.BaseVisitor):  # type: ignore[misc, name-defined]
        def visit_header(self, tagname: str, tagvalue: str) -> None:
            headers[tagname] = tagvalue

        def begin_variation(self) -> Any:
            return chess.pgn.SKIP

        def visit_move(self, board: Any, move: Any) -> None:
            del board
            moves.append((move.uci(), lines.number))

        def visit_comment(self, comment: str) -> None:
            read.comments.setdefault(len(moves), []).append(comment)

        def visit_nag(self, nag: int) -> None:
            if 0 < nag < len(MARKS):
                read.marks.setdefault(len(moves), MARKS[nag])

        def visit_result(self, result: str) -> None:
            headers.setdefault("Result", result)

        def handle_error(self, error: Exception) -> None:
            raise GameFileError(str(error), lines.number)

        def result(self) -> None:
            return None

    chess.pgn.read_game(lines, Visitor=Reader)
    return read


def loads(text: str) -> GameRecord:
    """The first game in a file of this text, without its variations."""
    read = read_main_line(Lines(text))
    if read.is_empty:
        raise GameFileError("there is no game in this file", 1)
    return _game(read)


def loads_all(text: str) -> Iterator[GameRecord | GameFileError]:
    """Every game in a file of this text; for one that cannot be read, the error that says why."""
    lines = Lines(text)
    while not lines.at_end:
        first = lines.number + 1
        try:
            read = read_main_line(lines)
            if not read.is_empty:
                yield _game(read)
        except GameFileError as error:
            yield error
            lines.skip_game(first)


def _game(read: MainLine) -> GameRecord:
    headers = read.headers
    if headers.get("Variant", "").lower() not in STANDARD:
        raise GameFileError(f"the variant {headers['Variant']!r} is not supported, only standard chess")
    # Games played elsewhere may go on where a draw could have been claimed.
    rules = [headers[DRAWS]] if DRAWS in headers else ["claimed", "automatic"]
    start, turns = _replay(headers, read.moves, rules)
    result = headers.get("Result", "*")
    return GameRecord(
        start=start,
        turns=turns,
        result=result if result in RESULTS else "*",
        players=(_known(headers.get("White", "")), _known(headers.get("Black", ""))),
        date=_known(headers.get("Date", "")).replace(".", "-"),
        headers={name: value for name, value in headers.items() if name not in KNOWN},
        notes=read.notes(),
        comment=read.comment(0),
    )


def _replay(
    headers: dict[str, str], moves: list[tuple[str, int]], rules: list[str]
) -> tuple[State, tuple[tuple[int, ...], ...]]:
    """The start and the turns, under the first of these rules by which the game goes on to its end."""
    try:
        game = make("chess", draws=rules[0])
        start: State = game.state(headers["FEN"]) if "FEN" in headers else game.initial_state()  # type: ignore[attr-defined]
    except ValueError as error:
        raise GameFileError(str(error).partition("\n")[0]) from None
    state, turns = start.copy(), []
    for move, line in moves:
        if state.is_over:
            if rules[1:]:
                return _replay(headers, moves, rules[1:])
            raise GameFileError(f"the game is over before {move}", line)
        turns.append((state.action(move),))
        state.apply(*turns[-1])
    return start, tuple(turns)


def _known(value: str) -> str:
    return "" if value.startswith("?") else value
