"""Search in batches equals its plain-Python reference: the leaves of every batch, visits, values and collisions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from tests.engine.helpers import HashEvaluator, Recorder, assert_same_result, searcher_of
from tests.engine.positions import play
from tests.engine.walking import walk_searcher
from tests.reference import batched
from tests.reference.config import Config

pytestmark = pytest.mark.core

SIMULATIONS = 90
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tictactoe": ("tictactoe", {}),
    "connect_four": ("connect_four", {}),
    "hex": ("hex", {"size": 5}),
    "pyrat": ("pyrat", {"preset": "tiny"}),
    "goofspiel": ("goofspiel", {"cards": 5, "returns": "difference"}),
}
IN_TURN = ["tictactoe", "connect_four", "hex"]
# Each changes what a batch sees: shared nodes, the urgency of edges in flight, the scale of values and of losses.
SETTINGS: list[dict[str, Any]] = [
    {"graph": True},
    {"graph": True, "fpu": "parent", "normalize": "minmax"},
    {"fpu": "reduction", "fpu_offset": 0.3, "c_base": 20.0},
    {"normalize": "minmax", "discount": 0.9, "parent_visits": "edges", "c_puct": 2.0},
]


class Remembering(HashEvaluator):
    """Evaluates a position once for all cases: the reference would spend much of its time on it."""

    def __init__(self, seed: int, zero_sum: bool) -> None:
        super().__init__(seed, zero_sum)
        self.known: dict[int, Any] = {}

    def __call__(self, state: Any) -> Any:
        if state.key not in self.known:
            self.known[state.key] = super().__call__(state)
        return self.known[state.key]


EVALUATORS = {name: Remembering(7, zero_sum=name in IN_TURN) for name in GAMES}


def position(name: str, turns: int = 1, seed: int = 1) -> rf.State:
    """A position a few random turns into the game."""
    game, parameters = GAMES[name]
    state = rf.make(game, **parameters).initial_state(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(turns):
        play(state, rng)
    return state


def reference_of(state: rf.State, name: str, batches: batched.Batches, settings: dict[str, Any]) -> batched.Search:
    config = Config(**settings, priors_from_logits=_core.softmax)
    return batched.Search(state, EVALUATORS[name], config, batches)


def assert_equal(result: rf.SearchResult, slow: batched.Search) -> None:
    np.testing.assert_array_equal(result.visits, slow.visits)
    np.testing.assert_allclose(result.value, slow.value, rtol=0, atol=1e-6)
    for player in (0, 1):
        np.testing.assert_allclose(result.q[player], slow.q[player], rtol=0, atol=1e-6)
    for count in ("simulations", "collisions", "terminals"):
        assert result.stats[count] == getattr(slow, count), count


def compare(state: rf.State, name: str, batches: batched.Batches, settings: dict[str, Any]) -> batched.Search:
    recorder = Recorder(EVALUATORS[name])
    result = rf.search(state, recorder, simulations=SIMULATIONS, **vars(batches), **settings)
    slow = reference_of(state, name, batches, settings)
    slow.run(SIMULATIONS)
    assert [keys.tolist() for keys in recorder.batches] == slow.rows
    assert_equal(result, slow)
    return slow


@pytest.mark.parametrize("max_in_flight", [0.25, 1.0])
@pytest.mark.parametrize("in_flight", [1, 2, 3])
@pytest.mark.parametrize("batch", [2, 4, 16])
@pytest.mark.parametrize("name", GAMES)
def test_batches_equal_the_reference(name: str, batch: int, in_flight: int, max_in_flight: float) -> None:
    fpu = "parent" if (batch // 2 + in_flight) % 2 else "zero"
    slow = compare(position(name), name, batched.Batches(batch, in_flight, max_in_flight), {"fpu": fpu})
    assert max(map(len, slow.rows)) > 1


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_batches_with_other_settings_equal_the_reference(name: str, settings: dict[str, Any]) -> None:
    for batches in (batched.Batches(16, 1, 1.0), batched.Batches(8, 2, 0.25)):
        compare(position(name, turns=0, seed=2), name, batches, settings)


@pytest.mark.parametrize("in_flight", [1, 2])
def test_near_the_end_a_batch_is_mostly_finished_games_and_collisions(in_flight: int) -> None:
    slow = compare(position("tictactoe", turns=5, seed=3), "tictactoe", batched.Batches(16, in_flight, 1.0), {})
    assert slow.terminals > SIMULATIONS // 2
    assert slow.collisions > sum(map(len, slow.rows)) // 2


def test_a_batch_ends_after_many_collisions_in_a_row() -> None:
    # Without exploration, nothing leads away from the first action that is worth less than an untried one.
    slow = compare(position("hex"), "hex", batched.Batches(64, 1, 1.0), {"c_puct": 0.0})
    assert slow.collisions > batched.COLLISIONS_IN_A_ROW * 10
    assert max(map(len, slow.rows)) < 32


def test_a_second_run_continues_as_the_reference_does() -> None:
    state, batches = position("connect_four"), batched.Batches(4, 2)
    slow = reference_of(state, "connect_four", batches, {})
    searcher = searcher_of(state, EVALUATORS["connect_four"], simulations=60, **vars(batches))
    first = searcher.run(state)
    slow.run(60)
    np.testing.assert_array_equal(first.visits, slow.visits)
    second = searcher.run(state)
    slow.run(120)
    np.testing.assert_array_equal(second.visits, slow.visits)
    np.testing.assert_allclose(second.value, slow.value, rtol=0, atol=1e-6)


class Worthless(HashEvaluator):
    """Priors as they are, and 0 for the value of every position."""

    def evaluate(self, batch: Any) -> Any:
        answer = super().evaluate(batch)
        return rf.Evaluation(answer.logits, np.zeros_like(answer.values))


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("in_flight", [1, 2])
def test_losses_by_collisions_are_gone_when_the_batch_is_collected(in_flight: int, graph: bool) -> None:
    # The only cheese is too far away to be found: whatever is not 0 is a loss that stayed.
    game = rf.make("pyrat", width=11, height=11, cheese=1, wall_density=0.0, mud_density=0.0)
    state = game.initial_state(seed=0)
    searcher = searcher_of(
        state, Worthless(0), simulations=400, batch=64, in_flight=in_flight, max_in_flight=1.0, c_puct=1.0, graph=graph
    )
    result = searcher.run(state)
    assert result.stats["collisions"] > 20
    assert result.stats["terminals"] == 0
    for report in walk_searcher(searcher).nodes.values():
        assert not report["value"].any()


# ---------- what must not matter ----------


@cache
def finished_reference(name: str, batches: batched.Batches, seed: int = 1) -> batched.Search:
    slow = reference_of(position(name, seed=seed), name, batches, {})
    slow.run(SIMULATIONS)
    return slow


class OneRow(HashEvaluator):
    """The same evaluations, for the acting player alone: one row of logits and one value per position."""

    def evaluate(self, batch: Any) -> Any:
        both, player = super().evaluate(batch), batch.acting[:, 1].astype(int)
        rows = np.arange(len(player))
        return rf.Evaluation(both.logits[rows, player], both.values[rows, player])


@pytest.mark.parametrize("in_flight", [1, 2, 3])
@pytest.mark.parametrize("name", IN_TURN)
def test_one_row_per_position_is_as_good_as_two(name: str, in_flight: int) -> None:
    batches = batched.Batches(16, in_flight)
    state, settings = position(name), {"simulations": SIMULATIONS, **vars(batches)}
    one = rf.search(state, OneRow(7), **settings)
    assert_same_result(one, rf.search(state, EVALUATORS[name], **settings))
    assert_equal(one, finished_reference(name, batches))


@pytest.mark.parametrize("in_flight", [1, 2, 3])
@pytest.mark.parametrize("name", GAMES)
def test_cached_leaves_keep_their_places_in_batches(name: str, in_flight: int) -> None:
    batches = batched.Batches(16, in_flight)
    state, slow = position(name), finished_reference(name, batches)
    searcher = searcher_of(state, EVALUATORS[name], simulations=SIMULATIONS, cache=4096, **vars(batches))
    for run in (1, 2):  # the second finds everything but the root in the cache
        result = searcher.run(state)
        assert_equal(result, slow)
        assert run == 1 or result.stats["evaluations"] == 1
        searcher.reset()


@pytest.mark.parametrize("name", GAMES)
def test_many_searches_with_batches_in_flight_equal_the_reference(name: str) -> None:
    batches, states = batched.Batches(4, 2), [position(name, seed=seed) for seed in range(2)]
    settings = {"simulations": SIMULATIONS, **vars(batches)}
    together = searcher_of(states[0], EVALUATORS[name], **settings).run_many(states, [0, 0])
    for seed, (state, result) in enumerate(zip(states, together, strict=True)):
        assert_same_result(result, rf.search(state, EVALUATORS[name], **settings))
        assert_equal(result, finished_reference(name, batches, seed))
