"""A search of some of the root's actions equals a search of a position that has no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.engine.root_actions import root_actions
from ramify.engine.source import RulesSource
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.limited_state import LimitedState, some_actions
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.stepping import Stepper
from tests.engine.test_latent import RulesModel
from tests.engine.test_solver import best_value
from tests.reference import graph_search
from tests.reference.config import Config

pytestmark = pytest.mark.core

PYRAT = {"width": 5, "height": 4, "cheese": 4, "max_turns": 30, "symmetric": False, "mud_density": 0.4}


def limited(name: str, seed: int) -> tuple[rf.State, Any]:
    state = walk(name, seed)
    return state, some_actions(state, np.random.default_rng([seed, 1]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GAMES)
def test_every_visit_is_that_of_the_transcription(name: str, seed: int) -> None:
    state, only = limited(name, seed)
    evaluator = HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS)
    settings: dict[str, Any] = [{}, {"graph": True, "fpu": "parent"}, {"c_base": 20.0, "normalize": "minmax"}][seed]
    engine = Stepper(state, evaluator, rf.SearchConfig(**settings))
    engine.search.restrict_root(*only)
    config = Config(**settings, priors_from_logits=_core.softmax)
    slow = graph_search.Search(LimitedState(state, only), evaluator, config)  # type: ignore[arg-type]
    for simulation in range(80):
        engine.simulate()
        slow.simulate()
        report = engine.report()
        np.testing.assert_array_equal(report["edge_visits"], slow.visits, err_msg=f"simulation {simulation + 1}")
        np.testing.assert_allclose(report["value"], slow.value, atol=1e-5)
    for player in (0, 1):
        assert report["outcomes"][player].tolist() == slow.root.outcomes[player]
        np.testing.assert_array_equal(report["priors"][player], slow.root.prior[player])


def report_of(search: _core.Search, source: RulesSource, config: rf.SearchConfig) -> Any:
    """The report after a run, without a Searcher, which wants the game's own states."""
    search.begin(7, config.simulations)
    group = _core.Group(1)
    while left := search.left(config.simulations):
        batch = group.gather([search], 0, config.batch_size, [left], source.arrays(0, config.batch_size))
        if batch:
            batch.absorb(*source.answer(0, batch.counts))
    return search.report([])


RULES: list[dict[str, Any]] = [
    {"selection": "gumbel", "gumbel_considered": 4},
    {"selection": "regret"},
    {"selection": "exp3"},
    {"noise_fraction": 0.4, "forced_playouts": 2.0, "root_temperature": 1.3},
    {"noise": "shaped", "noise_fraction": 0.3, "batch": 8, "max_in_flight": 1.0},
    {"normalize": "minmax", "graph": True, "short_circuit": True, "batch": 3},
]


@pytest.mark.parametrize("name", ["connect_four", "hex with swap", "pyrat", "goofspiel", "matrix"])
@pytest.mark.parametrize("settings", RULES, ids=str)
def test_every_rule_at_the_root_sees_these_actions_alone(name: str, settings: dict[str, Any]) -> None:
    for seed in range(3):
        state, only = limited(name, seed)
        evaluator = HashEvaluator(seed, zero_sum=False)
        config = rf.SearchConfig(simulations=60, c_puct=1.0, **settings).for_evaluator(evaluator)
        source = RulesSource(state.game, evaluator)
        plain = _core.make_python_search(LimitedState(state, only), config.model_dump())
        expected = report_of(plain, source, config)
        search = source.new_search(state, config)
        search.restrict_root(*only)
        report = report_of(search, source, config)
        assert report.keys() == expected.keys()
        for key, value in expected.items():
            np.testing.assert_equal(report[key], value, err_msg=f"{key}, {settings}, seed {seed}")


def test_the_solver_proves_the_best_of_these_actions() -> None:
    known: dict[int, Any] = {}
    for seed in range(60):
        state = walk("tictactoe", seed)
        rng = np.random.default_rng(seed)
        legal = state.legal_actions().tolist()
        only = sorted(int(a) for a in rng.choice(legal, int(rng.integers(1, len(legal) + 1)), replace=False))
        result = rf.search(state, simulations=50_000, solver=True, graph=bool(seed % 2), actions=only)
        worth = [after.apply(a)[0] + best_value(after, known)[0] for a in only for after in [state.copy()]]
        best = max(worth) if state.acting == (0,) else min(worth)
        assert result.proven is not None
        assert result.proven[0] == best
        assert worth[only.index(int(result.best_action))] == best  # type: ignore[arg-type]


@pytest.mark.parametrize("evaluator", [None, rf.evaluators.Rollout(2)])
def test_arrays_over_actions_are_zero_elsewhere(evaluator: Any) -> None:
    state = tictactoe(4)
    result = rf.search(state, evaluator, simulations=200, actions=[0, 8, 2, 2])
    assert np.flatnonzero(result.visit_counts).tolist() == [0, 2, 8]
    assert np.flatnonzero(result.prior).tolist() == [0, 2, 8]
    np.testing.assert_allclose(result.prior[[0, 2, 8]], 1 / 3, rtol=1e-3)
    assert np.flatnonzero(np.isfinite(result.q_values)).tolist() == [0, 2, 8]
    assert result.policy().sum() == pytest.approx(1)
    assert result.visits.sum() == 199
    assert "a1" in str(result)


