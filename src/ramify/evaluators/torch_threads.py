"""Threads in which every torch call is single-threaded, independent of the process's settings."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from ramify.evaluators.threads import CallQueue, CallThreads

T = TypeVar("T")


def single_threaded() -> None:
    """Make torch calls of this thread single-threaded; other threads are not affected.

    The number of threads is kept per calling thread, by OpenMP and by MKL. ``torch.set_num_threads`` would also set
    what threads get that use torch for the first time later, of whoever they are, so the libraries are told directly.
    """
    import torch

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
_plain_threads = CallThreads("ramify-network-plain")  # they do not load torch


def run_calls(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """The results of these torch calls, in order: each single-threaded, with at most ``threads`` at once."""
    import torch

    return _threads.run(calls, threads, here=torch.get_num_threads() == 1)


def run_plain_calls(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """As ``run_calls``, for calls of which none uses torch: they also run in this thread."""
    return _plain_threads.run(calls, threads, here=True)


def call_queue(threads: int, *, plain: bool = False) -> CallQueue:
    """A queue of torch calls, each single-threaded; ``plain``: of calls of which none uses torch."""
    return CallQueue("ramify-network", threads, None if plain else single_threaded)
