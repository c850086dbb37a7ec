"""Bundles of one thread (``bundle``): every visit counts, results do not depend on the clock, moves are as good."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.evaluators import Rollout, Uniform
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import walk
from tests.engine.test_bundles import NAMES, visits_add_up
from tests.engine.test_solver import solved_hex
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bundle", [5, 64, 1024])
def test_trees(name: str, bundle: int) -> None:
    """Every node was visited as often as the edge to it says, and has the mean value of its visits."""
    state = walk(name, 0)
    searcher = searcher_of(state, Rollout(1), simulations=3000, bundle=bundle)
    for run in (1, 2):
        result = searcher.run(state)
        assert result.visits.sum() == 3000 * run - 1
        assert result.stats["simulations"] == 3000
        assert len(walk_searcher(searcher)) == result.stats["nodes"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bundle", [5, 64])
def test_graphs(name: str, bundle: int) -> None:
    """One thread tells parents of a node that it has changed: bundles do so too."""
    state = walk(name, 1)
    searcher = searcher_of(state, Rollout(1), simulations=4000, bundle=bundle, graph=True)
    result = searcher.run(state)
    assert result.visits.sum() == 3999
    assert len(walk_searcher(searcher)) == result.stats["nodes"]


@pytest.mark.parametrize("name", [*NAMES, "pig"])
@pytest.mark.parametrize("graph", [False, True])
def test_one_of_1_is_a_search_without(name: str, graph: bool) -> None:
    state = walk(name, 0) if name != "pig" else rf.make("pig").initial_state()
    one, other = (
        searcher_of(state, Rollout(1), seed=3, simulations=500, graph=graph, bundle=bundle).run(state)
        for bundle in (None, 1)
    )
    assert_same_result(one, other)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("bundle", [7, 64])
def test_results_do_not_depend_on_the_clock(graph: bool, bundle: int) -> None:
    """A run that the clock interrupts all the time, as Ctrl-C and snapshots need it, finds the same."""
    state = walk("hex", 0)
    settings = rf.SearchConfig(bundle=bundle, graph=graph).for_evaluator(None).model_dump()
    reports, runs = [], []
    for seconds in (math.inf, 0.0, 1e-5, 3e-4):
        search = _core.make_search(state, settings)  # type: ignore[arg-type]
        search.begin(5)
        done = calls = 0
        while done < 5000:
            made = search.run_native(2, 5, 5000 - done, seconds)
            assert made > 0
            done, calls = done + made, calls + 1
        assert done == 5000 == search.stats["simulations"]
        reports.append(search.report([]))
        runs.append(calls)
    assert runs[0] == 1 < runs[1]
    for report in reports[1:]:
        np.testing.assert_array_equal(report["edge_visits"], reports[0]["edge_visits"])
        np.testing.assert_array_equal(report["q"][0], reports[0]["q"][0])


def test_the_same_seed_finds_the_same() -> None:
    state = rf.make("connect_four").initial_state()
    first, second = (
        searcher_of(state, Rollout(2), seed=1, simulations=20_000, bundle=64, noise_fraction=0.25).run(state)
        for _ in range(2)
    )
    assert_same_result(first, second)


def test_many_searches_find_what_each_finds_alone() -> None:
    states = [walk("hex", seed) for seed in range(4)]
    together = searcher_of(states[0], Rollout(1), simulations=1500, bundle=64).run_many(states)
    again = searcher_of(states[0], Rollout(1), simulations=1500, bundle=64, threads=2).run_many(states)
    for one, two, state in zip(together, again, states, strict=True):
        alone = searcher_of(state, Rollout(1), simulations=1500, bundle=64).run(state)
        np.testing.assert_array_equal(one.visits, alone.visits)
        np.testing.assert_array_equal(one.visits, two.visits)


def test_visits_are_nearly_those_of_a_search_without() -> None:
    """Values of the start of connect four are close to each other: visits follow them, whoever made them."""
    state = rf.make("connect_four").initial_state()
    one, many = (
        searcher_of(state, Rollout(4), simulations=20_000, bundle=bundle).run(state).visits / 20_000
        for bundle in (1, 64)
    )
    assert np.abs(one - many).sum() < 0.2
    assert one.argmax() == many.argmax()


def test_few_simulations_are_made_one_by_one() -> None:
    """As long as the visits in flight would be more than the setting allows."""
    state = rf.make("connect_four").initial_state()
    result = searcher_of(state, Uniform(), simulations=64, bundle=64).run(state)
    assert result.visits.sum() == 63
    assert result.visits.min() >= 7  # values are all equal here, and so are priors


@pytest.mark.parametrize(("size", "simulations", "missed"), [(4, 20_000, 2), (5, 5_000, 12)])
def test_solved_positions(size: int, simulations: int, missed: int) -> None:
    """Where there is a win, one is chosen nearly always, as without: see ``test_bundles.py``."""
    won = [(state, row) for state, row in solved_hex(size) if row["winner"] == row["to_move"]]
    found = sum(
        state.action_name(searcher_of(state, Rollout(1), simulations=simulations, bundle=64).run(state).action())
        in row["winning_moves"]
        for state, row in won
    )
    assert found >= len(won) - missed


def test_a_full_graph_is_searched_on() -> None:
    state = walk("hex", 0)
    result = searcher_of(state, Rollout(1), simulations=5000, bundle=64, max_nodes=300).run(state)
    assert result.stats["nodes"] == 300
    assert result.visits.sum() == 4999


def test_a_run_ends_in_time_and_advances() -> None:
    state = rf.make("hex", size=7).initial_state()
    searcher = searcher_of(state, Rollout(4), simulations=10**9, max_seconds=0.1, bundle=64)
    for _ in range(3):
        result = searcher.run(state)
        assert 0.1 <= result.stats["seconds"] < 2.0
        assert searcher._search is not None
        visits_add_up(searcher._search, state)
        action = result.action()
        searcher.advance(action)
        state.apply(action)


def test_evaluators_in_python_do_without() -> None:
    state = walk("hex", 0)
    one, other = (
        searcher_of(state, HashEvaluator(0), simulations=300, batch=4, bundle=bundle).run(state)
        for bundle in (None, 64)
    )
    assert_same_result(one, other)


@pytest.mark.parametrize("bundle", [0, 1025, True, 1.5])
def test_the_setting_is_checked(bundle: Any) -> None:
    with pytest.raises(ValueError, match="bundle"):
        rf.SearchConfig(bundle=bundle)


@pytest.mark.parametrize("bundle", [1, 100])
def test_threads_take_the_setting_too(bundle: int) -> None:
    state = walk("connect_four", 0)
    searcher = searcher_of(state, Rollout(1), simulations=3000, threads=3, bundle=bundle)
    assert searcher.run(state).visits.sum() == 2999
    walk_searcher(searcher)
