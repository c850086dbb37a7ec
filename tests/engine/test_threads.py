"""Several threads on one graph: visits add up exactly, values stay within the payoffs, the graph holds together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import SIMULTANEOUS, walk
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core

NAMES = ["tictactoe", "hex", "connect_four", "pyrat", "goofspiel"]


def check(searcher: rf.Searcher, result: rf.SearchResult, visits: int, bound: float) -> None:
    assert result.visits.sum() == visits
    assert np.isfinite(result.value).all()
    assert np.abs(result.value).max() <= bound
    found = walk_searcher(searcher)
    assert len(found) == result.stats["nodes"]
    for report in found.nodes.values():
        assert np.abs(report["value"]).max() <= bound


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_with_a_built_in_evaluator(name: str, graph: bool, threads: int) -> None:
    for repetition in range(2):
        state = walk(name, repetition)
        # So many simulations that threads meet; the walk is over distinct nodes, which max_nodes keeps few.
        searcher = searcher_of(
            state, rf.evaluators.Rollout(1), simulations=8000, threads=threads, graph=graph, max_nodes=300
        )
        result = searcher.run(state)
        assert result.visits.sum() == 7999
        found = walk_searcher(searcher, arrivals=False)
        assert len(found) == result.stats["nodes"] <= 300
        assert np.abs(result.value).max() <= 16.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", [False, True])
def test_threads_on_a_growing_graph(name: str, graph: bool) -> None:
    bound = 16.0 if name in SIMULTANEOUS else 1.0  # cheese and points add up
    for repetition in range(2):
        state = walk(name, repetition)
        searcher = searcher_of(state, rf.evaluators.Rollout(1), simulations=400, threads=4, graph=graph)
        for run in (1, 2):
            check(searcher, searcher.run(state), 400 * run - 1, bound)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_with_a_python_evaluator(name: str, graph: bool, threads: int) -> None:
    state = walk(name, 0)
    evaluator = HashEvaluator(0, zero_sum=name not in SIMULTANEOUS)
    searcher = searcher_of(state, evaluator, simulations=300, threads=threads, batch=4 * threads, graph=graph)
    result = searcher.run(state)
    check(searcher, result, 299, 16.0 if name in SIMULTANEOUS else 1.0)


@pytest.mark.parametrize("settings", [{"short_circuit": True}, {"normalize": "minmax"}, {"max_nodes": 60}])
def test_threads_with_other_settings(settings: dict[str, Any]) -> None:
    for name in ("hex", "pyrat"):
        state = walk(name, 1)
        searcher = searcher_of(state, rf.evaluators.Rollout(1), simulations=1000, threads=4, graph=True, **settings)
        result = searcher.run(state)
        assert result.visits.sum() == 999
        assert result.stats["nodes"] <= settings.get("max_nodes", 1000)
        walk_searcher(searcher, arrivals=False)


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_fill_a_bounded_graph(threads: int) -> None:
    """Threads reserve nodes many at a time: what they do not use is little, and is not counted."""
    bound = 3000
    state = rf.make("hex", size=7).initial_state()
    searcher = searcher_of(state, rf.evaluators.Uniform(), simulations=20_000, threads=threads, max_nodes=bound)
    result = searcher.run(state)
    assert bound - 64 * threads < result.stats["nodes"] <= bound
    assert len(walk_searcher(searcher, arrivals=False)) == result.stats["nodes"]


def test_threads_find_what_one_thread_finds() -> None:
    # A win in one: however the threads interleave, nearly every visit goes there.
    state = rf.make("connect_four").initial_state()
    for action in (0, 6, 0, 6, 0, 5):
        state.apply(action)
    for threads in (1, 4):
        result = rf.search(state, rf.evaluators.Rollout(1), simulations=5000, threads=threads)
        assert result.action() == 0
        assert result.visits[0, 0] > 4000


def test_searches_of_their_own_run_side_by_side() -> None:
    """Python threads, each with a searcher: the core lets go of the interpreter, and nothing is shared."""
    jobs = [(name, seed, graph) for name in NAMES for seed in range(2) for graph in (False, True)]

    def run(job: tuple[str, int, bool]) -> rf.SearchResult:
        name, seed, graph = job
        return rf.search(walk(name, seed), rf.evaluators.Rollout(1), simulations=400, graph=graph)

    alone = [run(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, jobs))
    for one, other in zip(alone, together, strict=True):
        assert_same_result(one, other)


def test_many_searches_in_threads_are_bit_equal() -> None:
    for name in NAMES:
        states = [walk(name, seed) for seed in range(6)]
        evaluator = HashEvaluator(1, zero_sum=name not in SIMULTANEOUS)
        for given in (evaluator, rf.evaluators.Rollout(2)):
            settings: dict[str, Any] = {"simulations": 120, "batch": 3}
            expected = searcher_of(states[0], given, **settings).run_many(states)
            for threads in (2, 4):
                results = searcher_of(states[0], given, threads=threads, **settings).run_many(states)
                for one, other in zip(results, expected, strict=True):
                    assert_same_result(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_threads_many_times(name: str) -> None:
    for repetition in range(25):
        state = walk(name, repetition)
        graph = repetition % 2 == 1
        searcher = searcher_of(
            state, rf.evaluators.Rollout(1), simulations=1500, threads=2 + repetition % 7, graph=graph
        )
        for run in (1, 2):
            check(searcher, searcher.run(state), 1500 * run - 1, 16.0)


@pytest.mark.parametrize("name", ["tictactoe", "hex", "connect_four"])
def test_threads_that_share_symmetric_positions(name: str) -> None:
    """The root keeps the orientation of its position, whichever way a thread looked at the nodes it came from."""
    for repetition in range(3):
        state = walk(name, repetition)
        searcher = searcher_of(state, None, simulations=300, threads=2, graph=True, canonical=True)
        for _ in range(3):
            searcher.run(state)
            walk_searcher(searcher, arrivals=False)
