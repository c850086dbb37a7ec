"""Threads in which torch runs every call by itself, whatever the rest of the process has chosen."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from ramify.evaluators.threads import CallThreads

T = TypeVar("T")


def single_threaded() -> None:
    """From now on torch runs the calls of this thread in this thread alone; all other threads stay as they are.

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


def run_calls(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """What these calls of torch give, in their order: single-threaded each, at most so many at once."""
    return _threads.run(calls, threads, here=torch.get_num_threads() == 1)
