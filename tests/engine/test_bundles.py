"""Bundles of descents, which threads make on one graph: every visit is counted once, and values are those of the edges.

Edges get several visits at once where they have 64 and more, so searches here have thousands of simulations.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.evaluators import Rollout, Uniform
from tests.engine.helpers import searcher_of
from tests.engine.positions import walk
from tests.engine.test_solver import check_hex, solved_hex
from tests.engine.walking import Path, walk_searcher

pytestmark = pytest.mark.core

MADE_BY = [{"threads": 4}, {"bundle": 64}]  # by several threads, or by one
NAMES = ["tictactoe", "connect_four", "hex", "chess", "pyrat", "goofspiel"]


def visits_add_up(search: _core.Search, state: rf.State, path: Path | None = None) -> int:
    """Of every node of a tree: 1 for its evaluation and those of its edges. Returns the number of nodes."""
    path = path or []
    report = search.report(path)
    visits = report["edge_visits"]
    assert report["visits"] == 1 + visits.sum(), path
    nodes = 1
    for i, j in np.argwhere(visits > 0):
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        child = state.copy()
        child.apply(*(action for action in joint if action >= 0))
        if not child.is_over:
            nodes += visits_add_up(search, child, [*path, joint])
    return nodes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [2, 5])
def test_trees(name: str, threads: int) -> None:
    """Every node was visited as often as the edge to it says, and has the mean value of its visits."""
    state = walk(name, 0)
    searcher = searcher_of(state, Rollout(1), simulations=3000, threads=threads)
    for run in (1, 2):
        result = searcher.run(state)
        assert result.visits.sum() == 3000 * run - 1
        assert result.stats["simulations"] == 3000
        assert len(walk_searcher(searcher)) == result.stats["nodes"]


@pytest.mark.parametrize("name", NAMES)
def test_graphs(name: str) -> None:
    state = walk(name, 1)
    searcher = searcher_of(state, Rollout(1), simulations=4000, threads=4, graph=True)
    result = searcher.run(state)
    assert result.visits.sum() == 3999
    assert len(walk_searcher(searcher)) == result.stats["nodes"]


OTHERS: tuple[dict[str, Any], ...] = (
    {"normalize": "minmax"},
    {"fpu": "reduction"},
    {"discount": 0.9},
    {"forced_playouts": 2.0},
    {"max_in_flight": 1.0},
    {"selection": "gumbel"},
    {"selection": "regret"},
    {"selection": "exp3"},
    {"graph": True, "short_circuit": True},
    {"graph": True, "canonical": True},
    {"graph": True, "max_nodes": 200},
)


@pytest.mark.parametrize("made_by", MADE_BY, ids=str)
@pytest.mark.parametrize("settings", OTHERS, ids=str)
@pytest.mark.parametrize("name", ["hex", "pyrat"])
def test_other_settings(name: str, settings: dict[str, Any], made_by: dict[str, int]) -> None:
    state = walk(name, 0)
    searcher = searcher_of(state, Uniform(), simulations=3000, **made_by, **settings)
    result = searcher.run(state)
    assert result.visits.sum() == 2999
    assert np.isfinite(result.value).all()
    if settings.get("graph"):
        walk_searcher(searcher, arrivals=False)
    else:
        assert searcher._search is not None
        visits_add_up(searcher._search, state)
    assert result.stats["nodes"] <= settings.get("max_nodes", 3000)


def test_few_simulations_are_made_one_by_one() -> None:
    """As long as the visits in flight would be more than the setting allows, threads spread as they always did."""
    state = rf.make("connect_four").initial_state()
    result = searcher_of(state, Uniform(), simulations=64, threads=4).run(state)
    assert result.visits.sum() == 63
    assert result.visits.min() >= 7  # values are all equal here, and so are priors


def test_visits_are_nearly_those_of_one_thread() -> None:
    """Values of the start of connect four are close to each other: visits follow them, whoever made them."""
    state = rf.make("connect_four").initial_state()
    one, many = (
        searcher_of(state, Rollout(4), simulations=20_000, threads=threads).run(state).visits / 20_000
        for threads in (1, 4)
    )
    assert np.abs(one - many).sum() < 0.2
    assert one.argmax() == many.argmax()


def test_every_simulation_of_a_large_budget_is_made() -> None:
    state = rf.make("hex", size=11).initial_state()
    for simulations in (1, 63, 65, 1000, 99_999):
        search = _core.make_search(state, rf.SearchConfig(threads=3).for_evaluator(None).model_dump())  # type: ignore[arg-type]
        search.begin(0)
        assert search.run_native(0, 0, simulations, math.inf) == simulations
        assert search.stats["simulations"] == simulations
        report = search.report([])
        assert report["visits"] == simulations == 1 + report["edge_visits"].sum()
        # Equal values and priors: all actions have nearly the same number of visits.
        assert np.ptp(report["edge_visits"]) <= max(1, simulations / 121 / 8)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(("size", "simulations", "missed"), [(4, 20_000, 2), (5, 5_000, 12)])
def test_solved_positions(size: int, simulations: int, missed: int, graph: bool) -> None:
    """Where there is a win, threads choose one as often as one thread does: nearly always.

    In 25 runs of the 45 positions of 5x5 one thread with different seeds found 36 to 42 wins, 39.3 on average, four
    threads 37 to 42, 39.7 on average; 33 is more than four standard deviations less.
    """
    won = [(state, row) for state, row in solved_hex(size) if row["winner"] == row["to_move"]]
    assert len(won) >= 30
    for threads in (1, 4):
        found = 0
        for state, row in won:
            result = searcher_of(state, Rollout(1), simulations=simulations, threads=threads, graph=graph).run(state)
            found += state.action_name(result.action()) in row["winning_moves"]
        assert found >= len(won) - missed, f"{threads} threads"


@pytest.mark.parametrize("made_by", MADE_BY, ids=str)
@pytest.mark.parametrize("graph", [False, True])
def test_proofs(graph: bool, made_by: dict[str, int]) -> None:
    count = 0
    for state, row in solved_hex(4)[:20]:
        result = searcher_of(state, Uniform(), simulations=200_000, graph=graph, solver=True, **made_by).run(state)
        if result.proven is not None:
            check_hex(state, row, result)
            count += 1
    assert count == 20 if graph else count >= 15  # a tree takes half a million simulations for some


@pytest.mark.parametrize("made_by", MADE_BY, ids=str)
@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "pyrat zero-sum"])
def test_visits_beside_proofs(name: str, made_by: dict[str, int]) -> None:
    state = walk(name, 2)
    searcher = searcher_of(state, Rollout(1), simulations=4000, solver=True, **made_by)
    result = searcher.run(state)
    assert searcher._search is not None
    visits_add_up(searcher._search, state)
    assert result.proven is not None or result.visits.sum() == 3999


@pytest.mark.parametrize("rollouts", [0, 20])
def test_the_clock_ends_bundles(rollouts: int) -> None:
    """A run stops where it is, its rollouts half-way; the next one goes on, and no visit is lost or made twice."""
    state = rf.make("hex", size=5).initial_state()
    search = _core.make_search(state, rf.SearchConfig(threads=4).for_evaluator(None).model_dump())  # type: ignore[arg-type]
    search.begin(0)
    done, start = 0, time.perf_counter()
    for _ in range(10):
        done += search.run_native(rollouts, 0, 10**9, 0.005)
    assert time.perf_counter() - start < 5
    assert search.stats["simulations"] == done
    search.begin(0)  # gives up what was left half-way
    assert search.report([])["visits"] == done
    if rollouts:
        visits_add_up(search, state)


def test_one_action_after_another() -> None:
    """Where there is nothing to choose, a bundle goes down undivided; it has room on the stack of a thread."""
    game = rf.make("pyrat", width=2, height=2, cheese=1, max_turns=300, symmetric=False)
    state = game.initial_state(seed=0)
    result = searcher_of(state, Uniform(), simulations=20_000, threads=4).run(state)
    assert result.visits.sum() == 19_999
