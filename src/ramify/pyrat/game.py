"""A PyRat game that is played forwards and backwards in place: ``make_move`` and ``unmake_move``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import State as NativeState
from ramify.games import State, make

Cell = tuple[int, int]  # x to the right, y upwards, both from 0

DIRECTIONS = ("UP", "RIGHT", "DOWN", "LEFT", "STAY")  # names of the actions 0 to 4


@dataclass(frozen=True)
class Undo:
    """A turn that was played, as ``unmake_move`` takes it back."""

    cheese_collected_p1: float  # 1 for a piece, 0.5 for one that both players reached at once
    cheese_collected_p2: float
    before: NativeState = field(repr=False)
    after: int = field(repr=False)  # key of the position after the turn


class PyRatGame:
    """A mutable PyRat game. It wraps a state of ``ramify.make("pyrat", …)``, whose rules it plays.

    Actions are 0 to 4: UP, RIGHT, DOWN, LEFT, STAY. Players are 1 and 2 in the names of this class and 0 and 1
    everywhere else in ramify.
    """

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        if not isinstance(state, State):
            raise TypeError(f"state must be a position of PyRat, not {type(state).__name__}")
        if not isinstance(state, NativeState) or state.game.name != "pyrat":
            raise ValueError(f"state must be a position of PyRat, not of {state.game!r}")
        if state.game.params["reward"] != "cheese":
            raise ValueError(f"the reward of a PyRatGame is the cheese gained, not {state.game.params['reward']!r}")
        self._state = state.copy()

    @classmethod
    def from_parts(cls, width: int, height: int, **parts: Any) -> PyRatGame:
        """A game from its parts: cheese, p1, p2, max_turns, and optionally walls, mud and the rest of ``fields``."""
        game: Any = make("pyrat", width=width, height=height)
        return cls(game.state(width=width, height=height, **parts))

    @staticmethod
    def state_of(game: PyRatGame) -> State:
        """A copy of the game's position; raises a TypeError for anything but a PyRatGame."""
        if not isinstance(game, PyRatGame):
            hint = ": PyRatGame(state) makes one" if isinstance(game, State) else ""
            raise TypeError(f"game must be a PyRatGame, not {type(game).__name__}{hint}")
        return game.state

    @property
    def state(self) -> State:
        """A copy of the position as a state of ``ramify``."""
        return self._state.copy()

    @property
    def fields(self) -> dict[str, Any]:
        """The position as plain data, from which ``from_parts`` makes it again."""
        return self._state.fields

    @property
    def key(self) -> int:
        """64-bit key of the position; equal keys promise equal futures."""
        return self._state.key

    @property
    def width(self) -> int:
        """Cells from left to right."""
        return int(self._state.game.params["width"])

    @property
    def height(self) -> int:
        """Cells from bottom to top."""
        return int(self._state.game.params["height"])

    @property
    def turn(self) -> int:
        """Turns played."""
        return int(self.fields["turn"])

    @property
    def max_turns(self) -> int:
        """Maximum number of turns."""
        return int(self.fields["max_turns"])

    @property
    def player1_position(self) -> Cell:
        """Cell of player 1, (x, y)."""
        return self._cell("p1")

    @property
    def player2_position(self) -> Cell:
        """Cell of player 2, (x, y)."""
        return self._cell("p2")

    @property
    def player1_mud_turns(self) -> int:
        """Turns for which player 1 is still stuck."""
        return int(self.fields["mud1"])

    @property
    def player2_mud_turns(self) -> int:
        """Turns for which player 2 is still stuck."""
        return int(self.fields["mud2"])

    @property
    def player1_score(self) -> float:
        """Cheese collected by player 1."""
        return float(self.fields["score1"])

    @property
    def player2_score(self) -> float:
        """Cheese collected by player 2."""
        return float(self.fields["score2"])

    def cheese_positions(self) -> list[Cell]:
        """The cells with cheese."""
        return [(int(x), int(y)) for x, y in self.fields["cheese"]]

    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self._state.is_over

    def effective_actions_p1(self) -> NDArray[np.int32]:
        """For each of the five actions the one that it amounts to: STAY for a blocked move, or in mud."""
        return self._effective(0)

    def effective_actions_p2(self) -> NDArray[np.int32]:
        """As ``effective_actions_p1``, of player 2."""
        return self._effective(1)

    def effective_outcomes_p1(self) -> list[int]:
        """One action per effect that player 1 can have, ascending; none once the game is over."""
        return [int(action) for action in self._state.outcomes(0)[0]]

    def effective_outcomes_p2(self) -> list[int]:
        """As ``effective_outcomes_p1``, of player 2."""
        return [int(action) for action in self._state.outcomes(1)[0]]

    def make_move(self, a1: int, a2: int) -> Undo:
        """Play one turn in place; ``unmake_move`` takes the returned record to undo it."""
        before = self._state.copy()
        gained = self._state.apply(int(a1), int(a2))
        return Undo(float(gained[0]), float(gained[1]), before, self._state.key)

    def unmake_move(self, undo: Undo) -> None:
        """Undo the latest turn that has not been undone yet."""
        if undo.after != self._state.key:
            raise ValueError("turns are undone in reverse order: this is not the record of the latest turn")
        self._state = undo.before.copy()

    def clone(self) -> PyRatGame:
        """An independent copy."""
        return PyRatGame(self._state)

    def _cell(self, player: str) -> Cell:
        x, y = self.fields[player]
        return int(x), int(y)

    def _effective(self, player: int) -> NDArray[np.int32]:
        actions, index = self._state.outcomes(player)
        if not len(actions):
            return np.full(len(index), DIRECTIONS.index("STAY"), np.int32)
        return np.asarray(actions[index], np.int32)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyRatGame) and self.key == other.key

    def __hash__(self) -> int:
        return self.key

    def __str__(self) -> str:
        return str(self._state)

    def __repr__(self) -> str:
        left = len(self.cheese_positions())
        return f"PyRatGame({self.width}x{self.height}, turn {self.turn} of {self.max_turns}, {left} cheese left)"
