"""Networks and the reward of the game that they were trained for."""

from __future__ import annotations

from typing import Any

import pytest

import ramify as rf
from ramify.pyrat import DecoupledPUCTConfig, MCTSAgent, PyRatGame

BOARD: dict[str, Any] = {"width": 5, "height": 5, "cheese": 5}


def test_searches_refuse_a_network_of_another_reward() -> None:
    network = rf.evaluators.Network(rf.networks.make(rf.make("pyrat", reward="difference", **BOARD), "1x8"), "cpu")
    same = rf.make("pyrat", reward="difference", **BOARD).initial_state(0)
    assert rf.search(same, network, simulations=8).visits.sum() > 0
    other = rf.make("pyrat", reward="cheese", **BOARD).initial_state(0)
    with pytest.raises(ValueError, match="trained for pyrat with reward='difference', not reward='cheese'"):
        rf.search(other, network, simulations=8)
    with pytest.raises(ValueError, match="trained for pyrat with reward='difference'"):
        MCTSAgent(DecoupledPUCTConfig(simulations=8), network).get_move(PyRatGame(other))


def test_commands_take_the_reward_of_the_network(run: Any) -> None:
    code, out, _ = run("analyze", "pyrat", "-p", "preset=tiny", "--network", "pyrat", "--simulations", "8")
    assert code == 0, out
    code, _, err = run("analyze", "pyrat", "-p", "preset=tiny", "-p", "reward=cheese", "--network", "pyrat")
    assert code != 0
    assert "reward=difference" in err
