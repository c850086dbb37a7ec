"""Ctrl-C: it ends what a program does, unless the program asks for what was found so far."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

import ramify as rf
from tests.children import interrupt_python
from tests.engine.helpers import HashEvaluator, Recorder, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk
from tests.engine.tiny_games import Paths

PRELUDE = """
import signal, sys, threading
import numpy as np
import ramify as rf
class Flat:
    def evaluate(self, batch):
        return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))
"""


GAME = """
import ramify as rf

state = rf.make("hex", size=5).initial_state()
while not state.is_over:
    result = rf.search(state, rf.evaluators.Rollout(), simulations=30_000)
    print(repr(result), flush=True)
    state.apply(result.best_action)
print(state)
"""


def test_a_game_that_is_played_ends_at_the_first_ctrl_c() -> None:
    ended = interrupt_python(GAME)
    assert ended.code == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.err
    assert len(ended.out.splitlines()) < 5  # the position at the end has more lines


LOOPS = {
    "run": "searcher = rf.Searcher(game, rf.evaluators.Rollout(), rf.SearchConfig(simulations=50_000))\n"
    "work = lambda: (searcher.reset(), searcher.run(state))",
    "evaluator": "work = lambda: rf.search(state, Flat(), simulations=10_000, batch=16)",
    "threads": "work = lambda: rf.search(state, rf.evaluators.Rollout(), simulations=50_000, threads=2)",
    "run_many": "searcher = rf.Searcher(game, rf.evaluators.Rollout(), rf.SearchConfig(simulations=20_000))\n"
    "work = lambda: searcher.run_many([state] * 3)",
    "run_many with an evaluator": "searcher = rf.Searcher(game, Flat(), rf.SearchConfig(simulations=3_000, batch=16))\n"
    "work = lambda: searcher.run_many([state] * 3)",
    "alphabeta": "work = lambda: rf.alphabeta(rf.make('chess').initial_state(), seconds=0.5)",
    "self-play": "from ramify.selfplay import SelfPlay\n"
    "work = lambda: list(SelfPlay(game, rf.evaluators.Rollout(), rf.SearchConfig(simulations=200), games=4))",
    "player": "from ramify.arena import Turn, read_player\n"
    "player = read_player('search:simulations=50000').open(game)\n"
    "work = lambda: player.choose([Turn(state, 0, 0)])",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_ends_at_the_first_ctrl_c(loop: str) -> None:
    setup = f"game = rf.make('hex', size=7)\nstate = game.initial_state()\n{LOOPS[loop]}\n"
    ended = interrupt_python(PRELUDE + setup + "for turn in range(20):\n    print(turn, flush=True); work()")
    assert ended.code == -signal.SIGINT
    assert len(ended.out.splitlines()) < 5


def interrupt(at: int) -> Callable[[int], None]:
    """Ctrl-C in that batch."""

    def before(batch: int) -> None:
        if batch == at:
            raise KeyboardInterrupt

    return before


@pytest.mark.parametrize("evaluator", ["rf.evaluators.Rollout()", "Flat()"])
def test_what_was_found_is_returned_where_that_is_asked_for(evaluator: str) -> None:
    program = f"""
state = rf.make("hex", size=7).initial_state()
told = []
def progress(stats):
    if stats["simulations"] and not told:
        told.append(print("searching", flush=True))
