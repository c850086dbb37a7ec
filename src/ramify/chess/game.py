"""A game of chess that is played in place, with python-chess moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramify.games import IllegalAction, State, make

if TYPE_CHECKING:
    import chess


def python_chess() -> Any:
    """The module ``chess``; an ImportError says how to install it."""
    try:
        import chess
    except ImportError as error:
        raise ImportError("ramify.chess needs python-chess: pip install 'ramify[chess]'") from error
    return chess


class ChessGame:
    """A mutable game of chess. It wraps a state of ``ramify.make("chess")``, whose rules it plays: threefold repetition
    and fifty moves without a capture or a pawn move end the game as draws."""

    __slots__ = ("_state",)

    def __init__(self, fen: str | None = None, *, state: State | None = None) -> None:
        if fen is not None and state is not None:
            raise ValueError("give a FEN or a state, not both")
        if state is None:
            game: Any = make("chess")
            state = game.initial_state() if fen is None else game.state(fen)
        if state.game.name != "chess":
            raise ValueError(f"state must be a position of chess, not of {state.game!r}")
        self._state: Any = state.copy()

    @property
    def state(self) -> State:
        """A copy of the position as a state of ``ramify``."""
        copied: State = self._state.copy()
        return copied

    @property
    def board(self) -> chess.Board:
        """A new python-chess board, with the moves since the last irreversible one; changes of it stay there."""
        board: chess.Board = self._state.board
        return board

    @property
    def fen(self) -> str:
        """The position as FEN."""
        return str(self._state.fen)

    @property
    def turn(self) -> bool:
        """Whose turn it is, as python-chess writes it: True for white."""
        return self.fen.split()[1] == "w"

    def get_legal_moves(self) -> list[chess.Move]:
        """The legal moves; none once the game is over."""
        read = python_chess().Move.from_uci
        return [read(self._state.action_name(int(action))) for action in self._actions()]

    def make_move(self, move: chess.Move | str) -> None:
        """Play a move, in place; a move that is not legal raises a ValueError and changes nothing."""
        self._state.apply(self.get_move_index(move))

    def get_move_index(self, move: chess.Move | str) -> int:
        """The index of a legal move in the policy, from 0 to 4671; no two legal moves of a position share one.

        The layout is AlphaZero's, 8 x 8 x 73, as the player to move sees the board: 73 times the square the piece
        leaves, plus the kind of move. A move that is not legal here raises a ValueError.
        """
        name = move if isinstance(move, str) else move.uci()
        try:
            index = int(self._state.action(name))
        except ValueError:
            index = -1
        if index not in self._actions():
            raise IllegalAction(f"{name} is not a legal move in\n{self._state}")
        return index

    def get_move(self, index: int) -> chess.Move:
        """The legal move with this index: the inverse of ``get_move_index``."""
        if index not in self._actions():
            raise IllegalAction(f"{index} is not the index of a legal move in\n{self._state}")
        move: chess.Move = python_chess().Move.from_uci(self._state.action_name(int(index)))
        return move

    def is_game_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self._state.is_over)

    def result(self) -> str:
        """ "1-0", "0-1", "1/2-1/2", or "*" while the game goes on."""
        if not self._state.is_over:
            return "*"
        return {1: "1-0", -1: "0-1", 0: "1/2-1/2"}[int(self._state.returns[0])]

    def clone(self) -> ChessGame:
        """An independent copy."""
        return ChessGame(state=self._state)

    def _actions(self) -> list[int]:
        return [] if self._state.is_over else [int(action) for action in self._state.legal_actions()]

    def __copy__(self) -> ChessGame:
        return self.clone()

    def __deepcopy__(self, _: dict[int, Any]) -> ChessGame:
        return self.clone()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChessGame) and self._state.key == other._state.key

    def __hash__(self) -> int:
        return int(self._state.key)

    def __str__(self) -> str:
        return str(self._state)

    def __repr__(self) -> str:
        return f"ChessGame({self.fen!r})"
