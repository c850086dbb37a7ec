"""Rollouts mixed into the values of an evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.selfplay import PlayConfig, SelfPlay, decode
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.random_games import RandomGame
from tests.engine.test_latent import RulesModel

pytestmark = pytest.mark.core

KNOWS_GREEDY = {"pyrat", "pyrat zero-sum"}


def zeros(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32)


def native(name: str) -> rf.evaluators.Rollout:
    return rf.evaluators.GreedyRollout(prior=0) if name in KNOWS_GREEDY else rf.evaluators.Rollout()


@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"solver": True}, {"cache": 1000}], ids=str)
@pytest.mark.parametrize("name", [name for name in GAMES if name not in KNOWS_GREEDY])
def test_rollouts_alone_are_the_rollouts_of_the_core(name: str, settings: dict[str, Any]) -> None:
    """With values of zero and a share of one, nothing else is left. Not in PyRat, where several actions may have one
    outcome: an evaluator's priors are shared out among actions, those of the core among outcomes."""
    state, common = walk(name, 2), {"simulations": 90, "c_puct": 1.5, **settings}
    wanted = searcher_of(state, rf.evaluators.Rollout(), **common).run(state)
    found = searcher_of(state, rf.evaluators.Function(zeros), batch=1, rollout_share=1.0, **common).run(state)
    assert_same_result(found, wanted, stats=False)


def test_a_game_written_in_python_is_played_on() -> None:
    state = RandomGame(seed=3).initial_state()
    wanted = searcher_of(state, rf.evaluators.Rollout(), simulations=60, c_puct=1.0).run(state)
    found = searcher_of(
        state, rf.evaluators.Function(zeros), simulations=60, c_puct=1.0, batch=1, rollout_share=1.0
    ).run(state)
    assert_same_result(found, wanted, stats=False)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("name", GAMES)
def test_a_leaf_has_the_mean_of_both_values(name: str, share: float) -> None:
    state, evaluator = walk(name, 3), HashEvaluator(2, zero_sum=name not in SIMULTANEOUS)
    told = searcher_of(state, evaluator, simulations=1).run(state).value
    played = searcher_of(state, native(name), simulations=1).run(state).value
    mixed = searcher_of(state, evaluator, simulations=1, rollout_share=share).run(state).value
    np.testing.assert_allclose(mixed, (1 - share) * told + share * played, atol=1e-6)


def test_self_play_mixes_as_a_search_does() -> None:
    game, evaluator = rf.make("connect_four"), HashEvaluator(4)
    search = rf.SearchConfig(simulations=40, rollout_share=0.5)
    play = PlayConfig(full_share=1.0, temperature=0.0)
    played = [record for batch in SelfPlay(game, evaluator, search, play, games=1, seed=5) for record in batch]
    searched = searcher_of(game.initial_state(), evaluator, simulations=40, rollout_share=0.5)
    first = searched.run(game.initial_state())
    assert decode(played[0]).moves[0].found.visits.ravel().tolist() == first.visits.ravel().tolist()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rollout_share=1\.5: must be at most 1"):
        rf.SearchConfig(rollout_share=1.5)
    state = tictactoe()
    model = RulesModel(state.game, HashEvaluator(0), "alternating").roots(state)
    with pytest.raises(ValueError, match="rollout_share needs the rules of a game"):
        rf.Searcher(model, None, rf.SearchConfig(rollout_share=0.5)).run(state)
