"""Lower confidence bounds: from second moments that are those of all samples, and whichever outcome is the best."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ramify as rf
from tests.engine.helpers import HashEvaluator, searcher_of, tictactoe
from tests.engine.positions import walk
from tests.engine.tiny_games import Carousel, Ring, Turntable

Path = list[tuple[int, int]]


def samples(searcher: rf.Searcher, state: rf.State, path: Path) -> NDArray[np.float64]:
    """All that visits have brought to a node of a tree, [visits, 2]: its evaluation, and what its edges brought."""
    assert searcher._search is not None
    report = searcher._search.report(path)
    found = [report["evaluation"].astype(np.float64)[None]]
    for i, j in np.argwhere(report["edge_visits"] > 0):
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        found.append(edge_samples(searcher, state, path, joint, int(report["edge_visits"][i, j])))
    return np.concatenate(found)


def edge_samples(searcher: rf.Searcher, state: rf.State, path: Path, joint: Any, visits: int) -> NDArray[np.float64]:
    child = state.copy()
    rewards = child.apply(*(action for action in joint if action >= 0)).astype(np.float64)
    if child.is_over:
        return np.repeat(rewards[None], visits, axis=0)
    return np.asarray(rewards + searcher.config.discount * samples(searcher, child, [*path, joint]))


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "pyrat", "goofspiel"])
def test_second_moments_are_those_of_all_samples(name: str, discount: float) -> None:
    state = walk(name, 3)
    searcher = searcher_of(state, HashEvaluator(2, zero_sum=False), simulations=150, discount=discount)
    result = searcher.run(state)
    assert result._squares is not None
    squares = result._squares().reshape(result.payoffs.shape)
    for i, j in np.argwhere(result.visits > 0):
        joint = (int(result.outcomes[0][i]), int(result.outcomes[1][j]))
        drawn = edge_samples(searcher, state, [], joint, int(result.visits[i, j]))
        assert len(drawn) == result.visits[i, j]
        np.testing.assert_allclose(drawn.mean(axis=0), result.payoffs[:, i, j], atol=1e-5)
        np.testing.assert_allclose((drawn**2).mean(axis=0), squares[:, i, j], atol=1e-5)
    assert (np.isnan(squares) == (result.visits == 0)).all()


def test_second_moments_of_a_shared_graph_follow_its_edges() -> None:
    """In a graph a child counts as often as the edge was taken: (u^2 + sum of N * E[(r + X)^2]) / (1 + sum of N)."""
    state = tictactoe(0, 4, 8)
    searcher = searcher_of(state, HashEvaluator(2), simulations=400, graph=True)
    result = searcher.run(state)
    assert result.stats["transpositions"] > 0
    assert searcher._search is not None

    def square(path: Path, position: rf.State) -> NDArray[np.float64]:
        report = searcher._search.report(path)
        total = report["evaluation"].astype(np.float64) ** 2
        for i, j in np.argwhere(report["edge_visits"] > 0):
            joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
            total = total + report["edge_visits"][i, j] * edge_square(path, position, joint)
        return np.asarray(total / (1 + report["edge_visits"].sum()))

    def edge_square(path: Path, position: rf.State, joint: Any) -> NDArray[np.float64]:
        child = position.copy()
        rewards = child.apply(*(action for action in joint if action >= 0)).astype(np.float64)
        if child.is_over:
            return np.asarray(rewards**2)
        value = searcher._search.report([*path, joint])["value"].astype(np.float64)
        return np.asarray(rewards**2 + 2 * rewards * value + square([*path, joint], child))

    assert result._squares is not None
    squares = result._squares().reshape(result.payoffs.shape)
    for j in np.flatnonzero(result.visits[0]):
        expected = edge_square([], state, (-1, int(result.outcomes[1][j])))
        np.testing.assert_allclose(squares[:, 0, j], expected, atol=1e-4)


def check_rings() -> None:
    """A ring of three nodes below the root: the edge that closes it brings the value of the node it leads to."""
    searcher = searcher_of(Ring().initial_state(), HashEvaluator(3), simulations=40, graph=True, discount=0.9)
    result = searcher.run(Ring().initial_state())
    assert result.stats["cycles"] > 0
    assert result._squares is not None
    reports = [result.node([(0, -1)] * depth) for depth in range(4)]  # the root, then all that there is
    square = reports[1]["value"].astype(np.float64) ** 2
    value = reports[1]["value"].astype(np.float64)
    for depth in (3, 2, 1):
        reward = np.array(((0.5, -0.5), (-0.25, 0.25), (0.0, 0.0))[depth % 3])
        visits = int(reports[depth]["edge_visits"].sum())
        edge = reward**2 + 2 * 0.9 * reward * value + 0.81 * square
        square = (reports[depth]["evaluation"].astype(np.float64) ** 2 + visits * edge) / (1 + visits)
        value = reports[depth]["value"].astype(np.float64)
    expected = np.array([0.25, 0.25]) + 2 * 0.9 * np.array([0.5, -0.5]) * value + 0.81 * square
    np.testing.assert_allclose(result._squares(), expected, atol=1e-5)
    for game in (Carousel(), Turntable()):
        found = rf.search(game.initial_state(), HashEvaluator(1), simulations=300, graph=True)
        assert found.stats["cycles"] > 0
        bounds = found.lcb()
        assert np.isfinite(bounds).any()
        assert (np.nan_to_num(bounds, nan=-9) <= found.q[0] + 1e-6).all()
        assert found.action(method="lcb") in game.legal_actions(0, 0)


def test_rings_end() -> None:
    command = "from tests.engine.test_lcb import check_rings; check_rings()"
    subprocess.run([sys.executable, "-c", command], cwd=File(__file__).parents[2], check=True, timeout=60)


def by_hand(visits: Any, means: Any, deviations: Any) -> rf.SearchResult:
    """A result of one player whose outcomes have brought values of these means and standard deviations."""
    n, means, deviations = len(visits), np.asarray(means, float), np.asarray(deviations, float)
    squares = np.stack([means**2 + deviations**2] * 2)[:, :, None]
    return rf.SearchResult(
        visits=np.array(visits).reshape(n, 1),
        outcomes=(np.arange(n, dtype=np.int32), np.array([-1], np.int32)),
        priors=(np.full(n, 1 / n, np.float32), np.ones(1, np.float32)),
        q=(means.astype(np.float32), np.zeros(1, np.float32)),
        payoffs=np.stack([means, -means]).astype(np.float32)[:, :, None],
        value=np.zeros(2, np.float32),
        evaluation=np.zeros(2, np.float32),
        acting=(0,),
        num_actions=n,
        principal_variation=[],
        stats={"seed": 0},
        _squares=lambda: squares,
    )


def test_bounds_by_hand() -> None:
    # Largest payoff 0.5, so the widest variance is 0.25; its weight is 1 / visits^3.
    #   outcome 0: variance (0.04 + 0.25 / 100^3) / (1 + 1e-6), error sqrt(that / 100) = 0.02: bound 0.5 - 5 * 0.02
    #   outcome 1: 2 visits: variance (0 + 0.25 / 8) / (1 + 1 / 8) = 1 / 36, error sqrt(1 / 72)
    bounds = by_hand([100, 2, 30], [0.5, 0.4, 0.1], [0.2, 0.0, 0.3]).lcb(share=0.0)
    np.testing.assert_allclose(bounds[0], 0.4, atol=1e-5)
    np.testing.assert_allclose(bounds[1], 0.4 - 5 * np.sqrt(1 / 72), atol=1e-5)
    np.testing.assert_allclose(bounds[2], 0.1 - 5 * np.sqrt((0.09 + 0.25 / 27000) / (1 + 1 / 27000) / 30), atol=1e-5)
    narrow = by_hand([100, 2, 30], [0.5, 0.4, 0.1], [0.2, 0.0, 0.3]).lcb(z=1.0)
    np.testing.assert_allclose(narrow[0], 0.48, atol=1e-5)
    assert np.isnan(narrow[1])  # 2 < 0.15 * 100
    assert not np.isnan(narrow[2])


@pytest.mark.parametrize("best", range(4))
def test_whichever_outcome_is_best_is_found_the_first_too(best: int) -> None:
    """KataGo once overlooked index 0."""
    visits, means = [50, 50, 50, 50], [0.1, 0.1, 0.1, 0.1]
    visits[best], means[best] = 30, 0.6
    result = by_hand(visits, means, [0.1] * 4)
    assert result.action() != best
    assert result.action(method="lcb") == best


def test_a_lucky_outcome_is_not_taken() -> None:
    result = by_hand([100, 20, 4], [0.5, 0.55, 0.9], [0.1, 0.4, 0.1])
    assert result.action(method="lcb") == 0


def test_bounds_hold_where_values_spread() -> None:
    """A real search: bounds are below values, and nearer the more visits there are."""
    result = rf.search(tictactoe(), HashEvaluator(5), simulations=3000)
    bounds, visits = result.lcb(), result.visits[:, 0]
    known = ~np.isnan(bounds)
    assert known.any()
    assert (visits[known] >= 0.15 * visits.max()).all()
    assert (bounds[known] < result.q[0][known]).all()
    assert result.action(method="lcb") == result.outcomes[0][np.nanargmax(bounds)]


def test_both_players_have_bounds() -> None:
    result = rf.search(walk("goofspiel", 0), HashEvaluator(1), simulations=500)
    for player in (0, 1):
        assert result.lcb(player).shape == result.outcomes[player].shape
    assert isinstance(result.action(method="lcb"), tuple)


def test_proofs_come_before_bounds() -> None:
    state = tictactoe(0, 3, 1, 4)  # player 0 completes 0 1 2
    result = rf.search(state, HashEvaluator(3), simulations=200, solver=True)
    assert result.proven is not None
    assert result.action(method="lcb") == 2


def test_bounds_need_the_graph() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(1), simulations=20)
    result = searcher.run(state)
    searcher.run(state)
    with pytest.raises(ValueError, match="the graph of this result is gone"):
        result.lcb()
