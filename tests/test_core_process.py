"""The process around a search: Python ends while threads search, a process is forked, threads cannot be started."""

from __future__ import annotations

import os
import sys

import pytest

from ramify import _core
from tests.children import run_child

pytestmark = pytest.mark.core

SANITIZER = _core.build_info()["sanitizer"]

# ---------- Python ends while daemon threads search ----------

EXIT = """
import sys, threading, time
import numpy as np
import ramify as rf
from tests.engine.tiny_games import Paths

native, python = rf.make("hex", size=9), Paths("alternating", turns=12)
begun = threading.Event()

def evaluate(batch):
    begun.set()
    return np.zeros(batch.legal.shape, np.float32), np.zeros(batch.acting.shape, np.float32)

def player(game, evaluator=None, **settings):
    made = rf.selfplay.SelfPlay(game, evaluator, rf.SearchConfig(simulations=20), parallel_games=4, **settings)
    def play():
        for _ in made:
            begun.set()
    return play

def searcher(game, evaluator=None, **settings):
    made = rf.Searcher(game, evaluator, rf.SearchConfig(max_nodes=10_000, **settings))
    def search():
        made.reset()
        made.run(game.initial_state(), lambda progress: begun.set())
    return search

def looker(game, depth):
    def look():
        rf.alphabeta(game.initial_state(), depth=1)
        begun.set()
        rf.alphabeta(game.initial_state(), depth=depth)
    return look

make = {
    "search": lambda: searcher(native, simulations=10**9),
    "short searches": lambda: searcher(native, simulations=10),
    "threads": lambda: searcher(native, simulations=10**9, threads=3),
    "evaluator": lambda: searcher(native, rf.evaluators.Function(evaluate), simulations=1000),
    "alpha-beta": lambda: looker(native, 20),
    "self-play": lambda: player(native, threads=2),
    "search in Python": lambda: searcher(python, rf.evaluators.Rollout(3), simulations=10**9),
    "short searches in Python": lambda: searcher(python, simulations=3),
    "alpha-beta in Python": lambda: looker(python, 12),
    "self-play in Python": lambda: player(python),
}[sys.argv[1]]

def loop(work):
    while True:
        work()

# Settings are checked here: a thread that Python ends while it is inside pydantic would abort there.
for work in [make(), make()]:
    threading.Thread(target=loop, args=(work,), daemon=True).start()
assert begun.wait(30)
time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "work",
    [
        "search",
        "short searches",
        "threads",
        "evaluator",
        "alpha-beta",
        "self-play",
        "search in Python",
        "short searches in Python",
        "alpha-beta in Python",
        "self-play in Python",
    ],
)
def test_python_ends_while_daemon_threads_search(work: str) -> None:
    run_child(EXIT, work)


ORDER = """
import atexit, threading

def at_the_end():  # registered before the core is loaded, so that it runs after the core was told of the end
    import ramify as rf
    print(rf.search(rf.make("tictactoe").initial_state(), simulations=20, threads=2).stats["simulations"])
    print(rf.search(Paths().initial_state(), simulations=20).stats["simulations"])
    stop.set()
    thread.join(30)
    print(thread.is_alive())

atexit.register(at_the_end)
import ramify as rf
from tests.engine.tiny_games import Paths

stop, state = threading.Event(), rf.make("hex", size=5).initial_state()

def loop():
    while not stop.is_set():
        rf.search(state, simulations=100)

thread = threading.Thread(target=loop, daemon=True)
thread.start()
"""


def test_what_runs_at_exit_may_search_and_join_threads() -> None:
    assert run_child(ORDER).split() == ["20", "20", "False"]


# ---------- forks ----------

FORK = """
import gc, os, sys
import ramify as rf

game = rf.make("hex", size=5)
state = game.initial_state()
config = rf.SearchConfig(simulations=300, threads=3)
searcher = rf.Searcher(game, rf.evaluators.Rollout(1), config)
searcher.run(state)
play = rf.selfplay.SelfPlay(game, None, rf.SearchConfig(simulations=10), parallel_games=4, games=8, threads=3)
rounds = iter(play)
next(rounds)

child = os.fork()
if child == 0:
    if sys.argv[1] == "drop":
        del searcher, play, rounds
        gc.collect()
    elif sys.argv[1] == "use":
        assert searcher.run(state).stats["simulations"] == 300
        assert len(searcher.run_many([state] * 4)) == 4
        for _ in rounds:
            pass
        assert play.counts["games"] == 8
    if sys.argv[1] != "exit at once":
        sys.exit()  # Python ends as usual, and drops whatever is left
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert searcher.run(state).stats["simulations"] == 300  # here nothing has changed
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.skipif(SANITIZER == "thread", reason="ThreadSanitizer does not follow a fork of a process with threads")
@pytest.mark.parametrize("child", ["use", "drop", "exit", "exit at once"])
def test_a_forked_process_may_use_and_drop_what_has_threads(child: str) -> None:
    run_child(FORK, child)


FORK_WHILE_RUNNING = """
import os, sys, threading, time
import ramify as rf
from ramify import _core

state = rf.make("hex", size=7).initial_state()
search = _core.make_search(state, rf.SearchConfig(threads=2, max_nodes=10_000).model_dump())
search.begin(0)
search.run_native(0, 0, 1000, 10.0)
thread = threading.Thread(target=lambda: search.run_native(0, 0, 10**12, 1.0))
thread.start()
time.sleep(0.3)
child = os.fork()
if child == 0:
    try:
        search.run_native(0, 0, 10, 10.0)
    except RuntimeError as error:
        assert "in use by another call" in str(error) or "was forked" in str(error), error
        os._exit(0)
    os._exit(1)
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.skipif(SANITIZER == "thread", reason="ThreadSanitizer does not follow a fork of a process with threads")
def test_a_search_that_was_running_is_refused_in_a_forked_process() -> None:
    run_child(FORK_WHILE_RUNNING)


# ---------- threads that cannot be started ----------

NO_THREADS = """
import resource, threading
import ramify as rf

state = rf.make("hex", size=5).initial_state()
searcher = rf.Searcher(state.game, None, rf.SearchConfig(simulations=100, threads=256))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20, before[1]))
for many in (False, True):
    try:
        searcher.run_many([state] * 2) if many else searcher.run(state)
    except RuntimeError as error:
        assert "of 256 threads could be started" in str(error), error
        assert "lower the setting threads" in str(error), error
    else:
        raise AssertionError("256 threads fit into 300 MB")
    threads = [line for line in open("/proc/self/status") if line.startswith("Threads:")]
    assert int(threads[0].split()[1]) == THREADS, threads
resource.setrlimit(resource.RLIMIT_AS, before)
assert searcher.run(state).stats["simulations"] == 100
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")
@pytest.mark.skipif(SANITIZER != "none", reason="the sanitizers need all addresses")
def test_threads_that_cannot_be_started_are_an_error() -> None:
    count = 'len([line for line in __import__("os").listdir("/proc/self/task")])'
    run_child(NO_THREADS.replace("import ramify as rf\n", f"import ramify as rf\nTHREADS = {count}\n", 1))
