"""A searcher belongs to one thread at a time; any thread may stop its run, or see what it has found so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from tests.children import run_python
from tests.engine.helpers import HashEvaluator, Recorder, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk
from tests.engine.tiny_games import Paths

ENDLESS = 2**50  # simulations
PATIENCE = 60  # seconds


class Run:
    """A run in a thread of its own, once it has found something."""

    def __init__(self, searcher: rf.Searcher, work: Callable[[], Any]) -> None:
        self.searcher, self.result = searcher, None
        self.thread = threading.Thread(target=lambda: setattr(self, "result", work()), daemon=True)
        self.thread.start()
        while not searcher.snapshots() or None in searcher.snapshots():
            pass

    def stop(self) -> Any:
        self.searcher.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.result


@contextmanager
def running(searcher: rf.Searcher, work: Callable[[], Any]) -> Iterator[Run]:
    run = Run(searcher, work)
    try:
        yield run
    finally:
        run.stop()


def searchers() -> dict[str, rf.Searcher]:
    """One of each kind of evaluator, threads and game."""
    hex_5 = rf.make("hex", size=5)
    endless = rf.SearchConfig(simulations=ENDLESS, max_nodes=200_000)
    return {
        "core": rf.Searcher(hex_5, rf.evaluators.Rollout(), endless),
        "core, threads": rf.Searcher(hex_5, rf.evaluators.Rollout(), endless.replace(threads=4)),
        "graph": rf.Searcher(hex_5, None, endless.replace(graph=True)),
        "evaluator": rf.Searcher(hex_5, HashEvaluator(0), endless.replace(batch=8)),
        "evaluator, threads": rf.Searcher(hex_5, HashEvaluator(0), endless.replace(batch=8, threads=4)),
        "game in Python": rf.Searcher(Paths(turns=12), HashEvaluator(0), endless),
    }


@pytest.mark.core
@pytest.mark.parametrize("kind", searchers())
def test_snapshots_of_a_run_in_progress(kind: str) -> None:
    searcher = searchers()[kind]
    state = searcher.game.initial_state()
    with running(searcher, lambda: searcher.run(state)) as run:
        visits = 0
        for _ in range(20):
            found = searcher.snapshot()
            assert found is not None
            seen = int(found.visits.sum()) + 1
            assert seen == found.stats["simulations"] >= visits  # whole: every visit is that of a simulation
            assert found.policy().sum() == pytest.approx(1)
            assert found.action() in state.legal_actions()
            assert found.stats["stopped"] is False
            assert found.node([])["visits"] >= seen  # the graph of the moment
            visits = seen
        result = run.stop()
    assert result.stats["stopped"] is True
    assert result.stats["simulations"] >= visits
    last = searcher.snapshot()
    assert last is not None
    assert_same_result(last, result)
    again = searcher_after(searcher, 50).run(state)
    assert again.stats["stopped"] is False
    assert int(again.visits.sum()) + 1 == result.stats["simulations"] + 50


def searcher_after(searcher: rf.Searcher, simulations: int) -> rf.Searcher:
    """The same with an end in sight."""
    searcher.config = searcher.config.replace(simulations=simulations)
    return searcher


@pytest.mark.core
@pytest.mark.parametrize("native", [True, False])
def test_snapshots_of_many_searches(native: bool) -> None:
    states = [walk("hex", seed) for seed in range(4)]
    settings = {"simulations": ENDLESS, "threads": 2, "max_nodes": 100_000}
    searcher = searcher_of(states[0], rf.evaluators.Rollout() if native else HashEvaluator(0), **settings)
    with running(searcher, lambda: searcher.run_many(states)) as run:
        with pytest.raises(ValueError, match=r"4 searches are in progress: use snapshots"):
            searcher.snapshot()
        for _ in range(10):
            found = searcher.snapshots()
            assert [int(one.visits.sum()) + 1 for one in found] == [one.stats["simulations"] for one in found]
        results = run.stop()
    assert [result.stats["stopped"] for result in results] == [True] * 4
    assert searcher.snapshot() is None  # they are the results' now


@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"selection": "gumbel"}, {"solver": True}])
def test_looking_changes_nothing(settings: dict[str, Any]) -> None:
    state = walk("connect_four", 3)
    calm = searcher_of(state, HashEvaluator(0), simulations=300, batch=4, **settings)
    watched = searcher_of(state, HashEvaluator(0), simulations=300, batch=4, **settings)
    seen = []
    result = watched.run(state, lambda stats: seen.append(watched.snapshot()))
    assert_same_result(result, calm.run(state))
    assert seen[0] is None
    assert seen[-1] is not None


def test_before_the_first_run_there_is_nothing() -> None:
    searcher = searcher_of(tictactoe())
    assert searcher.snapshot() is None
    assert searcher.snapshots() == []


def test_between_runs_a_snapshot_is_what_the_graph_holds() -> None:
    state = tictactoe()
    searcher = searcher_of(state, simulations=500)
    action = searcher.run(state).action()
    searcher.advance(action)
    found = searcher.snapshot()
    assert found is not None
    state.apply(action)
    assert found.acting == state.acting
    assert found.action() in state.legal_actions()
    searcher.reset()
    assert searcher.snapshot() is None


def test_stop_without_a_run_does_nothing() -> None:
    state = tictactoe()
    searcher = searcher_of(state, simulations=100)
    searcher.stop()
    assert searcher.run(state).stats["simulations"] == 100
    searcher.stop()
    again = searcher.run(state).stats
    assert (again["simulations"], again["stopped"]) == (100, False)


@pytest.mark.parametrize("native", [True, False])
def test_a_run_that_is_stopped_at_once_makes_its_first_simulation(native: bool) -> None:
    state = tictactoe()
    searcher = searcher_of(state, rf.evaluators.Rollout() if native else HashEvaluator(0), simulations=10**6)
    stats = searcher.run(state, lambda _: searcher.stop()).stats
    assert 1 <= stats["simulations"] < 10**6
    assert stats["stopped"]


def test_everything_else_is_refused_while_a_run_is_in_progress() -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, rf.evaluators.Rollout(), simulations=ENDLESS, max_nodes=100_000)
    with running(searcher, lambda: searcher.run(state)):
        for call in (
            lambda: searcher.run(state),
            lambda: searcher.run_many([state]),
            lambda: searcher.advance(int(state.legal_actions()[0])),
            searcher.reset,
        ):
            with pytest.raises(RuntimeError, match=r"already running.* only stop\(\) and snapshot\(\)"):
                call()
    assert searcher_after(searcher, 10).run(state).stats["simulations"] == 10


def test_an_evaluator_cannot_use_the_search_that_waits_for_it() -> None:
    state = tictactoe()
    calls: list[Callable[[rf.Searcher], Any]] = [lambda s: s.run(state), lambda s: s.reset(), lambda s: s.snapshot()]
    for call in calls:
        recorder = Recorder(HashEvaluator(0))
        searcher = searcher_of(state, recorder, simulations=10)
        recorder.before = lambda _, call=call, searcher=searcher: call(searcher)  # type: ignore[misc]
        with pytest.raises(RuntimeError, match=r"already running|cannot be called from an evaluator"):
            searcher.run(state)
        recorder.before = None
        assert searcher.run(state).stats["simulations"] == 10


def test_results_of_an_earlier_run_say_so_while_another_is_in_progress() -> None:
    state = walk("hex", 0)
    searcher = searcher_of(state, rf.evaluators.Rollout(), simulations=100, max_nodes=100_000)
    earlier = searcher.run(state)
    searcher_after(searcher, ENDLESS)
    with running(searcher, lambda: searcher.run(state)):
        for look in (lambda: earlier.node([]), earlier.lcb, earlier.tree):
            with pytest.raises(ValueError, match="graph of this result is gone"):
                look()
    assert earlier.action() in state.legal_actions()


TWO_THREADS = """
import sys, threading, time
import numpy as np
import ramify as rf
from ramify import _core
from ramify.selfplay import SelfPlay
refused, wrong, started = [], [], threading.Barrier(2)
def both(*calls):
    def work(call):
        started.wait()
        for _ in range({times}):
            try:
                call()
            except RuntimeError as error:
                refused.append(str(error))
            except BaseException as error:
                wrong.append(repr(error))
    threads = [threading.Thread(target=work, args=[call]) for call in calls]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
