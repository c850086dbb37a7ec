"""Random games as an evaluator: their mean is what brute force expects, and depends only on seed and position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.search.helpers import searcher_of, tictactoe
from tests.search.positions import GAMES, walk

pytestmark = pytest.mark.core


def expected(state: rf.State, discount: float, known: dict[int, Any]) -> Any:
    """What uniformly random play brings each player from here, and its second moment, exactly."""
    if state.is_over:
        return np.zeros(2), np.zeros(2)
    if state.key not in known:
        choices = [state.legal_actions(player).tolist() if player in state.acting else [None] for player in (0, 1)]
        mean, square = np.zeros(2), np.zeros(2)
        for first in choices[0]:
            for second in choices[1]:
                after = state.copy()
                reward = after.apply(*(a for a in (first, second) if a is not None)).astype(np.float64)
                below, below_square = expected(after, discount, known)
                mean += reward + discount * below
                square += reward**2 + 2 * discount * reward * below + discount**2 * below_square
        known[state.key] = mean / (len(choices[0]) * len(choices[1])), square / (len(choices[0]) * len(choices[1]))
    return known[state.key]


SMALL = [
    tictactoe(4),
    tictactoe(0, 4, 8, 2),
    rf.make("hex", size=3).initial_state(),
    rf.make("goofspiel", cards=4, returns="difference").initial_state(),
    rf.make("pyrat", width=3, height=3, cheese=3, max_turns=5, symmetric=False).initial_state(seed=2),
    rf.make("matrix", payoffs=[[0.5, -1.0, 0.25], [0.0, 1.0, -0.75]]).initial_state(),
]


@pytest.mark.parametrize("state", SMALL, ids=lambda state: state.game.name)
@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_the_mean_is_what_random_play_brings(state: rf.State, discount: float) -> None:
    mean, square = expected(state, discount, {})
    games = 20_000
    result = rf.search(state, rf.evaluators.Rollout(games), simulations=1, discount=discount)
    error = np.sqrt(np.maximum(square - mean**2, 0) / games)
    assert (np.abs(result.evaluation - mean) <= 4.5 * error + 1e-6).all()


@pytest.mark.parametrize("name", GAMES)
def test_a_position_has_one_value_whatever_came_before(name: str) -> None:
    state = walk(name, 1)
    alone = rf.search(state, rf.evaluators.Rollout(3), simulations=1).evaluation
    searcher = searcher_of(state, rf.evaluators.Rollout(3), simulations=50)
    searcher.run(walk(name, 2))
    np.testing.assert_array_equal(searcher.run(state).evaluation, alone)
    np.testing.assert_array_equal(searcher.run_many([walk(name, 2), state])[1].evaluation, alone)


def test_another_seed_plays_other_games() -> None:
    values = {rf.search(tictactoe(), rf.evaluators.Rollout(5), simulations=1, seed=s).evaluation[0] for s in range(20)}
    assert len(values) > 2


def test_more_games_are_surer() -> None:
    spread = [
        np.std([rf.search(tictactoe(), rf.evaluators.Rollout(n), simulations=1, seed=s).value[0] for s in range(200)])
        for n in (1, 16)
    ]
    assert spread[1] == pytest.approx(spread[0] / 4, rel=0.3)