searcher = rf.Searcher(state.game, {evaluator}, rf.SearchConfig(simulations=10**9))
result = searcher.run(state, progress, on_interrupt="return")
print(result.stats["interrupted"], result.visits.sum() + 1 == result.stats["simulations"])
"""
    ended = interrupt_python(PRELUDE + program)
    assert ended.err == ""
    assert ended.out.split() == ["searching", "True", "True"]


@pytest.mark.parametrize("name", ["hex", "pyrat", "connect_four"])
def test_after_ctrl_c_the_graph_is_whole_and_the_next_run_goes_on(name: str) -> None:
    state = walk(name, 1)
    recorder = Recorder(HashEvaluator(0), interrupt(at=5))
    searcher = searcher_of(state, recorder, simulations=200, batch=8, max_in_flight=1.0)
    with pytest.raises(KeyboardInterrupt):
        searcher.run(state)
    found = searcher.snapshot()
    assert found is not None
    assert found.stats["interrupted"]
    kept = int(found.visits.sum()) + 1
    assert kept == found.stats["simulations"] > 1  # no visit of a leaf that was never evaluated
    result = searcher.run(state)
    assert int(result.visits.sum()) + 1 == kept + 200
    searcher.advance(*([result.action()] if len(state.acting) == 1 else result.action()))


def test_the_search_after_ctrl_c_is_the_one_without_it() -> None:
    """Two runs of which the first is interrupted find what two runs find whose first has that budget."""
    state = walk("hex", 2)
    interrupted = searcher_of(state, Recorder(HashEvaluator(0), interrupt(at=41)), simulations=60)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(state)
    whole = searcher_of(state, HashEvaluator(0), simulations=40)
    whole.run(state)
    whole.config = whole.config.replace(simulations=60)
    assert_same_result(interrupted.run(state), whole.run(state))


@pytest.mark.parametrize("native", [True, False])
def test_ctrl_c_inside_a_game_written_in_python(native: bool) -> None:
    class Interrupting(Paths):
        left = 300

        def apply(self, position, *actions):
            Interrupting.left -= 1
            if Interrupting.left == 0:
                raise KeyboardInterrupt
            return super().apply(position, *actions)

    state = Interrupting(turns=8).initial_state()
    searcher = searcher_of(state, rf.evaluators.Rollout() if native else HashEvaluator(0), simulations=400)
    with pytest.raises(KeyboardInterrupt):
        searcher.run(state)
    found = searcher.snapshot()
    assert found is not None
    kept = int(found.visits.sum()) + 1
    assert kept == found.stats["simulations"]
    assert int(searcher.run(state).visits.sum()) + 1 == kept + 400


def test_ctrl_c_before_anything_was_found_raises_in_any_case() -> None:
    state = tictactoe()
    for batch in (1, 2):
        searcher = searcher_of(state, Recorder(HashEvaluator(0), interrupt(at=batch)), simulations=50)
        if batch == 1:
            with pytest.raises(KeyboardInterrupt):
                searcher.run(state, on_interrupt="return")
            assert searcher.snapshot() is None
        else:
            assert searcher.run(state, on_interrupt="return").stats["interrupted"]
        assert searcher.run(state).stats["simulations"] == 50


def test_ctrl_c_in_run_many() -> None:
    states = [walk("hex", seed) for seed in range(3)]
    searcher = searcher_of(states[0], Recorder(HashEvaluator(0), interrupt(at=9)), simulations=50)
    results = searcher.run_many(states, on_interrupt="return")
    assert [result.stats["interrupted"] for result in results] == [True] * 3
    searcher = searcher_of(states[0], Recorder(HashEvaluator(0), interrupt(at=9)), simulations=50)
    with pytest.raises(KeyboardInterrupt):
        searcher.run_many(states)
    for found, result in zip(searcher.snapshots(), results, strict=True):
        assert found is not None
        assert_same_result(found, result)
    assert [result.stats["simulations"] for result in searcher.run_many(states)] == [50] * 3


def test_on_interrupt_is_raise_or_return() -> None:
    state = tictactoe()
    searcher = rf.Searcher(state.game)
    for call in (
        lambda: searcher.run(state, on_interrupt="stop"),  # type: ignore[arg-type]
        lambda: searcher.run_many([state], on_interrupt="stop"),  # type: ignore[arg-type]
        lambda: rf.alphabeta(state, 2, on_interrupt="stop"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="'raise' or 'return', not 'stop'"):
            call()
