"""Chess positions as python-chess boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ramify import _core
from ramify.games.native import state_attribute

if TYPE_CHECKING:
    import chess


@state_attribute("chess", "board")
def board(state: _core.State) -> chess.Board:
    """A new python-chess ``Board``. Changing it does not change the state.

    The moves since the last irreversible one are on its stack, so that ``board.is_repetition()`` agrees with
    the state.
    """
    try:
        import chess
    except ImportError as error:
        raise ImportError("state.board needs python-chess: pip install ramify[chess]") from error
    fields = state.fields
    result = chess.Board(fields["fen"])
    moves = [chess.Move.from_uci(move) for move in fields["history"].split()]
    for move in reversed(moves):  # back to where the history starts: only quiet moves of pieces
        result.set_piece_at(move.from_square, result.remove_piece_at(move.to_square))
        result.turn = not result.turn
        result.halfmove_clock -= 1
        result.fullmove_number -= result.turn == chess.BLACK
    for move in moves:
        result.push(move)
    return result
