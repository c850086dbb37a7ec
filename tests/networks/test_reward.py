"""Networks and the reward of the game that they were trained for."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import ramify as rf
from ramify.pyrat import DecoupledPUCTConfig, MCTSAgent, PyRatGame
from ramify.selfplay.inspection import payoffs_as

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


SMALL = ("-p", "width=5", "-p", "height=5", "-p", "cheese=3", "-p", "max_turns=6")


@pytest.mark.parametrize(
    "words",
    [
        ("watch", "pyrat", "search:simulations=4", "greedy", *SMALL, "--network", "pyrat"),
        ("watch", "pyrat", "search:simulations=4,network=pyrat", "greedy", *SMALL),
        ("match", "pyrat", "network", "random", *SMALL, "--network", "pyrat", "--games", "2"),
        ("match", "pyrat", "random", "network:network=pyrat", *SMALL, "--games", "2"),
        ("selfplay", "pyrat", "games", *SMALL, "--network", "pyrat", "--games", "2", "--simulations", "4"),
    ],
)
def test_players_play_for_the_reward_of_their_network(run: Any, words: tuple[str, ...]) -> None:
    code, _, err = run(*words, "-p", "reward=cheese")
    assert code != 0
    assert "reward=difference" in err
    code, out, err = run(*words)
    assert code == 0, out + err


def test_opponents_play_for_the_reward_of_their_network(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("play", "pyrat", *SMALL, "--against", "search:network=pyrat,simulations=4")
    monkeypatch.setattr("sys.stdin", io.StringIO("up\nquit\n"))
    code, _, err = run(*words, "-p", "reward=cheese")
    assert code != 0
    assert "reward=difference" in err
    monkeypatch.setattr("sys.stdin", io.StringIO("up\nquit\n"))
    code, out, err = run(*words)
    assert code == 0, out + err


def test_games_for_cheese_are_inspected_as_differences(run: Any) -> None:
    board = ("-p", "width=5", "-p", "height=5", "-p", "cheese=5", "--games", "2", "--simulations", "60", "--seed", "3")
    assert run("selfplay", "pyrat", "games", *board, "--evaluator", "uniform")[0] == 0
    code, out, err = run("inspect", "games", "--network", "pyrat", "--json")
    assert code == 0, err
    assert max(row["correlation"] for row in json.loads(out)["Prediction"]) > 0.5
    assert run("selfplay", "pyrat", "won", *board, "--evaluator", "uniform", "-p", "reward=win")[0] == 0
    code, _, err = run("inspect", "won", "--network", "pyrat")
    assert code != 0
    assert "played with reward=win, and the network is for reward=difference" in err


def test_payoffs_are_those_of_the_same_game_for_another_reward() -> None:
    cheese, difference = (rf.make("pyrat", reward=reward, **BOARD) for reward in ("cheese", "difference"))
    for seed in range(20):
        first, second = cheese.initial_state(seed), difference.initial_state(seed)
        while not first.is_over:
            turn = [int(first.legal_actions(player)[0]) for player in (0, 1)]
            turn[seed % 2] = int(first.legal_actions(seed % 2)[-1])
            paid, wanted = first.apply(*turn), second.apply(*turn)
            assert (payoffs_as(difference, cheese, paid.reshape(2, 1, 1)) == wanted.reshape(2, 1, 1)).all()
