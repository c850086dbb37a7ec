"""Games that are not the core's own, searched by the same engine: visit for visit what the core's own give."""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, Observing, assert_same_result, searcher_of
from tests.engine.positions import play
from tests.engine.tiny_games import Paths
from tests.engine.walking import walk_searcher

EXAMPLE = Path(__file__).parents[2] / "examples" / "tictactoe_python.py"


@pytest.fixture(scope="module")
def python_tictactoe() -> Any:
    """The example's game."""
    spec = importlib.util.spec_from_file_location("tictactoe_python_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.TicTacToe()


def pair_of_states(other: Any, native: Any, seed: int, turns: int) -> tuple[rf.State, rf.State]:
    """The same random turns in both games."""
    rng = np.random.default_rng(seed)
    first, second = other.initial_state(seed=0), native.initial_state(seed=0)
    for _ in range(turns):
        actions = [int(rng.choice(second.legal_actions(player))) for player in second.acting]
        after = second.copy()
        after.apply(*actions)
        if after.is_over:
            break
        first.apply(*actions)
        second.apply(*actions)
    return first, second


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"graph": True},
        {"graph": True, "short_circuit": True, "batch": 8},
        {"fpu": "reduction", "normalize": "minmax", "discount": 0.9},
        {"noise_fraction": 0.25, "batch": 4, "max_nodes": 50},
        {"stop_early": True},
    ],
)
def test_python_tictactoe_equals_the_native_one(python_tictactoe: Any, settings: dict[str, Any], seed: int) -> None:
    python, native = pair_of_states(python_tictactoe, rf.make("tictactoe"), seed, seed)
    np.testing.assert_array_equal(python.observation(), native.observation())  # what the evaluator goes by
    results = [rf.search(state, Observing(seed), simulations=150, **settings) for state in (python, native)]
    assert_same_result(*results, stats=False)
    for name in ("simulations", "evaluations", "nodes", "transpositions", "terminals", "max_depth"):
        assert results[0].stats[name] == results[1].stats[name]


def test_python_tictactoe_plays_on_from_its_graph(python_tictactoe: Any) -> None:
    native = rf.make("tictactoe")
    states = [python_tictactoe.initial_state(), native.initial_state()]
    searchers = [searcher_of(state, Observing(3), simulations=60, graph=True) for state in states]
    while not states[0].is_over:
        results = [searcher.run(state) for searcher, state in zip(searchers, states, strict=True)]
        assert_same_result(*results, stats=False)
        walk_searcher(searchers[0], arrivals=False)
        for searcher, state in zip(searchers, states, strict=True):
            searcher.advance(results[0].action())
            state.apply(results[0].action())


def test_many_python_searches(python_tictactoe: Any) -> None:
    states = [pair_of_states(python_tictactoe, rf.make("tictactoe"), seed, 3)[0] for seed in range(4)]
    for evaluator in (Observing(1), None):
        together = searcher_of(states[0], evaluator, simulations=50, batch=3, threads=3).run_many(states)
        for state, result in zip(states, together, strict=True):
            assert_same_result(result, rf.search(state, evaluator, simulations=50, batch=3))


def test_rollouts_of_a_python_game(python_tictactoe: Any) -> None:
    state = python_tictactoe.initial_state()
    for action in (0, 3, 1, 4):
        state.apply(action)
    result = rf.search(state, rf.evaluators.Rollout(3), simulations=200)
    assert result.action() == 2
    assert result.value[0] > 0.5


# ---------- what authors may get wrong ----------


class Loose:
    """A state by protocol alone, without the checks of PythonState; ``wrong`` says which promise it breaks."""

    def __init__(self, wrong: str, turn: int = 0) -> None:
        self.wrong, self.turn, self.calls = wrong, turn, 0
        self.game = LooseGame()

    @property
    def acting(self) -> tuple[int, ...]:
        return (self.turn % 2,) if self.turn < 6 else ()

    is_over = property(lambda self: not self.acting)
    key = property(lambda self: "start" if self.wrong == "name" else self.turn + 1)

    def legal_actions(self, player: int) -> Any:
        self.calls += 1
        if self.wrong == "outside":
            return np.array([0, 4], np.int32)
        if self.wrong == "none":
            return np.zeros(0, np.int32)
        if self.wrong == "list":
            return [0, 1, 2]
        return np.arange(3, dtype=np.int32)

    def outcomes(self, player: int) -> Any:
        actions = self.legal_actions(player)
        index = np.arange(3, dtype=np.int32)
        if self.wrong == "index":
            index[1] = 77
        if self.wrong == "unmapped":
            index[1] = -1
        if self.wrong == "short":
            index = index[:2]
        if self.wrong == "fickle" and self.calls % 2 == 0:
            actions, index = actions[:1], np.zeros(3, np.int32)
        return actions, index

    def apply(self, *actions: int) -> Any:
        self.turn += 1
        if self.wrong == "sum":
            return 0.0
        return np.zeros(3 if self.wrong == "rewards" else 2, np.float32)

    def observation(self, player: int) -> Any:
        if self.wrong == "picture":
            return "O"
        return np.zeros(5 if self.wrong == "observation" else 1, np.float32)

    def copy(self) -> Loose:
        twin = Loose(self.wrong, self.turn)
        twin.calls = self.calls
        return twin


