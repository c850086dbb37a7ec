"""The weight of exploration that suits each kind of evaluator."""

from __future__ import annotations

import pytest

import ramify as rf
from ramify.arena import read_player
from ramify.engine.config import c_puct_of
from ramify.evaluators import Cached, Ensemble, Function, Rollout, Uniform
from ramify.selfplay import SelfPlay
from tests.reference.evaluators import HashEvaluator

STATE = rf.make("tictactoe").state("b2 a1 a3 b1")  # values differ soon: both threaten to win


def test_each_kind_of_evaluator_has_its_own():
    assert c_puct_of(Rollout()) == c_puct_of(Rollout(20)) == 3.0
    assert c_puct_of(Uniform()) == c_puct_of(None) == c_puct_of(Function(len)) == 1.0
    pytest.importorskip("torch")
    network = rf.evaluators.Network(rf.networks.make(rf.make("tictactoe"), "1x8"))
    assert c_puct_of(network) == c_puct_of(Cached(network, 10)) == c_puct_of(Ensemble([network, network])) == 1.4


@pytest.mark.parametrize(("evaluator", "suits"), [(Rollout(), 3.0), (Uniform(), 1.0), (None, 3.0)])
def test_searches_use_it_unless_told_otherwise(evaluator, suits):
    """Equal visits, and the settings of the result say what was used."""
    result = rf.search(STATE, evaluator, simulations=300)
    same = rf.search(STATE, evaluator, simulations=300, c_puct=suits)
    other = rf.search(STATE, evaluator, simulations=300, c_puct=suits + 2)
    assert result.config.c_puct == suits
    assert (result.visits == same.visits).all()
    assert (result.visits != other.visits).any()
    assert other.config.c_puct == suits + 2


def test_self_play_uses_it_and_keeps_it_in_its_settings():
    assert SelfPlay(rf.make("tictactoe"), Rollout(), games=1).search.c_puct == 3.0
    assert SelfPlay(rf.make("tictactoe"), Rollout(), rf.SearchConfig(c_puct=2), games=1).search.c_puct == 2.0


def test_an_evaluator_of_ones_own_may_state_it():
    evaluator = HashEvaluator(1)
    evaluator.c_puct = 5.0
    assert rf.Searcher(rf.make("tictactoe"), evaluator).config.c_puct == 5.0


def test_players_are_identified_by_what_they_play_with():
    assert read_player("search").identity == read_player("search:c_puct=3").identity
    assert read_player("search").identity != read_player("search:c_puct=1").identity
    assert read_player("search:evaluator=uniform").identity == read_player("search:evaluator=uniform,c_puct=1").identity
