"""Random games as an evaluator: their mean is what brute force expects, and depends only on seed and position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from tests.children import run_child
from tests.engine.helpers import assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, walk
from tests.engine.tiny_games import Paths

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


@pytest.mark.parametrize("reward", ["cheese", "difference", "win"])
def test_pyrat_plays_the_same_games_at_once_and_turn_by_turn(reward: str) -> None:
    """With a discount, even one that rounds away, games are played turn by turn."""
    game = rf.make("pyrat", width=7, height=5, cheese=9, max_turns=60, mud_density=0.4, symmetric=False, reward=reward)
    for seed in range(10):
        state = game.initial_state(seed)
        quick, slow = (
            rf.search(state, rf.evaluators.Rollout(20), simulations=30, discount=discount, c_puct=3.0)
            for discount in (1.0, 1 - 2**-53)
        )
        np.testing.assert_array_equal(quick.visits, slow.visits)
        np.testing.assert_allclose(quick.evaluation, slow.evaluation, atol=1e-6)
        np.testing.assert_allclose(quick.payoffs, slow.payoffs, atol=1e-6)


def test_another_seed_plays_other_games() -> None:
    values = {rf.search(tictactoe(), rf.evaluators.Rollout(5), simulations=1, seed=s).evaluation[0] for s in range(20)}
    assert len(values) > 2


def test_more_games_are_surer() -> None:
    spread = [
        np.std([rf.search(tictactoe(), rf.evaluators.Rollout(n), simulations=1, seed=s).value[0] for s in range(200)])
        for n in (1, 16)
    ]
    assert spread[1] == pytest.approx(spread[0] / 4, rel=0.3)


# ---------- games that do not end ----------


class Endless(rf.PythonGame):
    """One action goes on for ever; the other ends the game, but only at the first turn."""

    num_actions = 2
    observation_shape = (1,)

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def start(self, rng: np.random.Generator) -> Any:
        return 0

    def acting(self, position: Any) -> tuple[int, ...]:
        return () if position < 0 else (position % 2,)

    def legal_actions(self, position: Any, player: int) -> list[int]:
        return [0, 1] if self.ends and position == 0 else [0]

    def apply(self, position: Any, action: int) -> Any:
        return (-1, (1.0, -1.0)) if action == 1 else (position + 1, (0.0, 0.0))

    def observation(self, position: Any, player: int) -> Any:
        return [position]


ENDLESS = """
import sys
from tests.engine.test_rollouts import search_below, search_endless

many = sys.argv[1] == "many"
search_endless(many)
for games in (1, 2**31 - 1):
    search_below(games, many)
"""


@pytest.mark.parametrize("searches", ["one", "many"])
def test_time_is_up_in_games_that_do_not_end(searches: str) -> None:
    run_child(ENDLESS, searches)


def search_endless(many: bool) -> None:
    """Not even the root's first game ends."""
    state = Endless(ends=False).initial_state()
    searcher = searcher_of(state, rf.evaluators.Rollout(1), max_seconds=0.05)
    with pytest.raises(rf.EvaluatorError, match="plies before the time limit"):
        searcher.run_many([state, state]) if many else searcher.run(state)


def search_below(games: int, many: bool) -> None:
    """The root's first game ends (by the seed), so there is a result; below it no game does."""
    state = Endless(ends=True).initial_state()
    for seed in range(100):
        searcher = searcher_of(state, rf.evaluators.Rollout(games), seed=seed, simulations=50, max_seconds=0.05)
        try:
            result = searcher.run_many([state, state])[1] if many else searcher.run(state)
        except rf.EvaluatorError:
            continue
        assert result.evaluation.tolist() == [1.0, -1.0]
        assert result.visits.sum() == result.stats["simulations"] - 1  # nothing is left under way
        return
    raise AssertionError("no seed ends the first game")


UNLIMITED = """
import pytest
import ramify as rf
from ramify import _core
from tests.engine.test_rollouts import Endless

state = Endless(ends=False).initial_state()
for search in (rf.Searcher(state.game, rf.evaluators.Rollout(2)).run, lambda state: rf.search(state, simulations=10)):
    with pytest.raises(rf.BrokenGame, match=f"'endless' was not over after {_core.MOST_TURNS} turns.*check_game"):
        search(state)
state.apply(0)
assert rf.search(state, rf.evaluators.Uniform(), simulations=50).visits.sum() == 49
"""


def test_random_games_that_do_not_end_are_an_error_without_a_time_limit() -> None:
    run_child(UNLIMITED)


class Long(Endless):
    """Ends after exactly as many turns as a random game may have."""

    def acting(self, position: Any) -> tuple[int, ...]:
        return (position % 2,) if position < _core.MOST_TURNS else ()


def test_the_longest_random_game_is_played_to_its_end() -> None:
    assert rf.search(Long(ends=False).initial_state(), simulations=1).evaluation.tolist() == [0.0, 0.0]


def test_random_games_go_on_where_the_clock_stopped_them() -> None:
    state = rf.make("tictactoe").initial_state()
    python = Paths("alternating", turns=9, branching=3).initial_state()
    for root, make in ((state, _core.make_search), (python, _core.make_python_search)):
        whole, sliced = (make(root.copy(), rf.SearchConfig().model_dump()) for _ in range(2))
        for search in (whole, sliced):
            search.begin(0)
        assert whole.run_native(30, 5, 40, math.inf) == 40
        calls = 0
        while (made := sliced.stats["simulations"]) < 40:
            sliced.run_native(30, 5, 40 - made, 1e-9)
            calls += 1
        for name in ("visits", "edge_visits", "value", "evaluation", "payoffs"):
            np.testing.assert_array_equal(sliced.report([])[name], whole.report([])[name])
        assert root is state or calls > 40


@pytest.mark.parametrize("name", ["hex", "pyrat zero-sum"])
def test_a_search_without_an_evaluator_plays_random_games(name: str) -> None:
    state = walk(name, 0)
    unsaid, said = (rf.search(state, evaluator, simulations=100) for evaluator in (None, rf.evaluators.Rollout()))
    assert_same_result(unsaid, said)
    assert unsaid.config is not None
    assert unsaid.config.c_puct == rf.evaluators.Rollout.c_puct


def test_an_exploration_constant_out_of_range_is_named():
    class Eager(rf.evaluators.Rollout):
        c_puct = -3.0

    with pytest.raises(ValueError, match=r"Eager.c_puct=-3.0: must be from 0"):
        rf.search(rf.make("tictactoe").initial_state(), Eager(), simulations=10)


INTERRUPTED = """
import os, signal, threading, time
import ramify as rf
from tests.engine.test_rollouts import Endless

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in its background
class Slow(Endless):  # its random games are given up only after 10,000 turns
    def apply(self, position, action):
        time.sleep(0.001)
        return super().apply(position, action)

state = Slow(ends=False).initial_state()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    rf.search(state, rf.evaluators.Rollout(1))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_game_that_does_not_end() -> None:
    assert run_child(INTERRUPTED).strip() == "interrupted"
