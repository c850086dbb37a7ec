"""Chess games as PGN, read and written by python-chess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ramify.games.files.record import RESULTS, GameFileError, GameRecord
from ramify.games.protocol import State
from ramify.games.registry import make

DRAWS = "Draws"  # our own header, for games with draws="automatic"
KNOWN = {"White", "Black", "Date", "Result", "FEN", "SetUp", DRAWS}
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
    node = game
    for state, turn in zip(states, record.turns, strict=False):
        node = node.add_variation(chess.Move.from_uci(state.action_name(turn[0])))
    if record.resigned is not None:
        node.comment = f"{('White', 'Black')[record.resigned]} resigns."
    return f"{game}\n"


class Lines:
    """A text that is read line by line, and the number of the line read last."""

    def __init__(self, text: str) -> None:
        self.left: Iterator[str] = iter(text.splitlines(keepends=True))
        self.number = 0

    def readline(self) -> str:
        self.number += 1
        return next(self.left, "")


def read_main_line(text: str) -> tuple[dict[str, str], list[tuple[str, int]]]:
    """Headers, and the moves of the main line, each with its line in the file."""
    chess, lines = python_chess(), Lines(text)
    headers: dict[str, str] = {}
    moves: list[tuple[str, int]] = []

    class Reader(chess.pgn.BaseVisitor):  # type: ignore[misc, name-defined]
        def visit_header(self, tagname: str, tagvalue: str) -> None:
            headers[tagname] = tagvalue

        def begin_variation(self) -> Any:
            return chess.pgn.SKIP

        def visit_move(self, board: Any, move: Any) -> None:
            del board
            moves.append((move.uci(), lines.number))

        def visit_result(self, result: str) -> None:
            headers.setdefault("Result", result)

        def handle_error(self, error: Exception) -> None:
            raise GameFileError(str(error), lines.number)

        def result(self) -> None:
            return None

    chess.pgn.read_game(lines, Visitor=Reader)
    return headers, moves


def loads(text: str) -> GameRecord:
    """The first game in a file of this text, without its variations."""
    headers, moves = read_main_line(text)
    if not headers and not moves:
        raise GameFileError("there is no game in this file", 1)
    if headers.get("Variant", "").lower() not in STANDARD:
        raise GameFileError(f"the variant {headers['Variant']!r} is not supported, only standard chess")
    # Games played elsewhere may go on where a draw could have been claimed.
    rules = [headers[DRAWS]] if DRAWS in headers else ["claimed", "automatic"]
    start, turns = _replay(headers, moves, rules)
    result = headers.get("Result", "*")
    return GameRecord(
        start=start,
        turns=turns,
        result=result if result in RESULTS else "*",
        players=(_known(headers.get("White", "")), _known(headers.get("Black", ""))),
        date=_known(headers.get("Date", "")).replace(".", "-"),
        headers={name: value for name, value in headers.items() if name not in KNOWN},
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
