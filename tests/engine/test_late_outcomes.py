"""Leaves of evaluators of the core get their actions at the second visit: searches find what they would find otherwise.

Two independent comparisons: the plain-Python search of ``tests/reference``, simulation by simulation, and a search
whose evaluator says the same from Python, every node of the graph, where leaves have their actions from the beginning.
"""

from __future__ import annotations

import contextlib
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify import _core
from ramify.engine import LatentOutput
from ramify.engine.source import RulesSource
from tests.chance_games import Pig, Race
from tests.engine.helpers import searcher_of
from tests.engine.positions import GAMES, walk
from tests.engine.stepping import Stepper
from tests.engine.test_against_reference import SETTINGS, WEIGHTS
from tests.engine.tiny_games import Fragile, Paths
from tests.engine.walking import walk_searcher
from tests.reference import graph_search
from tests.reference.config import Config
from tests.reference.evaluators import Evaluation

pytestmark = pytest.mark.core

UNIFORM = rf.evaluators.Uniform()
SAME = rf.evaluators.Function(UNIFORM.evaluate)  # in Python, in batches: leaves have their actions at once


class Native:
    """The core's own evaluator, one simulation at a time."""

    def __init__(self, state: rf.State, config: rf.SearchConfig, rollouts: int) -> None:
        self.search = RulesSource(state.game, UNIFORM).new_search(state, config.for_evaluator(None))
        self.search.begin(0)
        self.config, self.rollouts = config, rollouts

    def simulate(self) -> dict[str, Any]:
        self.search.run_native(self.rollouts, 0, 1, math.inf)
        return self.search.report([])


def evaluate(state: rf.State, discount: float = 1.0) -> Any:
    """What the core says of a position: equal priors of outcomes, and the value of one random game, as of a root."""
    logits = np.zeros((2, state.game.num_actions), np.float32)
    for player in state.acting:
        index = state.outcomes(player)[1]
        for action in state.legal_actions(player):
            logits[player, action] = -np.log(np.float32((index == index[action]).sum()))
    return Evaluation(logits, Native(state, rf.SearchConfig(discount=discount), 1).simulate()["evaluation"])


def compare(name: str, seed: int, chosen: dict[str, Any], simulations: int) -> None:
    state = walk(name, seed)
    engine = Native(state, rf.SearchConfig(**chosen), 1)
    evaluator = partial(evaluate, discount=engine.config.discount)
    reference = graph_search.Search(state, evaluator, Config(**chosen, priors_from_logits=_core.softmax))
    for simulation in range(simulations):
        report = engine.simulate()
        reference.simulate()
        where = f"simulation {simulation + 1}, {chosen}, of\n{state}"
        np.testing.assert_array_equal(report["edge_visits"], reference.visits, err_msg=where)
        np.testing.assert_allclose(report["value"], reference.value, atol=1e-5, err_msg=where)
    for player in (0, 1):
        np.testing.assert_allclose(report["q"][player], reference.q[player], atol=1e-5)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(set(GAMES) - {"chess"})),
    seed=st.integers(0, 20),
    chosen=st.sampled_from(SETTINGS),
    weights=st.sampled_from(WEIGHTS),
    forced=st.sampled_from([0.0, 2.0]),
)
def test_the_engine_equals_the_reference(
    name: str, seed: int, chosen: dict[str, Any], weights: str, forced: float
) -> None:
    compare(name, seed, {**chosen, "opponent_weights": weights, "forced_playouts": forced}, 70)


# ---------- every node, against leaves that have their actions at once ----------

OTHERS: list[dict[str, Any]] = [
    {},
    {"graph": True},
    {"graph": True, "canonical": True},
    {"graph": True, "short_circuit": True},
    {"normalize": "minmax", "discount": 0.9},
    {"fpu": "reduction", "c_base": 20.0},
    {"selection": "gumbel"},
    {"selection": "regret"},
    {"selection": "exp3", "graph": True},
    {"forced_playouts": 2.0},
    {"max_nodes": 30},
    {"max_nodes": 30, "graph": True},
    {"solver": True},
    {"solver": True, "graph": True},
]
PLAIN = sorted(name for name in GAMES if "pyrat" not in name)  # where actions merge, uniform priors are not the same


