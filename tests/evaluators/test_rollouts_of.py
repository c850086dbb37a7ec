"""The rollouts that suit a game, and who plays by them."""

from __future__ import annotations

import pytest

import ramify as rf
from ramify.evaluators.simple import best_native, rollouts_of
from ramify.presentation.opponents import find_evaluator, play_searcher

GREEDY, RANDOM, PLANNER = rf.evaluators.GreedyRollout, rf.evaluators.Rollout, rf.evaluators.Planner


@pytest.mark.parametrize(
    ("name", "expected"), [("pyrat", GREEDY), ("tictactoe", RANDOM), ("hex", RANDOM), ("goofspiel", RANDOM)]
)
def test_rollouts_are_those_of_the_greedy_player_where_the_game_knows_one(name, expected):
    assert type(rollouts_of(rf.make(name))) is expected


@pytest.mark.parametrize(("name", "expected"), [("pyrat", PLANNER), ("pig", GREEDY), ("hex", RANDOM)])
def test_the_best_without_a_network_are_plans_where_the_game_has_some(name, expected):
    assert type(best_native(rf.make(name))) is expected


def test_a_person_meets_plans_in_pyrat():
    game = rf.make("pyrat", preset="tiny")
    evaluator, knowledge = find_evaluator(game, None)
    assert (type(evaluator), knowledge) == (PLANNER, "plans")
    searcher = play_searcher(game, evaluator, (10, None), 0, {})
    assert (searcher.config.normalize, searcher.config.c_puct) == ("remaining", 0.8)
    named = [type(find_evaluator(game, name)[0]) for name in ("greedy", "rollout", "planner")]
    assert named == [GREEDY, RANDOM, PLANNER]
