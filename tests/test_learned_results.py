"""The measures of learned models against exact play: perfect play has no loss, other play has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf

pytest.importorskip("torch")

from tools.learned_results import (
    Chooser,
    all_positions,
    best_share,
    nash_conv,
    perfect_value,
    solved_connect_four,
    tictactoe_losses,
    tictactoe_openings,
)


class Plays:
    """Chooses by a function of a state."""

    def __init__(self, choose: Any) -> None:
        self.choose = choose

    def actions(self, states: list[Any]) -> list[Any]:
        return [self.choose(state) for state in states]


def best(state: Any) -> int:
    return max(state.legal_actions().tolist(), key=lambda action: -perfect_value(state.after(action)))


def test_perfect_play_does_not_lose() -> None:
    assert perfect_value(rf.make("tictactoe").initial_state()) == 0
    assert len(tictactoe_openings()) < 2 * (1 + 9 + 72)  # some openings have lost the game
    perfect: Any = Plays(best)
    assert tictactoe_losses(perfect, 200)["losses"] == 0
    rng = np.random.default_rng(0)
    anything: Any = Plays(lambda state: int(rng.choice(state.legal_actions())))
    counts = tictactoe_losses(anything, 200)
    assert counts["losses"] > 50
    assert counts["wins"] + counts["draws"] + counts["losses"] == 200


def test_solved_positions_are_positions() -> None:
    positions = solved_connect_four()
    assert len(positions) == 200
    assert all(best <= set(state.legal_actions().tolist()) for state, best in positions)
    chooser: Any = Plays(lambda state: int(state.legal_actions()[0]))
    assert 0.1 < best_share(chooser, positions) < 0.7


def test_nash_conv_of_searches() -> None:
    game = rf.make("goofspiel", cards=3)
    start = game.initial_state()
    assert len(all_positions(start)) > 9
    module = rf.networks.make(game, {"kind": "muzero-mlp", "width": 16, "latent": 8})
    found = nash_conv(Chooser(module, "cpu", 20, selection="regret"), start)
    assert found >= 0
    by_rules = nash_conv(Chooser(module, "cpu", 400, rules=True, selection="regret"), start)
    assert by_rules < 0.2  # the rules say who wins: a search of the whole game is nearly an equilibrium