def test_outcomes_are_named_by_the_actions_given() -> None:
    """Where several actions have one effect, as running into walls, a result names none that was not asked for."""
    met = 0
    for seed in range(40):
        state = rf.make("pyrat", **PYRAT).initial_state(seed)
        named, index = state.outcomes(0)
        others = [a for a in state.legal_actions(0).tolist() if a not in named.tolist()]
        if not others:
            continue
        met += 1
        free = int(next(a for a in named.tolist() if index[a] != index[others[0]]))
        searcher = searcher_of(state, HashEvaluator(0, zero_sum=False), simulations=60)
        result = searcher.run(state, actions=([others[0], free], None))
        assert sorted(result.outcomes[0].tolist()) == sorted([others[0], free])
        chosen = int(result.outcomes[1][0])
        kept = result.node([(others[0], chosen)])["visits"]
        searcher.advance(int(named[index[others[0]]]), chosen)  # by its usual name
        snapshot = searcher.snapshot()
        assert (0 if snapshot is None else int(snapshot.visits.sum()) + 1) == kept
    assert met > 5


def test_names_pairs_and_all() -> None:
    state = rf.make("tictactoe").initial_state()
    assert root_actions(state, ["b2", 0, np.int64(8)]) == ((0, 4, 8), ())
    assert root_actions(state, range(9)) == root_actions(state, None) == ((), ())
    maze = rf.make("pyrat", **PYRAT).initial_state(0)
    legal = maze.legal_actions(1).tolist()
    assert root_actions(maze, (None, legal[:1])) == ((), (legal[0],))


@pytest.mark.parametrize(
    ("game", "actions", "error", "text"),
    [
        ("tictactoe", [], ValueError, "actions is empty"),
        ("tictactoe", [9], rf.IllegalAction, "action 9 in actions is not legal for player 0"),
        ("tictactoe", ["z9"], rf.IllegalAction, "z9"),
        ("tictactoe", "b2", ValueError, "must be a list of actions"),
        ("tictactoe", 4, ValueError, "must be a list of actions"),
        ("tictactoe", ([0], [1]), ValueError, "numbers or names"),
        ("matrix", [0], ValueError, "pair of lists"),
        ("matrix", ([0], []), ValueError, "actions is empty for player 1"),
        ("tictactoe", [True], ValueError, "not True"),
        ("tictactoe", np.array([True, False]), ValueError, "numbers or names"),
        ("matrix", ([5], None), rf.IllegalAction, "action 5"),
    ],
)
def test_what_cannot_be_searched_is_named(game: str, actions: Any, error: type[Exception], text: str) -> None:
    state = rf.make(game).initial_state()
    searcher = searcher_of(state, simulations=10)
    with pytest.raises(error, match=text):
        searcher.run(state, actions=actions)
    assert searcher.run(state).visits.sum() == 9


def test_the_core_refuses_what_is_not_legal() -> None:
    search = _core.make_search(tictactoe(4), rf.SearchConfig().model_dump())
    for first, second in (([], [4]), ([0], []), ([], [-1]), ([], [9])):
        with pytest.raises(rf.InvalidInput, match="not legal at the root"):
            search.restrict_root(first, second)


def test_a_graph_is_reused_only_for_the_same_actions() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(), simulations=50)

    def visits(actions: Any) -> int:
        return int(searcher.run(state, actions=actions).visits.sum())

    assert visits([0, 4]) == 49
    assert visits(["b2", "a1"]) == 99
    assert visits([0, 8]) == 49
    assert visits(None) == 49
    assert visits(list(range(9))) == 99


@pytest.mark.parametrize("graph", [False, True])
def test_advance_keeps_what_is_known_and_lifts_the_restriction(graph: bool) -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(), simulations=80, graph=graph)
    searcher.run(state, actions=[0, 4])
    known = searcher.run(state, actions=[0, 4]).node([(4, -1)])["visits"]
    searcher.advance(4)
    result = searcher.run(state.after(4))
    assert result.visits.sum() + 1 == known + 80
    assert len(result.outcomes[1]) == 8
    searcher.run(state, actions=[0, 4])
    searcher.advance(8)  # outside: nothing is known of it
    assert_same_result(
        searcher.run(state.after(8)), fresh_run(state.after(8), searcher, graph=graph, simulations=80), stats=False
    )


def fresh_run(state: rf.State, like: rf.Searcher, **settings: Any) -> rf.SearchResult:
    return searcher_of(state, like.evaluator, **settings).run(state)


def test_latent_models_search_these_actions_alone() -> None:
    state, evaluator = walk("connect_four", 2), HashEvaluator(3)
    only = state.legal_actions().tolist()[1:4]
    model = RulesModel(state.game, evaluator, "alternating").roots(state)
    result = rf.Searcher(model, None, rf.SearchConfig(simulations=40)).run(state, actions=only)
    assert result.outcomes[state.acting[0]].tolist() == only
    assert result.visits.sum() == 39
    with pytest.raises(rf.IllegalAction, match="not legal"):
        rf.Searcher(model, None, rf.SearchConfig(simulations=40)).run(state, actions=[99])


@pytest.mark.parametrize("settings", [{"threads": 3}, {"threads": 2, "solver": True}])
def test_threads(settings: dict[str, Any]) -> None:
    state = rf.make("connect_four").initial_state()
    for evaluator in (None, HashEvaluator()):
        result = rf.search(state, evaluator, simulations=3000, batch=8, actions=[1, 5], **settings)
        assert np.flatnonzero(result.visit_counts).tolist() == [1, 5]
