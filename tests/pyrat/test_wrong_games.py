"""What the doors of the seeds say to anything but a PyRatGame."""

from __future__ import annotations

from typing import Any

import pytest

import ramify as rf
from ramify.pyrat import MCTSAgent, PyRatGame, new_root


@pytest.mark.parametrize("door", [MCTSAgent().get_move, new_root])
def test_a_state_is_no_game(door: Any) -> None:
    state = rf.make("pyrat", width=3, height=3, cheese=2).initial_state(0)
    with pytest.raises(TypeError, match=r"game must be a PyRatGame, not \w*State: PyRatGame\(state\) makes one"):
        door(state)
    with pytest.raises(TypeError, match="game must be a PyRatGame, not str"):
        door("x")


def test_a_game_needs_a_position_of_pyrat() -> None:
    with pytest.raises(TypeError, match="state must be a position of PyRat, not str"):
        PyRatGame("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not of hex"):
        PyRatGame(rf.make("hex", size=3).initial_state())
