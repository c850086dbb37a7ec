"""A cache changes nothing but how often the evaluator inside is asked."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ramify as rf
from ramify.engine.batch import batch_of
from ramify.evaluators import Cached, Function
from tests.engine.helpers import HashEvaluator, Observing, assert_same_result
from tests.evaluators.helpers import Counting, some_states


def same_where_legal(one: rf.Evaluation, other: rf.Evaluation, batch: rf.Batch) -> None:
    logits = np.asarray(other.logits)
    logits = np.repeat(logits[:, None], 2, axis=1) if logits.ndim == 2 else logits
    np.testing.assert_array_equal(np.asarray(one.logits)[batch.legal], logits[batch.legal])


@pytest.mark.parametrize("name", ["hex", "pyrat", "connect_four", "chess"])
def test_answers_are_those_of_the_evaluator_inside(name: str) -> None:
    game = rf.make(name)
    states = some_states(game, 12)
    inner = Counting(HashEvaluator() if game.simultaneous else Observing())
    cached = Cached(inner)
    for rows in ([0, 1, 2], [2, 1, 3, 3, 0], [4], [4, 3], [5, 6, 7, 8, 9, 10, 11], list(range(12))):
        batch = batch_of([states[row] for row in rows])
        same_where_legal(cached.evaluate(batch), inner.inner.evaluate(batch), batch)
        again = cached.evaluate(batch)
        same_where_legal(again, inner.inner.evaluate(batch), batch)
        values = np.asarray(inner.inner.evaluate(batch).values)
        if values.ndim == 1:
            values = np.where(batch.acting, values[:, None], -values[:, None])
        np.testing.assert_array_equal(again.values, values)
    assert inner.rows == [3, 1, 1, 7]  # only what is new
    assert (cached.misses, cached.hits) == (12, 2 * 30 - 12)
    assert cached.hit_rate == pytest.approx(48 / 60)
    assert len(cached) == 12


@pytest.mark.parametrize(("name", "settings"), [("connect_four", {"graph": True, "canonical": True}), ("hex", {})])
def test_a_search_finds_the_same(name: str, settings: dict[str, bool]) -> None:
    state = rf.make(name).initial_state()
    plain = rf.search(state, Observing(), simulations=150, batch=8, **settings)
    cached = Cached(Observing())
    for _ in range(2):
        assert_same_result(rf.search(state, cached, simulations=150, batch=8, **settings), plain)
    assert cached.hits >= cached.misses  # the second search evaluates nothing


def test_the_least_recently_used_goes_first() -> None:
    states = some_states(rf.make("hex", size=5), 5)
    inner = Counting(Observing())
    cached = Cached(inner, capacity=3)
    for rows in ([0, 1, 2], [0], [3, 4]):  # 1 and 2 are the oldest
        cached.evaluate(batch_of([states[row] for row in rows]))
        assert len(cached) <= 3
    before = list(inner.rows)
    cached.evaluate(batch_of([states[0], states[3], states[4]]))
    assert inner.rows == before
    cached.evaluate(batch_of([states[1]]))
    assert inner.rows == [*before, 1]


def test_a_batch_larger_than_the_cache_is_answered() -> None:
    batch = batch_of(some_states(rf.make("hex", size=5), 9))
    cached = Cached(Observing(), capacity=4)
    same_where_legal(cached.evaluate(batch), Observing().evaluate(batch), batch)
    assert len(cached) == 4


def test_new_weights_empty_the_cache() -> None:
    batch = batch_of(some_states(rf.make("hex", size=5), 4))
    inner = Counting(Observing(0))
    cached = Cached(inner)
    cached.evaluate(batch)
    inner.inner, inner.version = Observing(1), 1
    same_where_legal(cached.evaluate(batch), Observing(1).evaluate(batch), batch)
    cached.clear()
    assert len(cached) == cached.hits == cached.misses == 0


def test_answers_given_while_weights_change_are_not_kept() -> None:
    class Changing(Counting):
        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            self.version += 1
            return super().evaluate(batch)

    batch = batch_of(some_states(rf.make("hex", size=5), 4))
    cached = Cached(Changing(Observing()))
    cached.evaluate(batch)
    assert len(cached) == 0


def test_a_key_shared_by_two_positions_is_not_trusted() -> None:
    one, other = some_states(rf.make("hex", size=5), 2)
    other.apply(int(other.legal_actions()[0]))
    while len(one.legal_actions()) == len(other.legal_actions()):
        other.apply(int(other.legal_actions()[0]))
    first, second = batch_of([one]), batch_of([other])
    second = rf.Batch(second.observations, second.legal, second.acting, first.keys)
    cached = Cached(Observing())
    cached.evaluate(first)
    same_where_legal(cached.evaluate(second), Observing().evaluate(second), second)


def test_bad_answers_are_reported_by_the_search_and_not_kept() -> None:
    def bad(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(batch), 25), np.float32), np.full(len(batch), np.nan, np.float32)

    cached = Cached(Function(bad))
    for _ in range(2):
        with pytest.raises(rf.EvaluatorError, match="row 0"):
            rf.search(rf.make("hex", size=5).initial_state(), cached, simulations=4)
    assert len(cached) == 0


def test_what_an_evaluator_says_of_illegal_actions_does_not_matter() -> None:
    batch = batch_of(some_states(rf.make("hex", size=5), 4))

    def masked(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
        return np.where(batch.legal, 1.0, -np.inf), np.zeros((len(batch), 2))

    cached = Cached(Function(masked))
    cached.evaluate(batch)
    assert len(cached) == 4
    assert np.isfinite(cached.evaluate(batch).logits).all()


def test_threads_share_a_cache() -> None:
    states = some_states(rf.make("hex", size=5), 40)
    expected = Observing().evaluate(batch_of(states))
    cached = Cached(Observing(), capacity=16)
    problems: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            rows = rng.integers(len(states), size=7)
            batch = batch_of([states[row] for row in rows])
            found = cached.evaluate(batch)
            for place, row in enumerate(rows):
                if not np.array_equal(np.abs(found.values[place]), np.abs([expected.values[row]] * 2)):
                    problems.append(f"row {row}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(cached) <= 16
    assert cached.hits + cached.misses == 4 * 60 * 7


def test_what_cannot_be_asked_cannot_be_cached() -> None:
    with pytest.raises(TypeError, match="Rollout cannot be wrapped"):
        Cached(rf.evaluators.Rollout())
    with pytest.raises(ValueError, match="capacity must be at least 1"):
        Cached(Observing(), capacity=0)
