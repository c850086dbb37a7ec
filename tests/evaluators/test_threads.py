"""Calls side by side: in order, at most so many at once, errors heard of, and none left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from ramify.evaluators.threads import CallQueue, CallThreads


@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int, here: bool) -> None:
    calls: list[Callable[[], int]] = [lambda n=n: n * n for n in range(20)]
    pool = CallThreads("test")
    assert pool.run(calls, threads, here=here) == [n * n for n in range(20)]
    assert pool.run([], threads, here=here) == []


def test_no_more_at_once_than_wanted_and_no_fewer() -> None:
    """Two at a time: each waits for another one, and the count of those inside never exceeds two."""
    meeting, lock, inside, most = threading.Barrier(2, timeout=30), threading.Lock(), 0, 0

    def call() -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        meeting.wait()
        with lock:
            inside -= 1
        meeting.wait()
        return threading.get_ident()

    pool = CallThreads("test")
    for here in (False, True):
        idents = set(pool.run([call] * 6, 2, here=here))
        assert (len(idents), most) == (2, 2)
        assert (threading.get_ident() in idents) == here


def test_errors_are_raised_and_the_rest_is_left() -> None:
    done = []

    def bad() -> None:
        raise OverflowError("the third")

    pool = CallThreads("test")
    calls = [lambda: done.append(1), lambda: done.append(2), bad, *[lambda: done.append(4)] * 50]
    for here in (False, True):
        done.clear()
        with pytest.raises(OverflowError, match="the third"):
            pool.run(calls, 1 if here else 2, here=here)
    assert done == [1, 2]
    assert pool.run([lambda: 5], 1, here=False) == [5]


def test_after_an_interruption_no_call_is_under_way() -> None:
    """Ctrl-C reaches the caller; calls of other threads are at their ends when it does, and no more are begun."""
    started, ended = threading.Barrier(2, timeout=30), []

    def interrupted() -> None:
        started.wait()
        raise KeyboardInterrupt

    def slow() -> None:
        started.wait()
        time.sleep(0.1)
        ended.append(1)

    with pytest.raises(KeyboardInterrupt):
        CallThreads("test").run([interrupted, slow, *[lambda: ended.append(2)] * 50], 2, here=True)
    assert ended[:1] == [1]


def test_calls_may_make_calls() -> None:
    """From a thread of the pool, further calls are made there: no thread waits for one that never comes."""
    pool = CallThreads("test")

    def outer() -> bool:
        [inner] = pool.run([threading.get_ident], 1, here=False)
        return inner == threading.get_ident()

    assert pool.run([outer] * 4, 2, here=False) == [True] * 4


def test_a_forked_process_starts_threads_of_its_own() -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
from ramify.evaluators.threads import CallThreads
pool = CallThreads("test")
assert pool.run([lambda: 1] * 3, 2, here=False) == [1, 1, 1]
child = os.fork()
if not child:
    os._exit(pool.run([lambda: 7], 1, here=False)[0])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class TestQueue:
    def test_results_are_in_order_and_callers_take_turns(self) -> None:
        """With one thread, calls happen in the order in which they were made, whoever made them."""
        queue, begun, release = CallQueue("test", 1), [], threading.Event()
        calls: list[Callable[[], int]] = [lambda n=n: (release.wait(30) and begun.append(n)) or n for n in range(6)]
        results: dict[int, list[int]] = {}
        callers = []
        for first in (0, 3):
            callers.append(
                threading.Thread(
                    target=lambda first=first: results.update({first: queue.run(calls[first : first + 3])})
                )
            )
            callers[-1].start()
            while queue._executor._work_queue.qsize() < first + 2:  # all of its calls are in the queue
                time.sleep(0.001)
        release.set()
        for caller in callers:
            caller.join(30)
        assert results == {0: [0, 1, 2], 3: [3, 4, 5]}
        assert begun == [0, 1, 2, 3, 4, 5]

    def test_no_more_at_once_than_threads_and_no_fewer(self) -> None:
        meeting = threading.Barrier(2, timeout=30)
        idents = set(CallQueue("test", 2).run([lambda: meeting.wait() * 0 + threading.get_ident()] * 6))
        assert len(idents) == 2
        assert threading.get_ident() not in idents

    def test_errors_are_raised_and_the_rest_is_left(self) -> None:
        done: list[int] = []

        def bad() -> None:
            raise OverflowError("the second")

        queue = CallQueue("test", 1)
        with pytest.raises(OverflowError, match="the second"):
            queue.run([lambda: done.append(1), bad, lambda: time.sleep(0.2), *[lambda: done.append(3)] * 50])
        assert done == [1]
        assert queue.run([lambda: 5]) == [5]
        assert queue.run([]) == []

    def test_a_forked_process_starts_threads_of_its_own(self) -> None:
        code = """
import os, warnings
warnings.simplefilter("ignore")
from ramify.evaluators.threads import CallQueue
queue = CallQueue("test", 2)
assert queue.run([lambda: 1] * 3) == [1, 1, 1]
child = os.fork()
if not child:
    os._exit(queue.run([lambda: 3, lambda: 4])[1])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
"""
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
