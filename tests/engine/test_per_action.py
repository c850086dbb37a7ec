"""Arrays over actions: the numbers over outcomes, spread over the policy vector."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, tictactoe


def test_arrays_where_one_player_acts() -> None:
    state = tictactoe(4, 0, 8)
    result = rf.search(state, rf.evaluators.Rollout(), simulations=300)
    counts, values, prior = result.visit_counts, result.q_values, result.prior
    assert (counts.dtype, values.dtype, prior.dtype) == (np.int64, np.float32, np.float32)
    assert counts.shape == values.shape == prior.shape == (9,)
    assert counts.sum() == result.visits.sum() == 299
    assert prior.sum() == pytest.approx(1.0, abs=1e-3)  # sixteen bits each
    legal = state.legal_mask()
    assert not counts[~legal].any()
    assert not prior[~legal].any()
    assert (np.isnan(values) == ~legal).all()
    for outcome, action in enumerate(result.outcomes[1]):
        assert counts[action] == result.visits[0, outcome]
        assert values[action] == result.q[1][outcome]
        assert prior[action] == result.priors[1][outcome]
    assert isinstance(result.best_action, int)
    assert result.best_action == result.action() == int(counts.argmax())


def test_arrays_are_the_callers_own() -> None:
    result = rf.search(tictactoe(), simulations=50)
    result.visit_counts[:] = 7
    result.q_values[:] = 7
    result.prior[:] = 7
    assert result.visit_counts.sum() == 49
    assert result.prior.sum() == pytest.approx(1.0, abs=1e-3)  # sixteen bits each


def test_a_pair_of_arrays_where_both_act() -> None:
    """In a corner of a maze, walls make most actions one: its numbers stand on the listed action, its value on all."""
    state = rf.make("pyrat", preset="tiny").initial_state(0)
    result = rf.search(state, rf.evaluators.Rollout(), simulations=400)
    for player in (0, 1):
        counts, values, prior = result.visit_counts[player], result.q_values[player], result.prior[player]
        listed, index = state.outcomes(player)
        assert len(listed) < len(state.legal_actions(player))
        assert counts.sum() == result.visits.sum() == 399
        assert prior.sum() == pytest.approx(1.0, abs=1e-3)  # sixteen bits each
        assert set(np.flatnonzero(counts)) <= set(listed.tolist())
        assert counts[listed].tolist() == result.visits.sum(axis=1 - player).tolist()
        assert values.tolist() == result.q[player][index].tolist()  # every action is legal, and none is nan
    assert result.best_action == result.action()
    assert isinstance(result.best_action, tuple)
    state.apply(result.best_action)


def test_illegal_where_both_act() -> None:
    state = rf.make("goofspiel", cards=4).initial_state().after(1, 2)
    result = rf.search(state, rf.evaluators.Rollout(), simulations=100)
    for player, spent in ((0, 1), (1, 2)):
        assert np.isnan(result.q_values[player]).tolist() == [action == spent for action in range(4)]
        assert result.visit_counts[player][spent] == 0
        assert result.prior[player][spent] == 0


@pytest.mark.parametrize("settings", [{"solver": True}, {"selection": "gumbel"}, {"selection": "regret"}], ids=str)
def test_the_best_action_involves_no_chance(settings: dict[str, Any]) -> None:
    state = rf.make("goofspiel", cards=4).initial_state() if "regret" in settings.values() else tictactoe(0)
    results = [rf.search(state, HashEvaluator(3), simulations=60, seed=5, **settings) for _ in range(2)]
    assert results[0].best_action == results[1].best_action == results[0].action(temperature=0.0)
    assert state.after(results[0].best_action).key == state.copy().after(results[1].best_action).key


def test_arrays_survive_pickling() -> None:
    result = rf.search(rf.make("pyrat", preset="tiny").initial_state(0), simulations=40)
    twin = pickle.loads(pickle.dumps(result))
    for name in ("visit_counts", "q_values", "prior"):
        for one, other in zip(getattr(result, name), getattr(twin, name), strict=True):
            assert np.array_equal(one, other, equal_nan=True)
    assert twin.best_action == result.best_action


def test_a_searcher_advances_by_what_a_search_gives() -> None:
    for game, names in ((rf.make("hex", size=4), ["b2"]), (rf.make("pyrat", preset="tiny"), ["UP", "DOWN"])):
        state = game.initial_state(0)
        searcher = rf.Searcher(game, config=rf.SearchConfig(simulations=200))
        numbers = [state.action(name, player) for name, player in zip(names, state.acting, strict=True)]
        kept = []
        for actions in (numbers, names, [tuple(numbers)], [tuple(names)]):
            searcher.reset()
            searcher.run(state)
            searcher.advance(*actions)
            kept.append(searcher.run(state.after(*actions)).visits.sum())
        assert len(set(kept)) == 1
        assert kept[0] > 200
        with pytest.raises(rf.IllegalAction, match="names no legal action"):
            searcher.advance(*["nowhere"] * len(names))


def test_a_node_is_found_by_names_numbers_and_edges() -> None:
    state = rf.make("tictactoe").state("b2")
    result = rf.search(state, rf.evaluators.Rollout(), simulations=300)
    visits = result.node([(0, -1)] if state.acting == (0,) else [(-1, 0)])["visits"]
    assert visits == result.visit_counts[0] > 0
    assert result.node([0])["visits"] == result.node([state.action_name(0)])["visits"] == visits
    with pytest.raises(rf.IllegalAction, match="'b2' names no legal action of player 1"):
        result.node(["b2"])
    with pytest.raises(rf.IllegalAction, match="one action per acting player, 1 here"):
        result.node([("a1", "b1")])
    with pytest.raises(TypeError, match=r"must be a list of actions, such as \['a1', 'b1'\], not the text 'a1 b1'"):
        result.node("a1 b1")


def test_a_node_where_both_act() -> None:
    state = rf.make("pyrat", preset="tiny").initial_state(seed=0)
    result = rf.search(state, simulations=300)
    first, second = result.best_action  # type: ignore[misc]
    pair = state.action_name(first, 0), state.action_name(second, 1)
    assert result.node([pair])["visits"] == result.node([(first, second)])["visits"] > 0
