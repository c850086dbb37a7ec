"""Evaluations kept by position in the compiled core, for searches that share an evaluator."""

from __future__ import annotations

import threading
from collections.abc import Hashable

from ramify import _core


def version_of(evaluator: object) -> Hashable:
    """A value that changes with the evaluator's weights; None if it has none."""
    version: Hashable = getattr(evaluator, "version", None)
    return version


class EvaluationCache:
    """At most ``capacity`` evaluations of positions by ``evaluator``, shared by the searches that are given this cache.

    A search finds the same, bit for bit, with a cache and without: a position in the cache keeps its place in its batch
    but is not sent to the evaluator. ``SearchConfig.cache`` gives every searcher a cache of its own; ``Searcher(…,
    cache=…)`` shares one between searchers of the same game and evaluator. Searches in several threads may share it.
    """

    def __init__(self, evaluator: object, capacity: int) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int) or not 1 <= capacity <= 2**31:
            raise ValueError(f"capacity must be a whole number from 1 to {2**31}, not {capacity!r}")
        self.evaluator = evaluator
        self.core = _core.EvaluationCache(capacity)
        self._lock = threading.Lock()
        self._version = version_of(evaluator)

    def __len__(self) -> int:
        return len(self.core)

    def __repr__(self) -> str:
        return f"EvaluationCache({self.evaluator!r}, {self.capacity}): {len(self)} positions"

    @property
    def capacity(self) -> int:
        """The maximum number of evaluations."""
        return self.core.capacity

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self.core.bytes

    def clear(self) -> None:
        """Discard all evaluations, and those in progress."""
        self.core.clear()

    def follow(self) -> None:
        """Discard what was evaluated with other weights than the present ones.

        Called before leaves are looked up and before evaluations are stored: an evaluation during which the weights
        changed may be of either version, and is not stored.
        """
        with self._lock:
            version = version_of(self.evaluator)
            if version != self._version:
                self.core.clear()
                self._version = version


def hit_rate(hits: int, misses: int) -> float:
    """Fraction of leaves found in a cache; 0 before the first one."""
    return hits / max(1, hits + misses)
