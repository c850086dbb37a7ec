"""Playing an action keeps what can still be reached, exactly, and frees the rest."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.evaluators import Rollout
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core

FACTS = ("visits", "value", "evaluation", "edge_visits", "payoffs")


def start(name: str, seed: int = 0, simulations: int = 150, **settings: Any) -> tuple[rf.State, rf.Searcher]:
    state = walk(name, seed)
    evaluator = HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS)
    searcher = searcher_of(state, evaluator, simulations=simulations, **settings)
    searcher.run(state)
    return state, searcher


def best_joint(searcher: rf.Searcher, state: rf.State) -> tuple[int, int] | None:
    """The most visited edge that does not end the game."""
    assert searcher._search is not None
    report = searcher._search.report([])
    for flat in np.argsort(-report["edge_visits"].ravel(), kind="stable"):
        i, j = np.unravel_index(flat, report["edge_visits"].shape)
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        after = played(state, joint)
        if report["edge_visits"][i, j] and not after.is_over:
            return joint
    return None


def played(state: rf.State, joint: tuple[int, int]) -> rf.State:
    after = state.copy()
    after.apply(*(action for action in joint if action >= 0))
    return after


def advance(searcher: rf.Searcher, joint: tuple[int, int]) -> None:
    searcher.advance(*(action for action in joint if action >= 0))


def assert_same_report(first: dict[str, Any], second: dict[str, Any], where: Any = "") -> None:
    for name in FACTS:
        np.testing.assert_array_equal(first[name], second[name], err_msg=f"{name} at {where}")
    for name in ("outcomes", "priors", "q", "scores"):
        for player in (0, 1):
            np.testing.assert_array_equal(first[name][player], second[name][player], err_msg=f"{name} at {where}")


@pytest.mark.parametrize("name", [name for name in GAMES if name != "matrix"])  # one move: no graph to advance to
@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"graph": True, "canonical": True}, {"batch": 8}])
def test_every_node_that_can_be_reached_stays_as_it_is(name: str, settings: dict[str, Any]) -> None:
    for seed in (0, 1):
        state, searcher = start(name, seed, **settings)
        joint = best_joint(searcher, state)
        if joint is None:
            continue
        search = searcher._search
        assert search is not None
        child = search.report([joint])
        below = walk_below(search, joint)
        nodes, size = search.stats["nodes"], search.stats["bytes"]
        advance(searcher, joint)
        assert_same_report(search.report([]), child)
        for path, report in below.items():
            assert_same_report(search.report(list(path)), report, path)
        kept = walk_searcher(searcher, arrivals=not searcher.config.graph)
        assert search.stats["nodes"] == len(kept) < nodes
        assert search.stats["bytes"] < size


def walk_below(search: Any, joint: tuple[int, int], limit: int = 60) -> dict[tuple[tuple[int, int], ...], Any]:
    """Reports of evaluated nodes below a child, by path from the child."""
    reports: dict[tuple[tuple[int, int], ...], Any] = {}
    queue: list[tuple[tuple[int, int], ...]] = [()]
    while queue and len(reports) < limit:
        path = queue.pop(0)
        report = search.report([joint, *path])
        if not report["ready"]:
            continue
        reports[path] = report
        for i, j in np.argwhere(report["edge_visits"] > 0):
            queue.append((*path, (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))))
    return reports


@pytest.mark.parametrize("name", [name for name in GAMES if name != "matrix"])
@pytest.mark.parametrize("settings", [{}, {"fpu": "reduction", "discount": 0.9, "c_base": 50.0}])
def test_a_tree_goes_on_as_if_it_had_started_there(name: str, settings: dict[str, Any]) -> None:
    # What selection sees of a subtree is the subtree alone: k visits of a child are k simulations from it.
    for seed in (0, 1):
        state, searcher = start(name, seed, **settings)
        joint = best_joint(searcher, state)
        if joint is None:
            continue
        after = played(state, joint)
        assert searcher._search is not None
        inherited = searcher._search.report([joint])["visits"]
        advance(searcher, joint)
        continued = searcher.run(after)
        assert continued.visits.sum() == inherited + 150 - 1
        assert continued.stats["simulations"] == 150
        fresh = rf.search(after, searcher.evaluator, simulations=inherited + 150, **settings)
        assert_same_result(continued, fresh, stats=False)


def test_a_whole_game_is_played_from_one_graph() -> None:
    for graph in (False, True):
        state = rf.make("tictactoe").initial_state()
        searcher = searcher_of(state, HashEvaluator(3), simulations=120, graph=graph)
        while not state.is_over:
            result = searcher.run(state)
            walk_searcher(searcher, arrivals=not graph)
            action = result.action()
            state.apply(action)
            searcher.advance(action)
        with pytest.raises(rf.IllegalAction, match="over"):
            searcher.run(state)


def test_an_illegal_action_changes_nothing() -> None:
    state, searcher = start("tictactoe", 1)
    result = searcher.run(state)
    before = walk_searcher(searcher)
    taken = int(np.setdiff1d(np.arange(9), state.legal_actions())[0])
    for wrong in ((taken,), (9,), (-1,), (), (0, 1)):
        with pytest.raises(rf.IllegalAction):
            searcher.advance(*wrong)
    after = walk_searcher(searcher)
    assert before.nodes.keys() == after.nodes.keys()
    for name in before.nodes:
        assert_same_report(before.nodes[name], after.nodes[name], name)
    assert result.tree()  # and the result can still be looked at
    assert searcher.run(state).visits.sum() == result.visits.sum() + 150


def test_nothing_to_advance() -> None:
    with pytest.raises(ValueError, match="no graph to advance"):
        searcher_of(tictactoe()).advance(3)


def test_advance_to_a_finished_game() -> None:
    state = tictactoe(0, 3, 1, 4)
    searcher = searcher_of(state, simulations=50)
    searcher.run(state)
    searcher.advance(2)  # wins
    with pytest.raises(ValueError, match="no graph to advance"):
        searcher.advance(5)
    assert searcher.run(tictactoe()).visits.sum() == 49


@pytest.mark.parametrize("graph", [False, True])
def test_advance_to_a_child_that_was_never_visited(graph: bool) -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(0), simulations=6, graph=graph)
    result = searcher.run(state)
    untried = int(result.outcomes[0][result.visits[:, 0] == 0][0])
    searcher.advance(untried)
    assert searcher._search is not None
    assert searcher._search.stats["nodes"] == 1
    assert_same_result(
        searcher.run(tictactoe(untried)), rf.search(tictactoe(untried), HashEvaluator(0), simulations=6, graph=graph)
    )


def test_two_advances_without_a_run_between() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(0), simulations=300)
    searcher.run(state)
    line = searcher.run(state).principal_variation[:2]
    assert searcher._search is not None
    inherited = searcher._search.report([(line[0], -1), (-1, line[1])])["visits"]
    searcher.advance(line[0])
    searcher.advance(line[1])
    assert searcher.run(tictactoe(*line)).visits.sum() == inherited + 300 - 1


def test_any_action_of_an_outcome_leads_to_its_child() -> None:
    # Walls and edges make actions equal in effect; the graph knows one of them.
    for seed in range(20):
        state, searcher = start("pyrat", seed)
        joint = best_joint(searcher, state)
        if joint is None or len(state.acting) < 2:
            continue
        _, index = state.outcomes(0)
        twins = [int(a) for a in state.legal_actions(0) if index[a] == index[joint[0]] and a != joint[0]]
        if not twins:
            continue
        assert searcher._search is not None
        child = searcher._search.report([joint])
        searcher.advance(twins[0], joint[1])
        assert_same_report(searcher._search.report([]), child)
        return
    pytest.fail("no position with merged actions among the seeds")


@pytest.mark.parametrize("name", ["tictactoe", "hex", "connect_four", "pyrat zero-sum"])
@pytest.mark.parametrize("canonical", [False, True])
def test_transpositions_are_found_after_an_advance(name: str, canonical: bool) -> None:
    state, searcher = start(name, 0, simulations=300, graph=True, canonical=canonical)
    joint = best_joint(searcher, state)
    assert joint is not None
    advance(searcher, joint)
    before = len(walk_searcher(searcher, arrivals=False))
    result = searcher.run(played(state, joint))
    found = walk_searcher(searcher, arrivals=False)
    # Every position has one node: a table that had lost some would have made them twice.
    assert result.stats["nodes"] == len(found) > before
    assert result.stats["transpositions"] > 0


@pytest.mark.parametrize("graph", [False, True])
def test_room_is_made_in_a_bounded_graph(graph: bool) -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, HashEvaluator(0), simulations=400, graph=graph, max_nodes=100)
    assert searcher.run(state).stats["nodes"] == 100
    joint = best_joint(searcher, state)
    assert joint is not None
    advance(searcher, joint)
    assert searcher._search is not None
    kept = searcher._search.stats["nodes"]
    assert kept < 100
    assert searcher.run(played(state, joint)).stats["nodes"] == 100
    walk_searcher(searcher, arrivals=False)


@pytest.mark.parametrize("graph", [False, True])
def test_advance_of_a_threaded_search(graph: bool) -> None:
    state, searcher = start("hex", 1, simulations=400, threads=3, batch=12, graph=graph)
    assert searcher._search is not None
    collisions = searcher._search.stats["collisions"]
    for _ in range(4):
        joint = best_joint(searcher, state)
        if joint is None:
            break
        state = played(state, joint)
        advance(searcher, joint)
        walk_searcher(searcher, arrivals=False)
        searcher.run(state)
        found = walk_searcher(searcher, arrivals=False)
        # In a graph, a collision in this run or one before it may leave an edge without visits to a node that
        # nothing else reaches any more.
        collisions += searcher._search.stats["collisions"]
        surplus = searcher._search.stats["nodes"] - len(found)
        assert 0 <= surplus <= (collisions if graph else 0)


@pytest.mark.parametrize("name", ["connect_four", "hex", "pyrat"])
@pytest.mark.parametrize(
    ("graph", "threads", "solver"),
    [(False, 1, False), (True, 1, False), (True, 2, False), (True, 1, True), (True, 2, True)],
)
def test_room_of_what_is_left_behind_is_used_again(name: str, graph: bool, threads: int, solver: bool) -> None:
    # Graphs of which large parts stay where they are: what comes next overwrites the rest.
    state = walk(name, 0)
    searcher = searcher_of(state, Rollout(1), simulations=1_000, graph=graph, threads=threads, solver=solver)
    for _ in range(3):
        result = searcher.run(state)
        if not graph:
            fresh = rf.search(state, Rollout(1), simulations=int(result.visits.sum()) + 1)
            assert_same_result(result, fresh, stats=False)
        joint = best_joint(searcher, state)
        if joint is None:
            break
        assert searcher._search is not None
        below = walk_below(searcher._search, joint)
        advance(searcher, joint)
        for path, report in below.items():
            assert_same_report(searcher._search.report(list(path)), report, path)
        state = played(state, joint)
    found = walk_searcher(searcher, arrivals=not graph)
    assert threads > 1 or searcher._search.stats["nodes"] == len(found)


PEAK = """
import resource
import ramify as rf
from ramify import _core

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

state = rf.make("connect_four").initial_state()
search = _core.make_search(state, rf.SearchConfig(graph={graph}).for_evaluator(None).model_dump())
search.restrict_root([3], [])
search.begin(0)
search.run_native(0, 0, 400_000, 600.0)
before, size = peak(), search.stats["bytes"]
assert search.advance(3, -1)
print((peak() - before) / size, search.stats["bytes"] / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process in kilobytes")
@pytest.mark.parametrize("graph", [False, True])
def test_advance_needs_little_memory_beside_the_graph(graph: bool) -> None:
    done = subprocess.run([sys.executable, "-c", PEAK.format(graph=graph)], capture_output=True, text=True, check=True)
    more, kept = map(float, done.stdout.split())
    assert kept > 0.99  # the one action that was searched leads to nearly all of it
    assert more < 0.4