class LooseGame:
    """The game of Loose."""

    name, num_actions, observation_shape = "loose", 3, (1,)

    def initial_state(self, seed: int | None = None) -> Any:
        return Loose("", 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LooseGame)

    __hash__ = None  # type: ignore[assignment]


def test_a_state_by_protocol_alone_can_be_searched() -> None:
    result = rf.search(Loose(""), Observing(0), simulations=60, graph=True)  # type: ignore[arg-type]
    assert result.visits.sum() == 59
    assert result.stats["nodes"] == 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("outside", "not from 0 to num_actions - 1"),
        ("none", "acts but has no legal action"),
        ("index", "an index that is not an outcome"),
        ("unmapped", "legal action 1 has no outcome"),
        ("short", "one index per action"),
        ("fickle", "equal keys must have equal actions"),
        ("rewards", "two rewards"),
        ("observation", "wrong size"),
        ("list", r"outcomes\(\) must return a tuple of two int32 arrays"),
        ("sum", r"apply\(\) must return float32\[2\]"),
        ("name", "key must be a 64-bit whole number"),
        ("picture", r"observation\(\) must return float32"),
    ],
)
def test_broken_promises_are_named(wrong: str, message: str) -> None:
    state: Any = Loose(wrong)
    with pytest.raises(rf.InvalidInput, match=message):
        rf.search(state, Observing(0), simulations=60)


def test_more_actions_than_outcomes_can_be_numbered() -> None:
    class Wide(Paths):
        def __init__(self, branching: int) -> None:
            super().__init__(turns=1, branching=branching)

    assert rf.search(Wide(32_767).initial_state(), simulations=3).visits.sum() == 2
    with pytest.raises(rf.InvalidInput, match="at most 32767 actions, not 32768"):
        rf.search(Wide(32_768).initial_state(), simulations=3)


def test_a_search_and_its_game_are_collected_together() -> None:
    class Attached(Paths):
        searcher: Any = None

    game = Attached()
    game.searcher = rf.Searcher(game, HashEvaluator(0, False), rf.SearchConfig(simulations=20, batch=4))
    game.searcher.run(game.initial_state())  # the game knows the searcher, the search holds states of the game
    gone = weakref.ref(game)
    del game
    gc.collect()
    assert gone() is None


OPENSPIEL: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("openspiel:tic_tac_toe", {}, "tictactoe", {}),
    ("openspiel:connect_four", {}, "connect_four", {}),
    ("openspiel:hex", {"board_size": 4}, "hex", {"size": 4}),
    ("openspiel:goofspiel", {"num_cards": 4, "points_order": "descending", "players": 2}, "goofspiel", {"cards": 4}),
]


@pytest.mark.parametrize(("name", "params", "twin", "twin_params"), OPENSPIEL)
@pytest.mark.parametrize("settings", [{}, {"graph": True, "fpu": "parent"}, {"batch": 6}])
def test_openspiel_games_equal_the_native_ones(
    name: str, params: dict[str, Any], twin: str, twin_params: dict[str, Any], settings: dict[str, Any]
) -> None:
    pytest.importorskip("pyspiel")
    if "graph" in settings and twin == "hex":
        pytest.skip("the text of OpenSpiel's Hex does not tell positions apart, so its keys hold the way to them")
    uniform = rf.evaluators.Function(rf.evaluators.Uniform().evaluate)
    for seed in (0, 1):
        foreign, native = pair_of_states(rf.make(name, **params), rf.make(twin, **twin_params), seed, 2 * seed)
        results = [rf.search(state, uniform, simulations=80, **settings) for state in (foreign, native)]
        assert_same_result(*results, stats=False)


def test_openspiel_search_of_a_game_the_core_has_not() -> None:
    pytest.importorskip("pyspiel")
    game = rf.make("openspiel:breakthrough", rows=4, columns=4)
    state, rng = game.initial_state(seed=0), np.random.default_rng(0)
    for _ in range(2):
        play(state, rng)
    searcher = searcher_of(state, rf.evaluators.Rollout(1), simulations=80, graph=True)
    result = searcher.run(state)
    assert result.visits.sum() == 79
    walk_searcher(searcher)
