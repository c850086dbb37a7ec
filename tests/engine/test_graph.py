"""Shared nodes: transpositions occur, exactly where positions are equal, and change nothing where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, play, walk
from tests.engine.tiny_games import Carousel, Paths, Turntable
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core

WAYS = 250  # of the small positions below: so many can all be visited


def reachable(state: rf.State, identity: str) -> tuple[set[int], int]:
    """Every position that is not over, by that attribute, and the number of ways to them, by brute force."""
    seen: set[int] = set()
    ways = 0
    stack = [state]
    while stack and ways <= WAYS:
        here = stack.pop()
        if here.is_over:
            continue
        ways += 1
        seen.add(getattr(here, identity))
        choices = [here.outcomes(player)[0].tolist() if player in here.acting else [None] for player in (0, 1)]
        for first in choices[0]:
            for second in choices[1]:
                after = here.copy()
                after.apply(*(action for action in (first, second) if action is not None))
                stack.append(after)
    return seen, ways


def small_position(name: str, params: dict[str, Any], seed: int) -> rf.State:
    """Of a random game, the earliest position with few enough ways to go on."""
    rng = np.random.default_rng(seed)
    small = None
    while small is None:
        state, line = rf.make(name, **params).initial_state(seed=seed), []
        while not state.is_over:
            line.append(state.copy())
            play(state, rng)
        while line and reachable(line[-1], "key")[1] <= WAYS:
            small = line.pop()
    return small


SMALL: list[tuple[str, dict[str, Any]]] = [
    ("tictactoe", {}),
    ("hex", {"size": 3}),
    ("hex", {"size": 2, "swap": True}),
    ("connect_four", {}),
]


@pytest.mark.parametrize(("name", "params"), SMALL)
@pytest.mark.parametrize("seed", range(3))
def test_one_node_for_every_position_that_can_be_reached(name: str, params: dict[str, Any], seed: int) -> None:
    state = small_position(name, params, seed)
    positions, ways = reachable(state, "key")
    symmetric, _ = reachable(state, "canonical_key")
    counts = {}
    for mode, settings in (("tree", {}), ("graph", {"graph": True}), ("canonical", {"graph": True, "canonical": True})):
        searcher = searcher_of(state, simulations=40_000, c_puct=1e6, **settings)  # wide, so that all is visited
        result = searcher.run(state)
        counts[mode] = result.stats["nodes"]
        found = walk_searcher(searcher)
        assert len(found) == counts[mode]
        assert result.stats["transpositions"] == found.transpositions
    assert counts == {"tree": ways, "graph": len(positions), "canonical": len(symmetric)}


def test_there_is_something_to_share_in_these_positions() -> None:
    for name, params in SMALL:
        positions, ways = reachable(small_position(name, params, 0), "key")
        assert len(positions) < ways


@pytest.mark.parametrize("name", GAMES)
def test_edges_and_nodes_count_apart(name: str) -> None:
    state = walk(name, 0)
    searcher = searcher_of(state, HashEvaluator(0, zero_sum=name not in SIMULTANEOUS), simulations=400, graph=True)
    result = searcher.run(state)
    found = walk_searcher(searcher)  # holds node visits to be 1 + own edges' = sum of edges that lead there
    assert result.stats["transpositions"] == found.transpositions
    assert result.stats["nodes"] == len(found)
    assert found.links == len(found) - 1 + found.transpositions
    if name in ("tictactoe", "hex", "pyrat"):
        assert found.transpositions > 5


def test_the_root_is_outside_the_table() -> None:
    game = Carousel()
    state = game.initial_state()
    searcher = searcher_of(state, HashEvaluator(0), simulations=200, graph=True)
    result = searcher.run(state)
    assert result.stats["nodes"] == 4  # three places, and the first once more as a node below the root
    assert result.stats["cycles"] > 0
    assert np.isfinite(result.value).all()
    assert walk_searcher(searcher, arrivals=False).nodes.keys() == {"root"} | {game.state(k).key for k in range(3)}
    assert result.visits.sum() == 199


@pytest.mark.parametrize("settings", [{}, {"c_puct": 0.0}, {"short_circuit": True}, {"threads": 2, "batch": 4}])
@pytest.mark.parametrize("game", [Carousel(), Turntable()])
def test_cycles_end(game: rf.PythonGame, settings: dict[str, Any]) -> None:
    state = game.initial_state()
    searcher = searcher_of(state, HashEvaluator(1), simulations=300, graph=True, **settings)
    for _ in range(4):
        result = searcher.run(state)
        assert result.stats["simulations"] == 300
        assert result.stats["nodes"] <= 4
        walk_searcher(searcher, arrivals=False)
        searcher.advance(0)
        state.apply(0)


@pytest.mark.parametrize("order", ["alternating", "single", "both"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fpu": "parent", "parent_visits": "edges", "opponent_weights": "visits"},
        {"normalize": "minmax", "discount": 0.9},
        {"batch": 16, "normalize": "minmax"},  # without: collisions are losses in trees only
        {"short_circuit": True},
        {"noise_fraction": 0.5},
    ],
)
def test_graph_and_tree_agree_where_nothing_transposes(order: str, settings: dict[str, Any]) -> None:
    state = Paths(order, zero_sum=False).initial_state()
    settings = {"simulations": 120, "c_puct": 4.0, **settings}
    searchers = [searcher_of(state, HashEvaluator(2, False), graph=graph, **settings) for graph in (True, False)]
    graph, tree = (searcher.run(state) for searcher in searchers)
    assert graph.stats["transpositions"] == graph.stats["short_circuits"] == 0
    different = {"bytes": tree.stats["bytes"], "seconds": 0}  # the table costs something
    for result in (graph, tree):
        result.stats.update(different)
    assert_same_result(graph, tree)
    below = [list(walk_searcher(searcher).nodes.values()) for searcher in searchers]
    assert len(below[0]) == len(below[1]) == graph.stats["nodes"] > 60
    for shared, alone in zip(*below, strict=True):
        for fact in ("visits", "value", "edge_visits", "payoffs"):
            np.testing.assert_array_equal(shared[fact], alone[fact])


# ---------- canonical keys ----------


@pytest.mark.parametrize(("name", "params"), [("hex", {"size": 3}), ("connect_four", {})])
def test_symmetric_positions_share_nodes(name: str, params: dict[str, Any]) -> None:
    state = rf.make(name, **params).initial_state()
    plain = rf.search(state, rf.evaluators.Uniform(), simulations=2000, graph=True)
    searcher = searcher_of(state, rf.evaluators.Uniform(), simulations=2000, graph=True, canonical=True)
    canonical = searcher.run(state)
    assert len(walk_searcher(searcher)) == canonical.stats["nodes"]
    if name == "hex":  # small enough that most of it is seen: half the positions are another's image
        assert canonical.stats["nodes"] < 0.7 * plain.stats["nodes"]
    # The root is symmetric: an action and its image lead to one node, hence have one value.
    seen = 0
    for action, image in enumerate(state.game.symmetries[1].actions):
        pair = canonical.payoffs[:, [action, image], 0]
        assert not np.isnan(pair).any()
        np.testing.assert_array_equal(pair[:, 0], pair[:, 1])
        seen += action != image
    assert seen


class Equivariant:
    """Numbers that turn with the board: from what the player sees, averaged over the symmetries of the game."""

    def __init__(self, game: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        size, n = int(np.prod(game.observation_shape)), game.num_actions
        policy, value = rng.normal(size=(n, size)), rng.normal(size=size)
        keep = [s for s in game.symmetries if not s.swaps_players]
        # The image sees old[observation[i]] at i and calls action a actions[a].
        self.policy = sum(policy[np.ix_(s.actions, np.argsort(s.observation))] for s in keep) / len(keep)
        self.value = sum(value[np.argsort(s.observation)] for s in keep) / len(keep)

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        seen = batch.observations.reshape(len(batch), -1).astype(np.float64)
        # Rounded, because sums in another order differ in the last bits.
        return rf.Evaluation(np.round(seen @ self.policy.T, 5), np.round(np.tanh(seen @ self.value), 5))


@pytest.mark.parametrize("name", ["hex", "connect_four"])
@pytest.mark.parametrize("seed", range(4))
def test_a_turned_root_has_turned_visits(name: str, seed: int) -> None:
    state = walk(name, seed + 1)
    symmetry = state.game.symmetries[1]
    if state.transform(1).key == state.key:
        pytest.skip("a symmetric position: turning it changes nothing")
    evaluator = Equivariant(state.game, seed)
    plain, turned = (
        rf.search(root, evaluator, simulations=150, graph=True, canonical=True) for root in (state, state.transform(1))
    )
    player = state.acting[0]
    policy = plain.policy()
    image = np.zeros_like(policy)
    image[symmetry.actions] = policy
    np.testing.assert_array_equal(turned.policy(), image)
    np.testing.assert_allclose(turned.value, plain.value, atol=1e-6)
    assert turned.acting == (player,)


# ---------- short circuits and other ends of a descent ----------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"graph": True, "short_circuit": True}, {"max_nodes": 40}])
def test_every_descent_ends_somewhere(name: str, settings: dict[str, Any]) -> None:
    state = walk(name, 1)
    searcher = searcher_of(state, HashEvaluator(1, zero_sum=name not in SIMULTANEOUS), simulations=300, **settings)
    stats = searcher.run(state).stats
    ends = ("evaluations", "terminals", "short_circuits", "full", "cycles")
    assert sum(stats[end] for end in ends) == stats["simulations"] == 300
    assert stats["cycles"] == 0
    if "short_circuit" in settings and name in ("tictactoe", "hex", "pyrat"):
        assert stats["short_circuits"] > 0
        assert stats["evaluations"] < 300
    else:
        assert (stats["short_circuits"] > 0) <= ("short_circuit" in settings)
    found = walk_searcher(searcher, arrivals=False)
    for key, report in found.nodes.items():
        if key != "root":
            assert report["visits"] <= found.arrivals[key]


# ---------- bounded graphs ----------


@pytest.mark.parametrize("bound", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"threads": 2}, {"threads": 2, "graph": True, "batch": 8}])
@pytest.mark.parametrize("native", [False, True])
def test_max_nodes(bound: int, settings: dict[str, Any], native: bool) -> None:
    for name in ("hex", "pyrat") if bound <= 100 else ("hex",):
        state = walk(name, 0)
        evaluator = rf.evaluators.Rollout(1) if native else HashEvaluator(0, zero_sum=name not in SIMULTANEOUS)
        searcher = searcher_of(state, evaluator, simulations=1500, max_nodes=bound, **settings)
        result = searcher.run(state)
        assert result.stats["nodes"] <= bound
        assert result.stats["simulations"] == 1500
        assert result.stats["full"] > 0 or result.stats["nodes"] < bound
        # The search goes on along what it has: without a second node there is nothing to visit.
        assert result.visits.sum() == (1499 if bound > 1 else 0)
        assert result.policy(state.acting[0]).sum() == pytest.approx(1, abs=1e-6)
        assert len(walk_searcher(searcher, arrivals=False)) == result.stats["nodes"]


def test_a_bounded_search_still_finds_the_win() -> None:
    state = tictactoe(0, 3, 1, 4)
    for bound in (4, 8, 20):
        result = rf.search(state, simulations=500, max_nodes=bound)
        assert result.action() == 2
        assert result.stats["nodes"] <= bound


# ---------- repetition ----------


def test_chess_shares_no_position_with_another_history() -> None:
    # Two kings between blocked pawns: placements come back all the time, with other pasts behind them.
    state = rf.make("chess").state("8/8/8/8/p7/k1p5/2P5/K7 w - - 0 1")
    searcher = searcher_of(state, HashEvaluator(3), simulations=1500, graph=True, c_puct=3.0)
    result = searcher.run(state)
    found = walk_searcher(searcher)  # compares every edge with the rules: false sharing has wrong actions or ends
    assert len(found) == result.stats["nodes"]
    assert found.transpositions > 20
    assert found.terminals > 0
    below = [node for name, node in found.states.items() if name != "root"]
    assert len({node.key for node in below}) < len({node.history_key for node in below}) == len(below)


def shuffled(*moves: str) -> Any:
    state = rf.make("chess").initial_state()
    for move in moves:
        state.apply(state.action(move))
    return state


def test_a_repeated_chess_root_is_another_root() -> None:
    once = shuffled("g1f3", "g8f6", "f3g1", "f6g8")
    twice = shuffled("b1c3", "b8c6", "c3b1", "c6b8")
    assert once.key == twice.key  # the same position, for the second time, with the same clock
    assert once.history_key != twice.history_key
    searcher = searcher_of(once, HashEvaluator(0), simulations=30)
    assert searcher.run(once).visits.sum() == 29
    assert searcher.run(twice).visits.sum() == 29
    assert searcher.run(twice.copy()).visits.sum() == 59


def test_a_repetition_that_ends_the_game_is_a_draw_in_the_graph() -> None:
    state = shuffled("g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1")  # f6g8 repeats the start a third time
    draw = state.action("f6g8")
    for graph in (False, True):
        searcher = searcher_of(state, HashEvaluator(0), simulations=400, graph=graph, c_puct=5.0)
        result = searcher.run(state)
        column = result.outcomes[1].tolist().index(draw)
        assert result.visits[0, column] > 0
        assert result.payoffs[:, 0, column].tolist() == [0.0, 0.0]
        walk_searcher(searcher)
