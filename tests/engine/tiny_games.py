"""Small games written in Python, each with one property that the engine must cope with."""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf
from tests.reference.evaluators import mix, unit


class Paths(rf.PythonGame):
    """A position is the whole way to it: nothing transposes. Every action is legal and pays until the last turn."""

    simultaneous = True
    observation_shape = (2,)

    def __init__(self, order: str = "alternating", turns: int = 6, branching: int = 3, zero_sum: bool = True) -> None:
        self.order, self.turns, self.zero_sum = order, turns, zero_sum
        self.num_actions = branching

    def start(self, rng: np.random.Generator) -> Any:
        return ()

    def acting(self, position: Any) -> tuple[int, ...]:
        if len(position) == self.turns:
            return ()
        return {"alternating": (len(position) % 2,), "single": (0,), "both": (0, 1)}[self.order]

    def legal_actions(self, position: Any, player: int) -> range:
        return range(self.num_actions)

    def apply(self, position: Any, *actions: int) -> tuple[Any, tuple[float, float]]:
        after = (*position, actions)
        flat = [action for turn in after for action in turn]
        mine, other = 0.25 * float(unit(mix(0, *flat))), 0.25 * float(unit(mix(1, *flat)))
        return after, (mine, -mine if self.zero_sum else other)

    def observation(self, position: Any, player: int) -> Any:
        return [len(position), player]


class Carousel(rf.PythonGame):
    """Three places in a ring, left and right between them, or off with what the place pays: positions come back."""

    num_actions = 3
    observation_shape = (3,)

    def start(self, rng: np.random.Generator) -> Any:
        return 0

    def acting(self, position: Any) -> tuple[int, ...]:
        return () if position < 0 else (0,)

    def legal_actions(self, position: Any, player: int) -> range:
        return range(3)

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        if action == 2:
            return -1, ((0.25, -0.25), (-0.5, 0.5), (0.75, -0.75))[position]
        return (position + (1, 2)[action]) % 3, (0.0, 0.0)

    def observation(self, position: Any, player: int) -> Any:
        return np.eye(3)[position]


class Turntable(Carousel):
    """As Carousel, but nobody ever gets off: an author's error that must not hang a search."""

    num_actions = 2

    def legal_actions(self, position: Any, player: int) -> range:
        return range(2)

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        return (position + (1, 2)[action]) % 3, (0.0, 0.0)


class Ring(Carousel):
    """As Carousel, but there is one way round, and every step pays."""

    num_actions = 1

    def legal_actions(self, position: Any, player: int) -> range:
        return range(1)

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        return (position + 1) % 3, ((0.5, -0.5), (-0.25, 0.25), (0.0, 0.0))[position]


class Loans(rf.PythonGame):
    """Four turns, each with a loan taken or not: 3 now and -3 with the next turn. All returns are 0."""

    num_actions = 2
    observation_shape = (3,)
    zero_sum, returns_range = True, (0.0, 0.0)

    def start(self, rng: np.random.Generator) -> Any:
        return 0, 0  # turns made, what player 0 owes

    def acting(self, position: Any) -> tuple[int, ...]:
        return (position[0] % 2,) if position[0] < 4 else ()

    def legal_actions(self, position: Any, player: int) -> range:
        return range(2 if position[0] < 3 else 1)  # nothing is lent on the last turn

    def apply(self, position: Any, action: int) -> tuple[Any, tuple[float, float]]:
        turn, owed = position
        loan = 3 * action * (1 - 2 * (turn % 2))
        return (turn + 1, loan), (loan - owed, owed - loan)

    def observation(self, position: Any, player: int) -> Any:
        return [*position, player]


class Fragile(Paths):
    """Raises in the middle of things: the call number ``fails_at`` of ``method`` does."""

    def __init__(self, method: str = "apply", fails_at: int = 0) -> None:
        super().__init__(turns=5)
        self.method, self.fails_at, self.calls = method, fails_at, 0

    def _call(self, method: str) -> None:
        if method == self.method:
            self.calls += 1
            if self.calls == self.fails_at:
                raise ArithmeticError(f"call {self.calls} of {method}")

    def acting(self, position: Any) -> tuple[int, ...]:
        self._call("acting")
        return super().acting(position)

    def legal_actions(self, position: Any, player: int) -> range:
        self._call("legal_actions")
        return super().legal_actions(position, player)

    def apply(self, position: Any, *actions: int) -> tuple[Any, tuple[float, float]]:
        self._call("apply")
        return super().apply(position, *actions)

    def observation(self, position: Any, player: int) -> Any:
        self._call("observation")
        return super().observation(position, player)

    def key(self, position: Any) -> int:
        self._call("key")
        return super().key(position)
