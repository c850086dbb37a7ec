"""Nothing is kept that nobody needs: memory is flat over thousands of searches, whatever ends them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, searcher_of, tictactoe
from tests.engine.positions import walk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's size from /proc"),
]

MIB = 1 << 20


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(work: Callable[[], None], warm: int, times: int) -> int:
    """By how many bytes the process grows over ``times`` calls, after some to warm up."""
    for _ in range(warm):
        work()
    before = resident()
    for _ in range(times):
        work()
    return resident() - before


class Interrupting(HashEvaluator):
    """Ctrl-C after a few batches, every time."""

    batches = 0

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        self.batches += 1
        if self.batches % 4 == 0:
            raise KeyboardInterrupt
        return super().evaluate(batch)


def test_interrupted_searches_leak_nothing() -> None:
    state = walk("hex", 0)

    def work() -> None:
        searcher = searcher_of(state, Interrupting(0), simulations=100, batch=8, max_in_flight=1.0, graph=True)
        assert searcher.run(state, on_interrupt="return").stats["interrupted"]

    assert growth(work, 500, 10_000) < MIB


def test_failed_searches_leak_nothing() -> None:
    state = walk("pyrat", 0)

    class Failing(HashEvaluator):
        batches = 0

        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            self.batches += 1
            answer = super().evaluate(batch)
            if self.batches % 4 == 0:
                answer.values[-1] = np.nan
            return answer

    searcher = searcher_of(state, Failing(0, zero_sum=False), simulations=100, batch=8, max_in_flight=1.0)

    def work() -> None:
        with pytest.raises(rf.EvaluatorError):
            searcher.run(state)
        searcher.reset()

    assert growth(work, 500, 5_000) < MIB


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_playing_games_from_one_graph_leaks_nothing(graph: bool, threads: int) -> None:
    state = rf.make("connect_four").initial_state()
    searcher = searcher_of(state, rf.evaluators.Rollout(1), simulations=400, graph=graph, threads=threads)

    def work() -> None:
        position = rf.make("connect_four").initial_state()
        while not position.is_over:
            action = searcher.run(position).action()
            position.apply(action)
            searcher.advance(action)

    assert growth(work, 10, 100) < 2 * MIB


def test_a_graph_that_is_searched_and_cut_for_long_stays_small() -> None:
    """Advancing keeps what can be reached and uses the room of the rest again: neither blocks nor holes add up."""
    game = rf.make("pyrat", width=7, height=7, cheese=9, max_turns=300, symmetric=False)
    # Before the last turn the root has up to 16 edges into finished games, which are no nodes: 592 bytes for one node.
    root_alone = 1024
    searcher = searcher_of(game.initial_state(seed=1), None, simulations=2_000, graph=True)
    turns = 0

    def play() -> None:
        nonlocal turns
        state, rng = game.initial_state(seed=1), np.random.default_rng(0)  # the same game every time
        while not state.is_over:
            stats = searcher.run(state).stats
            assert stats["bytes"] < 400 * stats["nodes"] + root_alone
            actions = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
            searcher.advance(*actions)
            state.apply(*actions)
            turns += 1

    assert growth(play, 1, 2) < 2 * MIB  # up to 6 MiB are in use; holes show only in what the process takes
    assert turns == 3 * 300


def test_many_searches_leak_nothing() -> None:
    states = [walk("hex", seed) for seed in range(20)]
    searcher = searcher_of(states[0], HashEvaluator(0), simulations=40, batch=4, threads=2)
    assert growth(lambda: searcher.run_many(states) and None, 60, 150) < MIB


def test_results_do_not_hold_on_to_more_than_their_graph() -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(0), simulations=30)
    kept: list[rf.SearchResult] = []

    def work() -> None:
        searcher.reset()
        kept.append(searcher.run(state))
        del kept[:-1]

    assert growth(work, 200, 2_000) < MIB


def test_python_games_leak_nothing() -> None:
    from tests.engine.tiny_games import Fragile

    def work() -> None:
        game = Fragile("apply")
        state = game.initial_state()
        searcher = searcher_of(state, HashEvaluator(0, False), simulations=30, batch=4)
        game.calls, game.fails_at = 0, 40
        with pytest.raises(ArithmeticError):
            searcher.run(state)

    assert growth(work, 100, 1_000) < MIB