def assert_same_graph(first: rf.Searcher, second: rf.Searcher) -> None:
    """Every node that visits lead to, with everything that a report says of it."""
    assert first._search is not None
    assert second._search is not None
    paths: list[list[tuple[int, int]]] = [[]]
    while paths:
        path = paths.pop()
        report, other = first._search.report(path), second._search.report(path)
        np.testing.assert_equal(report, other, err_msg=str(path))
        if report["ready"]:
            for i, j in np.argwhere(report["edge_visits"] > 0):
                paths.append([*path, (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(PLAIN),
    seed=st.integers(0, 20),
    chosen=st.sampled_from(OTHERS),
    steps=st.lists(st.tuples(st.integers(1, 80), st.booleans()), min_size=1, max_size=3),
)
def test_every_node_is_as_if_listed_at_once(
    name: str, seed: int, chosen: dict[str, Any], steps: list[tuple[int, bool]]
) -> None:
    """Runs of some length, with or without a turn of the game after each."""
    state, rng = walk(name, seed), np.random.default_rng(seed)
    late, early = (searcher_of(state, evaluator, **chosen) for evaluator in (UNIFORM, SAME))
    for simulations, moves in steps:
        for searcher in (late, early):
            searcher.config = searcher.config.replace(simulations=simulations)
            searcher.run(state)
        assert_same_graph(late, early)
        if moves:
            actions = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
            state.apply(*actions)
            if state.is_over:
                return
            for searcher in (late, early):
                searcher.advance(*actions)


@pytest.mark.parametrize("game", [Pig(), Race(), Paths("both", turns=4)], ids=lambda game: type(game).__name__)
@pytest.mark.parametrize("graph", [False, True])
def test_games_in_python_with_and_without_chance(game: rf.PythonGame, graph: bool) -> None:
    state = game.initial_state()
    late, early = (rf.search(state, evaluator, simulations=400, graph=graph) for evaluator in (UNIFORM, SAME))
    np.testing.assert_array_equal(late.visits, early.visits)
    np.testing.assert_array_equal(late.payoffs, early.payoffs)
    np.testing.assert_array_equal(late.value, early.value)


class Constant:
    """A latent model that always says the same."""

    num_actions = 5
    acting = "alternating"

    def initial(self, observations: Any) -> LatentOutput:
        return self.answer(len(observations))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        return self.answer(len(actions))

    def answer(self, rows: int) -> LatentOutput:
        zeros = np.zeros((rows, self.num_actions), np.float32)
        return LatentOutput(latents=zeros, logits=zeros, values=zeros[:, 0], rewards=zeros[:, 0])


def test_latent_trees() -> None:
    config = rf.SearchConfig(simulations=300).for_evaluator(None).model_dump()
    search = _core.make_latent_search(5, "alternating", 1, [0, 2, 3], [], config)
    search.begin(0)
    search.run_native(0, 0, 300, math.inf)

    class Legal(Paths):
        def legal_actions(self, position: Any, player: int) -> Any:
            return (0, 2, 3)

    state = Legal(turns=3, branching=5).initial_state()
    expected = rf.Searcher(Constant(), config=rf.SearchConfig(simulations=300)).run(state)
    np.testing.assert_array_equal(search.report([])["edge_visits"], expected.visits)
    leaf = search.report([(2, -1), (-1, 4), (0, -1)])
    assert leaf["ready"]
    assert leaf["outcomes"][1].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["hex", "pyrat", "goofspiel"])
@pytest.mark.parametrize("graph", [False, True])
def test_threads_and_reports_of_leaves(name: str, graph: bool) -> None:
    """Four threads list outcomes of the same nodes; every report, of leaves as well, is that of its position."""
    state = walk(name, 3)
    searcher = searcher_of(state, UNIFORM, simulations=300, threads=4, graph=graph)
    result = searcher.run(state)
    found = walk_searcher(searcher)
    assert len(found) == result.stats["nodes"]


def test_a_report_takes_no_memory() -> None:
    state = rf.make("hex", size=11).initial_state()
    searcher = searcher_of(state, UNIFORM, simulations=2_000)
    result = searcher.run(state)
    before = result.stats["bytes"]
    assert before < 150 * result.stats["nodes"]  # an action of each of about 120 would be 4 bytes
    walk_searcher(searcher)
    assert searcher._search is not None
    assert searcher._search.stats["bytes"] == before


def test_evaluators_may_take_turns() -> None:
    """Leaves of one evaluator are visited again by another: a leaf keeps the priors that it was given."""
    state = walk("hex", 1)
    turns, alone = (Stepper(state, SAME, rf.SearchConfig()) for _ in range(2))
    for step in range(200):
        alone.simulate()
        if step // 20 % 2:
            turns.search.run_native(0, 0, 1, math.inf)
        else:
            turns.simulate()
    np.testing.assert_equal(turns.report(), alone.report())


@pytest.mark.parametrize("fails_at", range(1, 60, 3))
def test_a_game_that_raises_at_the_second_visit(fails_at: int) -> None:
    """The descent is undone, and the search goes on as if nothing had happened."""
    game = Fragile("legal_actions")
    state = game.initial_state()
    searcher = searcher_of(state, UNIFORM, simulations=40)
    game.calls, game.fails_at = 0, fails_at
    with contextlib.suppress(ArithmeticError):
        searcher.run(state)
    game.fails_at = 0
    assert searcher._search is not None
    done = int(searcher._search.stats["simulations"])
    result = searcher.run(state)
    walk_searcher(searcher)
    expected = rf.search(Fragile().initial_state(), UNIFORM, simulations=40 + done)
    np.testing.assert_array_equal(result.visits, expected.visits)
    np.testing.assert_array_equal(result.payoffs, expected.payoffs)
