"""Random small games: rewards on every edge, positions shared between ways, turns in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ramify as rf

DEPTH, WIDTH = 4, 3  # levels, and positions on each


class RandomGame(rf.PythonGame):
    """``kind``: "turns" (one player at a time), "both" (always both), or "mixed"."""

    num_actions = 3
    observation_shape = (2,)

    def __init__(self, kind: str = "turns", seed: int = 0, zero_sum: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.simultaneous = kind != "turns"
        self.zero_sum = zero_sum
        self._players: dict[Any, tuple[int, ...]] = {}
        self._edges: dict[Any, tuple[Any, tuple[float, float]]] = {}
        self._counts: dict[Any, list[int]] = {}
        for level in range(DEPTH):
            for place in range(WIDTH):
                here = (level, place)
                choice = {"turns": int(rng.integers(2)), "both": 2, "mixed": int(rng.integers(3))}[kind]
                self._players[here] = ((0,), (1,), (0, 1))[choice]
                self._counts[here] = [int(rng.integers(1, 4)) for _ in self._players[here]]
                for joint in np.ndindex(*self._counts[here]):
                    first, second = rng.integers(-2, 3, 2) / 2
                    reward = (float(first), float(-first if zero_sum else second))
                    self._edges[here, joint] = ((level + 1, int(rng.integers(WIDTH))), reward)
        self.returns_range = (-float(DEPTH), float(DEPTH))

    def start(self, rng: np.random.Generator) -> Any:
        return (0, 0)

    def acting(self, position: Any) -> Sequence[int]:
        return self._players.get(position, ())

    def legal_actions(self, position: Any, player: int) -> list[int]:
        return list(range(self._counts[position][self._players[position].index(player)]))

    def apply(self, position: Any, *actions: Any, **_: Any) -> tuple[Any, Sequence[float]]:
        return self._edges[position, tuple(int(action) for action in actions)]

    def observation(self, position: Any, player: int) -> Any:
        return position

    def solve(self, discount: float, position: Any = (0, 0)) -> Any:
        """An equilibrium's values, by backward induction; the value itself where the game is zero-sum."""
        if not self.acting(position):
            return np.zeros(2)
        counts, players = self._counts[position], self._players[position]
        table = np.zeros((2, *counts))
        for joint in np.ndindex(*counts):
            after, reward = self._edges[position, joint]
            table[(slice(None), *joint)] = np.asarray(reward) + discount * self.solve(discount, after)
        if len(players) == 1:
            return table[:, int(np.argmax(table[players[0]]))]
        return rf.equilibria.solve(table).value
