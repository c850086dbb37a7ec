"""The rules of Nim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ramify as rf

MOST = 7  # objects in a heap


class Nim(rf.PythonGame):
    """Take any number of objects from one heap, in turn; who takes the last one wins.

    A position is (the heaps, the player to move). Action 7 * h + k - 1 takes k objects from heap h.
    """

    zero_sum, returns_range = True, (-1, 1)

    def __init__(self, heaps: Sequence[int] = (3, 4, 5)) -> None:
        self.heaps = tuple(heaps)
        if not self.heaps or not all(0 < heap <= MOST for heap in self.heaps):
            raise ValueError(f"heaps must be numbers from 1 to {MOST}, not {heaps}")
        self.num_actions = MOST * len(self.heaps)
        self.observation_shape = (MOST * len(self.heaps),)

    def start(self, rng: Any) -> Any:
        return self.heaps, 0

    def acting(self, position: Any) -> tuple[int, ...]:
        heaps, player = position
        return (player,) if any(heaps) else ()

    def legal_actions(self, position: Any, player: int) -> list[int]:
        return [MOST * place + taken for place, heap in enumerate(position[0]) for taken in range(heap)]

    def apply(self, position: Any, action: int) -> Any:
        heaps, player = list(position[0]), position[1]
        heaps[action // MOST] -= action % MOST + 1
        win = 0 if any(heaps) else 1 - 2 * player
        return (tuple(heaps), 1 - player), (win, -win)

    def observation(self, position: Any, player: int) -> list[float]:
        return [float(height < heap) for heap in position[0] for height in range(MOST)]

    def action_name(self, position: Any, player: int, action: int) -> str:
        return f"{'abcdefghij'[action // MOST]}{action % MOST + 1}"
