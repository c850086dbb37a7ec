"""The cache of evaluations in the core changes nothing but how many rows the evaluator is given."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.engine import EvaluationCache
from ramify.selfplay import PlayConfig, SelfPlay
from tests.engine.helpers import HashEvaluator, Observing, Recorder, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import GAMES, SIMULTANEOUS, play, walk
from tests.engine.random_games import RandomGame
from tests.engine.test_latent import RulesModel

SETTINGS: list[dict[str, Any]] = [
    {},
    {"batch": 8, "max_in_flight": 1.0},
    {"batch": 5, "graph": True, "canonical": True, "fpu": "parent"},
    {"selection": "gumbel"},
    {"selection": "regret", "batch": 4},
    {"solver": True, "batch": 3},
    {"noise_fraction": 0.3, "forced_playouts": 2.0, "normalize": "minmax", "batch": 6},
    {"batch": 4, "in_flight": 3, "max_in_flight": 1.0},
    {"batch": 1, "in_flight": 2, "stop_early": True},
]


def rows_of(recorder: Recorder) -> int:
    return sum(recorder.rows)


@pytest.mark.core
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_results_are_the_same_bit_for_bit(name: str, settings: dict[str, Any]) -> None:
    state, evaluator = walk(name, 1), HashEvaluator(1, zero_sum=name not in SIMULTANEOUS)
    plain = searcher_of(state, evaluator, simulations=120, **settings).run(state)
    counted = Recorder(evaluator)
    cold = searcher_of(state, counted, simulations=120, cache=5000, **settings)
    assert_same_result(cold.run(state), plain, stats=False)
    cold.reset()
    asked = rows_of(counted)
    cold._runs = 0  # the noise of a second run differs
    warm = cold.run(state)
    assert_same_result(warm, plain, stats=False)
    assert warm.stats["simulations"] == plain.stats["simulations"]
    assert rows_of(counted) == asked + 1  # the root alone
    assert warm.stats["evaluations"] == 1
    assert warm.stats["cache_misses"] == 0
    assert warm.stats["cache_hits"] == plain.stats["evaluations"] - 1
    assert plain.stats["cache_hits"] == plain.stats["cache_misses"] == 0


@pytest.mark.core
@pytest.mark.parametrize("name", ["hex", "connect_four", pytest.param("chess", marks=pytest.mark.slow)])
def test_a_small_cache_changes_nothing_either(name: str) -> None:
    state, evaluator = walk(name, 3), Observing()
    plain = searcher_of(state, evaluator, simulations=100, batch=4).run(state)
    for capacity in (1, 7, 50):
        searcher = searcher_of(state, evaluator, simulations=100, batch=4, cache=capacity)
        for _ in range(2):
            searcher.reset()
            result = searcher.run(state)
            assert_same_result(result, plain, stats=False)
            assert result.stats["cache_hits"] + result.stats["evaluations"] == plain.stats["evaluations"]


@pytest.mark.core
def test_what_is_seen_depends_on_the_key_alone() -> None:
    """A cache by ``key`` is right only if equal keys have equal observations and legal actions."""
    for name, count in (*((name, 40) for name in GAMES), ("chess", 300)):
        seen: dict[int, Any] = {}
        rng = np.random.default_rng(5)
        for seed in range(count):
            state = walk(name, seed % 3)
            for _ in range(12):
                if state.is_over:
                    break
                viewer = state.acting[0]
                now = [state.acting, state.observation(viewer).tobytes()]
                now += [state.legal_actions(player).tolist() for player in state.acting]
                assert seen.setdefault(state.key, now) == now, f"{name}, seed {seed}"
                play(state, rng)


@pytest.mark.core
def test_a_repeated_chess_position_is_another_one() -> None:
    state = rf.make("chess").initial_state()
    met = []
    for move in ("g1f3", "g8f6", "f3g1", "f6g8"):
        met.append((state.key, state.observation(0).tobytes()))
        state.apply(move)
    assert state.observation(0).tobytes() != met[0][1]  # the position has occurred before, and the clock is 4
    assert state.key not in [key for key, _ in met]


@pytest.mark.core
def test_it_is_bounded_and_forgets_what_is_used_least() -> None:
    cache_of = rf.make("hex", size=5)
    evaluator = Observing()
    cache = EvaluationCache(evaluator, 50)
    states = [cache_of.state(text) for text in ("", "a1", "b2", "c3 a1", "e5 a2 b3")]
    for state in states:
        rf.Searcher(cache_of, evaluator, rf.SearchConfig(simulations=100), cache=cache).run(state)
        assert len(cache) <= cache.capacity == 50
    assert len(cache) > 40
    assert cache.bytes < 50 * (100 + 2 * 25)
    cache.clear()
    assert len(cache) == 0

    cache = EvaluationCache(evaluator, 4)  # a single set: two searches of a root and one child each fill it

    def hits(state: rf.State) -> int:
        searcher = rf.Searcher(cache_of, evaluator, rf.SearchConfig(simulations=2), cache=cache)
        return int(searcher.run(state).stats["cache_hits"])

    first, second, third = states[2:]
    assert [hits(state) for state in (first, second, first, third, first, second)] == [0, 0, 1, 0, 1, 0]


@pytest.mark.core
def test_roots_are_stored_as_any_other_position() -> None:
    """A root with noise, or with some of its actions, must not spoil the evaluation of its position."""
    state, evaluator = tictactoe(), HashEvaluator(2)
    after = state.after(4)
    plain = searcher_of(state, evaluator, simulations=150).run(state)
    for more, kept in (({"actions": [0, 8]}, False), ({}, True)):
        cache = EvaluationCache(evaluator, 1000)
        noisy = rf.SearchConfig(simulations=1, noise_fraction=1.0, root_temperature=2.0)
        rf.Searcher(state.game, evaluator, noisy, cache=cache).run(after, **more)  # type: ignore[arg-type]
        assert len(cache) == kept
        result = rf.Searcher(state.game, evaluator, rf.SearchConfig(simulations=150), cache=cache).run(state)
        assert_same_result(result, plain, stats=False)


class Weights:
    """An evaluator whose weights are a seed."""

    def __init__(self) -> None:
        self.version = 0
        self.during: Any = None  # called during an evaluation

    def evaluate(self, batch: rf.Batch) -> Any:
        if self.during is not None:
            self.during()
        return HashEvaluator(self.version).evaluate(batch)


@pytest.mark.core
def test_new_weights_empty_it() -> None:
    state, evaluator = tictactoe(), Weights()
    searcher = searcher_of(state, evaluator, simulations=100, cache=1000)
    searcher.run(state)
    evaluator.version = 1
    searcher.reset()
    result = searcher.run(state)
    assert result.stats["cache_hits"] < 100  # transpositions of this search
    assert_same_result(result, searcher_of(state, HashEvaluator(1), simulations=100).run(state), stats=False)


@pytest.mark.core
def test_evaluations_during_which_weights_change_are_not_stored() -> None:
    state, evaluator = tictactoe(), Weights()
    cache = EvaluationCache(evaluator, 1000)
    searcher = rf.Searcher(state.game, evaluator, rf.SearchConfig(simulations=10), cache=cache)

    def change() -> None:
        evaluator.version += 1

    evaluator.during = change
    searcher.run(state)
    assert len(cache) == 0
    evaluator.during = None
    searcher.run(state)
    assert len(cache) > 0


@pytest.mark.core
def test_bad_evaluations_are_not_stored() -> None:
    class Bad:
        good = 3

        def evaluate(self, batch: rf.Batch) -> Any:
            self.good -= 1
            values = np.full((len(batch), 2), 0.0 if self.good > 0 else np.nan, np.float32)
            return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), values)

    evaluator = Bad()
    cache = EvaluationCache(evaluator, 100)
    state = tictactoe()
    searcher = rf.Searcher(state.game, evaluator, rf.SearchConfig(simulations=50), cache=cache)
    for _ in range(2):
        with pytest.raises(rf.EvaluatorError, match="not finite"):
            searcher.run(state)
    assert len(cache) == 2


def test_limits_count_rows() -> None:
    state = tictactoe()
    evaluator = Recorder(HashEvaluator())
    searcher = searcher_of(state, evaluator, simulations=400, max_evaluations=100, cache=10_000)
    first = searcher.run(state)
    assert first.stats["evaluations"] == rows_of(evaluator) == 100
    searcher.reset()
    second = searcher.run(state)
    assert second.stats["evaluations"] <= 100
    assert second.stats["simulations"] > first.stats["simulations"]


@pytest.mark.core
def test_run_many_and_searchers_share_it() -> None:
    game = rf.make("connect_four")
    states = [walk("connect_four", seed) for seed in range(6)]
    plain = rf.Searcher(game, HashEvaluator(), rf.SearchConfig(simulations=60)).run_many(states, range(6))
    evaluator = HashEvaluator()
    cache = EvaluationCache(evaluator, 10_000)
    config = rf.SearchConfig(simulations=60, threads=2)
    for turn in range(2):
        found = rf.Searcher(game, evaluator, config, cache=cache).run_many(states, range(6))
        for one, other in zip(found, plain, strict=True):
            assert_same_result(one, other, stats=False)
        assert turn == 0 or sum(result.stats["evaluations"] for result in found) == 6
    with pytest.raises(ValueError, match="a cache of this searcher's evaluator"):
        rf.Searcher(game, HashEvaluator(), config, cache=cache)


@pytest.mark.core
def test_threads_share_it() -> None:
    game, evaluator = rf.make("connect_four"), HashEvaluator()
    cache = EvaluationCache(evaluator, 64)  # small: entries are replaced all the time
    states = [walk("connect_four", seed) for seed in range(8)]
    config = rf.SearchConfig(simulations=80, batch=4)
    expected = [rf.Searcher(game, evaluator, config).run(state) for state in states]
    wrong: list[int] = []

    def work(first: int) -> None:
        for i in range(8):
            place = (first + i) % 8
            found = rf.Searcher(game, evaluator, config, cache=cache).run(states[place])
            if not np.array_equal(found.visits, expected[place].visits):
                wrong.append(place)
            if i % 3 == 2:
                cache.clear()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache) <= 64
    many = rf.Searcher(game, evaluator, config.replace(threads=4, simulations=2000), cache=cache).run(states[0])
    assert many.visits.sum() == 1999
    assert many.stats["cache_hits"] + many.stats["cache_misses"] + 1 >= many.stats["evaluations"]


@pytest.mark.core
@pytest.mark.parametrize("settings", [{}, {"batch": 4, "max_in_flight": 1.0}, {"graph": True, "batch": 2}])
@pytest.mark.parametrize("game", ["hex", "goofspiel", "python"])
def test_self_play_plays_the_same_games(game: str, settings: dict[str, Any]) -> None:
    made: Any = RandomGame("mixed", 3) if game == "python" else rf.make(*GAMES[game][:1], **GAMES[game][1])

    def games(cache: int, threads: int = 1) -> tuple[list[bytes], dict[str, int]]:
        config = rf.SearchConfig(simulations=30, noise_fraction=0.25, cache=cache, **settings)
        player = SelfPlay(
            made, HashEvaluator(4), config, PlayConfig(max_moves=12), games=6, parallel_games=5, threads=threads, seed=3
        )
        return sorted(record for found in player for record in found), player.counts

    plain, without = games(0)
    for cache, threads in ((5000, 1), (5000, 3), (20, 2)):
        cached, counts = games(cache, threads)
        assert cached == plain
        assert counts["simulations"] == without["simulations"]
        assert counts["evaluations"] + counts["cache_hits"] == without["evaluations"]
        assert counts["cache_hits"] > 0
    assert without["cache_hits"] == without["cache_misses"] == 0


@pytest.mark.core
def test_self_play_follows_new_weights() -> None:
    evaluator = Weights()
    config = rf.SearchConfig(simulations=20, cache=10_000)
    player = SelfPlay(rf.make("tictactoe"), evaluator, config, games=60, parallel_games=4, seed=1)
    full = 0
    for count, _ in enumerate(player):
        assert player.cache is not None
        if count % 25 == 24:
            full = max(full, len(player.cache))
            evaluator.version += 1
            player.cache.follow()
            assert len(player.cache) == 0
    assert full > 10


@pytest.mark.core
def test_where_it_does_not_apply() -> None:
    state, evaluator = walk("connect_four", 2), HashEvaluator(3)
    model = RulesModel(state.game, evaluator, "alternating").roots(state)
    config = rf.SearchConfig(simulations=40, cache=100)
    assert rf.Searcher(model, None, config).run(state).stats["cache_hits"] == 0
    assert rf.Searcher(state.game, rf.evaluators.Rollout(), config).run(state).stats["cache_hits"] == 0
    latent = _core.make_latent_search(7, "alternating", 1, [], [], config.model_dump())
    with pytest.raises(rf.InvalidInput, match="latent model have no keys"):
        latent.use_cache(_core.EvaluationCache(10))


@pytest.mark.parametrize("capacity", [0, -1, 2**40, True, 1.5])
def test_impossible_capacities_are_named(capacity: Any) -> None:
    with pytest.raises(ValueError, match="capacity must be"):
        EvaluationCache(HashEvaluator(), capacity)
    with pytest.raises(ValueError, match=r"capacity of a cache|cache"):
        rf.SearchConfig(cache=capacity if capacity else -1)
