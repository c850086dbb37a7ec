"""Several leaves of one search, or many searches, in one evaluation: nothing is lost, doubled or left in flight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.batch import batch_of
from tests.engine.helpers import HashEvaluator, Recorder, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, walk
from tests.engine.stepping import Stepper
from tests.engine.tiny_games import Paths
from tests.engine.walking import walk_searcher

pytestmark = pytest.mark.core


def hashed(name: str, seed: int = 0) -> HashEvaluator:
    return HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS)


class Keeper:
    """Keeps what it was asked first."""

    first: rf.Batch | None = None

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        if self.first is None:
            self.first = rf.Batch(*(array.copy() for array in vars(batch).values()))
        return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))


@pytest.mark.parametrize("name", GAMES)
def test_a_batch_of_states_is_what_searches_ask(name: str) -> None:
    states, keeper = [walk(name, seed) for seed in range(6)], Keeper()
    searcher_of(states[0], keeper, simulations=1).run_many(states, list(range(6)))
    made = batch_of(states)
    for field, asked in vars(keeper.first).items():
        ours = getattr(made, field)
        assert (ours.dtype, ours.shape) == (asked.dtype, asked.shape)
        assert (ours == asked).all(), field


# ---------- one search ----------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("batch", [3, 16, 64])
@pytest.mark.parametrize("graph", [False, True])
def test_visits_add_up_and_nothing_stays_in_flight(name: str, batch: int, graph: bool) -> None:
    state = walk(name, 0)
    searcher = searcher_of(state, hashed(name), simulations=120, batch=batch, graph=graph)
    for run in (1, 2):
        result = searcher.run(state)
        assert result.visits.sum() == 120 * run - 1
        assert result.stats["simulations"] == 120
        found = walk_searcher(searcher)  # node visits = 1 + edge visits = arrivals, at every node
        assert len(found) == result.stats["nodes"]


@pytest.mark.parametrize("batch", [4, 16, 64])
@pytest.mark.parametrize("name", ["tictactoe", "hex", "pyrat", "paths"])
def test_a_leaf_is_evaluated_once(batch: int, name: str) -> None:
    # In a graph a key is a node; where the key holds the whole way, it is one in a tree as well.
    state = Paths().initial_state() if name == "paths" else walk(name, 0)
    recorder = Recorder(HashEvaluator(0, zero_sum=False))
    searcher = searcher_of(state, recorder, simulations=300, batch=batch, graph=name != "paths", max_in_flight=1.0)
    result = searcher.run(state)
    assert max(recorder.rows) > 1
    evaluated = np.concatenate(recorder.batches)
    assert len(np.unique(evaluated)) == len(evaluated) == result.stats["evaluations"]
    assert result.stats["nodes"] == len(evaluated)


def test_collisions_happen_and_leave_no_trace() -> None:
    state = tictactoe(0, 4, 8)
    searcher = searcher_of(state, HashEvaluator(0), simulations=150, batch=64, max_in_flight=1.0)
    result = searcher.run(state)
    assert result.stats["collisions"] > 10
    assert result.stats["simulations"] == 150  # collisions do not count
    assert result.visits.sum() == 149
    walk_searcher(searcher)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("batch", [8, 50])
def test_leaves_in_flight_are_bounded(share: float, batch: int) -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, None, simulations=300, batch=batch, max_in_flight=share)
    bounds: list[tuple[int, float]] = []

    class Watching(HashEvaluator):
        def evaluate(self, given: Any) -> Any:
            assert searcher._search is not None
            before = searcher._search.report([])["visits"] - len(given) if bounds else 0
            bounds.append((len(given), before * share))
            return super().evaluate(given)

    searcher = searcher_of(state, Watching(0), simulations=300, batch=batch, max_in_flight=share)
    searcher.run(state)
    assert all(rows <= max(1, bound) and rows <= batch for rows, bound in bounds)
    if share * 300 > 2:
        assert max(rows for rows, _ in bounds) > 1


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("graph", [False, True])
def test_batch_of_one_is_step_by_step(name: str, graph: bool) -> None:
    state = walk(name, 1)
    config = rf.SearchConfig(simulations=150, graph=graph)
    stepper = Stepper(state, hashed(name), config)
    for _ in range(150):
        stepper.simulate()
    report, result = stepper.report(), rf.Searcher(state.game, hashed(name), config).run(state)
    np.testing.assert_array_equal(result.visits, report["edge_visits"])
    np.testing.assert_array_equal(result.value, report["value"])
    np.testing.assert_array_equal(result.payoffs, report["payoffs"])
    native = rf.search(state, rf.evaluators.Uniform(), simulations=150, graph=graph)
    python = rf.search(state, rf.evaluators.Function(rf.evaluators.Uniform().evaluate), simulations=150, graph=graph)
    if "pyrat" not in name:  # where actions merge, uniform over outcomes is not uniform over actions
        assert_same_result(native, python, stats=False)
        other = {
            "seconds": 0,
            "backend": "",
            "bytes": 0,
        }  # leaves of the core have no words at first
        assert {**native.stats, **other} == {**python.stats, **other}


def test_a_batch_that_fails_is_taken_back() -> None:
    class Failing(HashEvaluator):
        calls = 0

        def evaluate(self, batch: Any) -> Any:
            self.calls += 1
            answer = super().evaluate(batch)
            if self.calls % 5 == 0:
                answer.values[len(batch) // 2, 1] = np.nan
            return answer

    for graph in (False, True):
        state = walk("hex", 2)
        searcher = searcher_of(state, Failing(0), simulations=200, batch=16, graph=graph)
        failures = 0
        for _ in range(8):
            try:
                searcher.run(state)
            except rf.EvaluatorError:
                failures += 1
            walk_searcher(searcher)
        assert failures > 3


# ---------- many searches ----------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (1, 2), (4, 1), (16, 3)])
def test_many_searches_equal_single_ones(name: str, batch: int, threads: int) -> None:
    states = [walk(name, seed) for seed in range(5)]
    if name == "chess":
        states = states[:3]
    settings: dict[str, Any] = {"simulations": 60, "batch": batch, "noise_fraction": 0.25, "graph": batch == 4}
    together = searcher_of(states[0], hashed(name), threads=threads, **settings).run_many(states)
    one_by_one = searcher_of(states[0], hashed(name), **settings)
    for state, result in zip(states, together, strict=True):
        one_by_one.reset()
        assert_same_result(result, one_by_one.run(state))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_native_searches_equal_single_ones(threads: int) -> None:
    for evaluator in (None, rf.evaluators.Rollout(1)):
        states = [walk("hex", seed) for seed in range(7)]
        together = searcher_of(states[0], evaluator, simulations=700, threads=threads).run_many(states)
        for state, result in zip(states, together, strict=True):
            assert_same_result(result, rf.search(state, evaluator, simulations=700))


def test_rows_of_all_searches_share_one_batch() -> None:
    recorder = Recorder(HashEvaluator(0))
    states = [walk("connect_four", seed) for seed in range(9)]
    searcher_of(states[0], recorder, simulations=40, batch=3, max_in_flight=1.0).run_many(states)
    assert recorder.rows[0] == 9  # the roots
    assert max(recorder.rows) == 27
    assert len(recorder.batches) < 40


def test_many_is_none() -> None:
    searcher = searcher_of(tictactoe(), simulations=10)
    assert searcher.run_many([]) == []


def test_results_of_many_can_be_looked_at() -> None:
    states = [tictactoe(), tictactoe(4)]
    searcher = searcher_of(states[0], HashEvaluator(0), simulations=30)
    results = searcher.run_many(states)
    searcher.run_many(states)
    for result in results:  # each has a graph of its own, which nobody moves on
        assert len(result.tree(depth=1).splitlines()) > 2


def test_one_bad_row_fails_them_all_and_the_searcher_lives_on() -> None:
    class Poisoned(HashEvaluator):
        poisoned = True

        def evaluate(self, batch: Any) -> Any:
            answer = super().evaluate(batch)
            if self.poisoned and len(batch) > 5:
                answer.logits[5, :, :] = np.inf
            return answer

    evaluator = Poisoned(0)
    states = [walk("hex", seed) for seed in range(6)]
    searcher = searcher_of(states[0], evaluator, simulations=30, batch=4, threads=2)
    with pytest.raises(rf.EvaluatorError, match=r"row 5: a logit of a legal action of player \d is not finite"):
        searcher.run_many(states)
    evaluator.poisoned = False
    for state, result in zip(states, searcher.run_many(states), strict=True):
        assert_same_result(result, rf.search(state, HashEvaluator(0), simulations=30, batch=4))


# ---------- what a pending edge counts as ----------


def scores_by_hand(report: dict[str, Any], player: int, urgency: float | None, twice: bool = False) -> Any:
    """score = q + 1.5 * P * sqrt(N) / (1 + M), with q on the scale of minmax, which two edges with values show.

    What has no value counts as the urgency: 0 on that scale if None, else in plain units. ``twice``: on that scale of
    that scale, where a visit is under way.
    """
    visits = report["edge_visits"].ravel()
    values = report["payoffs"][player].ravel()  # nan where pending or untried
    explore = 1.5 * report["priors"][player] * np.sqrt(report["visits"]) / (1 + visits)
    scaled = report["scores"][player] - explore
    low, high = np.nanargmin(values), np.nanargmax(values)
    width = (values[high] - values[low]) / (scaled[high] - scaled[low])
    least = values[low] - scaled[low] * width
    first = 0.0 if urgency is None else (urgency - least) / width
    pending = (first - least) / width if twice else first
    return np.where(np.isnan(values), np.where(visits > 0, pending, first), (values - least) / width) + explore


@pytest.mark.parametrize("fpu", ["zero", "parent"])
@pytest.mark.parametrize("name", ["hex", "connect_four", "tictactoe"])
def test_a_pending_edge_counts_as_the_urgency_on_the_normalised_scale(name: str, fpu: str) -> None:
    told_apart = 0
    for seed in range(12):
        state = walk(name, seed)
        player = state.acting[0]
        config = rf.SearchConfig(normalize="minmax", fpu=fpu, fpu_offset=0.1, c_puct=1.5, max_in_flight=1.0)
        engine = Stepper(state, HashEvaluator(seed), config)
        for _ in range(8):
            engine.simulate()
        for rows in range(1, 6):
            report = engine.report()
            if np.isfinite(report["payoffs"][player]).sum() < 2 or len(engine.collect(rows)) != 1:
                break
            if engine.search.stats["collisions"]:
                break  # the leaf was found by a second descent, with the visits of the first under way
            urgency = None if fpu == "zero" else float(report["value"][player]) - 0.1
            scores = scores_by_hand(report, player, urgency)
            chosen = report["outcomes"][player].tolist().index(engine.search.last_path[0][player])
            assert scores[chosen] == pytest.approx(scores.max(), abs=1e-4)
            told_apart += chosen != scores_by_hand(report, player, urgency, twice=True).argmax()
        engine.search.cancel()
    assert told_apart
