"""Threads in which every torch call is single-threaded, independent of the process's settings."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from ramify.evaluators.threads import CallQueue, CallThreads

T = TypeVar("T")


def single_threaded() -> None:
    """Make torch calls of this thread single-threaded; other threads are not affected.

    The number of threads is kept per calling thread, by OpenMP and by MKL. ``torch.set_num_threads`` would also set
    what threads get that use torch for the first time later, of whoever they are, so the libraries are told directly.
    """
    usual = torch.get_num_threads()  # torch sets a thread up when it is first used there: not after this line
    if usual == 1:
        return
    libraries = ctypes.CDLL(torch._C.__file__)  # torch and what it has loaded
    for name in ("omp_set_num_threads", "MKL_Set_Num_Threads_Local"):
        if hasattr(libraries, name):
            libraries[name](1)
    if torch.get_num_threads() != 1:  # a build without OpenMP: then with a moment in which other threads are affected
        torch.set_num_threads(1)
        put_right = threading.Thread(target=torch.set_num_threads, args=(usual,))
        put_right.start()
        put_right.join()


_threads = CallThreads("ramify-network", single_threaded)


def run_calls(calls: Sequence[Callable[[], T]], threads: int, *, here: bool = False) -> list[T]:
    """The results of these torch calls, in order: each single-threaded, with at most ``threads`` at once.

    ``here``: they may also run in this thread, because none of them uses torch.
    """
    return _threads.run(calls, threads, here=here or torch.get_num_threads() == 1)


def call_queue(threads: int) -> CallQueue:
    """A queue of torch calls, each single-threaded."""
    return CallQueue("ramify-network", threads, single_threaded)