game = rf.make("hex", size=7)
state = game.initial_state()
settings = rf.SearchConfig(simulations=20_000)
{work}
print(len(refused) > 0, wrong, set(refused))
"""

CALLS = {
    "searcher": "searcher = rf.Searcher(game, rf.evaluators.Rollout(), settings)\n"
    "both(lambda: searcher.run(state), lambda: searcher.run(state))",
    "searcher, many": "searcher = rf.Searcher(game, rf.evaluators.Rollout(), settings.replace(simulations=2000))\n"
    "both(lambda: searcher.run_many([state] * 4), lambda: searcher.run(state))",
    "search of the core": "search = _core.make_search(state.copy(), settings.model_dump()); search.begin(0, 10**6)\n"
    "both(lambda: search.run_native(1, 0, 20_000, 10.0), lambda: search.run_native(1, 0, 20_000, 10.0))",
    "report": "search = _core.make_search(state.copy(), settings.model_dump()); search.begin(0, 10**6)\n"
    "both(lambda: search.run_native(1, 0, 20_000, 10.0), lambda: [search.report([]) for _ in range(2000)])",
    "group": "searches = [_core.make_search(state.copy(), settings.model_dump()) for _ in range(4)]\n"
    "for search in searches: search.begin(0, 10**6)\n"
    "group = _core.Group(2)\n"
    "both(*[lambda: group.run_native(searches, 1, 0, [5000] * 4, 10.0)] * 2)",
    "search in two groups": "search = _core.make_search(state.copy(), settings.model_dump()); search.begin(0, 10**6)\n"
    "groups = [_core.Group(1), _core.Group(1)]\n"
    "both(*[lambda g=g: g.run_native([search], 1, 0, [20_000], 10.0) for g in groups])",
    "self-play": "play = SelfPlay(game, rf.evaluators.Rollout(), settings.replace(simulations=200), parallel_games=8)\n"
    "both(*[lambda: [None for _, _ in zip(range(20), play)]] * 2)",
    "pool": "play = SelfPlay(game, rf.evaluators.Rollout(), settings.replace(simulations=2000), parallel_games=8)\n"
    "both(lambda: play._gather(0), lambda: [play._gather(1)] * 2)",
    "counts": "play = SelfPlay(game, rf.evaluators.Rollout(), settings.replace(simulations=2000), parallel_games=8)\n"
    "both(lambda: [None for _, _ in zip(range(3), play)],\n"
    "     lambda: [(time.sleep(0.0005), play.counts) for _ in range(2000)])",
}


@pytest.mark.parametrize("what", CALLS)
def test_two_threads_get_an_error_and_no_crash(what: str) -> None:
    ended = run_python(TWO_THREADS.format(work=CALLS[what], times=6))
    assert ended.code == 0, ended.err
    assert ended.out.startswith("True []"), ended.out
    assert "one thread at a time" in ended.out or "already running" in ended.out or "another thread" in ended.out


@pytest.mark.parametrize("read", [lambda state: state.perft(5), lambda state: rf.alphabeta(state, seconds=0.5)])
def test_a_state_that_another_thread_reads_cannot_change(read: Callable[[rf.State], Any]) -> None:
    def attempt() -> bool:
        """Whether a change was refused: it may have come too early, or too late."""
        state, begun = rf.make("chess").initial_state(), threading.Event()
        thread = threading.Thread(target=lambda: (begun.set(), read(state)), daemon=True)
        thread.start()
        begun.wait()
        before = state.copy()
        time.sleep(0.02)
        try:
            state.apply(int(state.legal_actions()[0]))
        except RuntimeError as error:
            return "another thread" in str(error) and state.key == before.key
        finally:
            thread.join()
            state.apply(int(state.legal_actions()[0]))  # nobody reads it any more
        return False

    assert any(attempt() for _ in range(20))


@pytest.mark.core
def test_reading_one_state_in_many_threads_is_fine() -> None:
    state = rf.make("connect_four").initial_state()
    with ThreadPoolExecutor(4) as executor:
        assert set(executor.map(lambda _: state.perft(5), range(8))) == {state.perft(5)}
    state.apply(0)


def test_self_play_can_be_stopped_from_another_thread() -> None:
    from ramify.selfplay import SelfPlay

    play = SelfPlay(rf.make("tictactoe"), HashEvaluator(0), rf.SearchConfig(simulations=8), parallel_games=4)
    records, stopper = [], None
    for some in play:
        records += some
        if records and stopper is None:
            stopper = threading.Thread(target=play.stop)
            stopper.start()
            stopper.join()
    assert stopper is not None
    assert len(records) == play.counts["games"] >= 4
    assert play.counts["active"] == 0


def test_one_iteration_over_self_play_at_a_time() -> None:
    from ramify.selfplay import SelfPlay

    play = SelfPlay(rf.make("tictactoe"), HashEvaluator(0), rf.SearchConfig(simulations=8), games=6, parallel_games=4)
    first = iter(play)
    records = next(first)
    with pytest.raises(RuntimeError, match="one thread at a time"):
        next(iter(play))
    first.close()
    for some in play:
        records += some
    assert len(records) == 6


@pytest.mark.core
def test_exclusive() -> None:
    alone = _core.Exclusive("busy with something")
    with alone:
        with pytest.raises(RuntimeError, match="busy with something"), alone:
            pass
        with pytest.raises(RuntimeError), alone:
            pass
    with pytest.raises(ZeroDivisionError), alone:
        1 / np.int64(0).item()
    with alone:
        pass
