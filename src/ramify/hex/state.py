"""Immutable Hex positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import IllegalAction, State, make

Move = tuple[int, int]  # row, column, from 0 on


class HexGameState:
    """An immutable position of Hex without swap; wraps a state of ``ramify.make("hex", size=…)``.

    Player 0 moves first and connects top and bottom; player 1 connects left and right.
    """

    __slots__ = ("_moves", "_state")

    def __init__(self, size: int = 11, *, state: State | None = None) -> None:
        if state is None:
            state = make("hex", size=size).initial_state()
        if state.game.name != "hex" or state.game.params["swap"]:
            raise ValueError(f"state must be a position of Hex without swap, not of {state.game!r}")
        self._state = state.copy()
        self._moves: tuple[Move, ...] = ()

    @property
    def size(self) -> int:
        """Number of rows and columns."""
        return int(self._state.game.params["size"])

    @property
    def state(self) -> State:
        """A copy of the position as a state of ``ramify``."""
        return self._state.copy()

    @property
    def board(self) -> NDArray[np.int8]:
        """A copy of the board, [size, size]: 0 empty, 1 a stone of player 0, 2 a stone of player 1."""
        mine, other = self._state.observation(0)[:2]
        return np.asarray(mine + 2 * other, np.int8)

    @property
    def current_player(self) -> int:
        """The player to move; in a finished game the loser, whose turn it would be."""
        acting = self._state.acting
        return acting[0] if acting else int(self._state.returns[0] > 0)

    @property
    def game_over(self) -> bool:
        """Whether a player has won."""
        return self._state.is_over

    @property
    def winner(self) -> int | None:
        """The player who has connected both edges, or None."""
        return 1 - self.current_player if self.game_over else None

    @property
    def move_history(self) -> tuple[Move, ...]:
        """The moves since the initial position."""
        return self._moves

    @property
    def key(self) -> int:
        """The incremental 64-bit Zobrist key."""
        return self._state.key

    @property
    def canonical_key(self) -> int:
        """The smaller of the keys of this position and of its rotation by 180 degrees."""
        return min(self._state.key, self._state.transform(1).key)

    def make_move(self, row: int, col: int) -> HexGameState:
        """The position after a stone on that cell."""
        if not (0 <= row < self.size and 0 <= col < self.size):
            raise IllegalAction(f"({row}, {col}) is outside the board of {self.size} rows and columns")
        made = HexGameState(state=self._state)
        made._state.apply(row * self.size + col)
        made._moves = (*self._moves, (int(row), int(col)))
        return made

    def get_legal_moves(self) -> list[Move]:
        """The empty cells, row by row; none once the game is over."""
        if self.game_over:
            return []
        return [(int(action) // self.size, int(action) % self.size) for action in self._state.legal_actions()]

    def get_winner_value(self) -> float:
        """The value of a finished game for ``current_player``: always -1.0, because the other player moved and won."""
        if not self.game_over:
            raise ValueError("the game is not over: there is no winner yet")
        return float(self._state.returns[self.current_player])

    def get_board_tensor(self) -> NDArray[np.float32]:
        """[3, size, size], viewed by ``current_player``: own stones, the opponent's, ones for player 0 else zeros."""
        return self._state.observation(self.current_player)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HexGameState) and self.size == other.size and self.key == other.key

    def __hash__(self) -> int:
        return self.key

    def __copy__(self) -> HexGameState:
        made = HexGameState(state=self._state)
        made._moves = self._moves
        return made

    def __deepcopy__(self, _: dict[int, Any]) -> HexGameState:
        return self.__copy__()

    def __str__(self) -> str:
        return str(self._state)

    def __repr__(self) -> str:
        return f"HexGameState(size={self.size}, moves={list(self._moves)})"
