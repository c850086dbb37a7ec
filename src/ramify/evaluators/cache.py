"""A cache of evaluations."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import Batch, Evaluation, split
from ramify.engine.batching import backend_of
from ramify.engine.cache import hit_rate
from ramify.engine.config import c_puct_of
from ramify.evaluators.pending import Later, Pending, Ready, Submitting, checked, submit, version_of

Entry = tuple[NDArray[np.float32], NDArray[np.float32]]  # logits of the legal actions of both players; values [2]


class Cached(Submitting):
    """A least-recently-used cache of ``capacity`` evaluations by key, around the evaluator ``inner``.

    If two rows of a batch have the same key, one is evaluated. Only logits of legal actions are stored (others are
    returned as 0), so that an entry of chess takes hundreds of bytes, not tens of thousands. The cache is cleared when
    the weights of ``inner`` change. It is thread-safe and can be shared by searches. For searches and self-play, the
    cache of the compiled core is faster: ``SearchConfig.cache``.
    """

    def __init__(self, inner: Any, capacity: int = 100_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self.inner = checked(inner)
        self.capacity = capacity
        self.hits = 0  # rows answered without an evaluation
        self.misses = 0  # rows given to inner
        self._lock = threading.Lock()
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._version = version_of(inner)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Cached({self.inner!r}, {self.capacity}): {len(self)} positions, {100 * self.hit_rate:.1f} % hits"

    @property
    def hit_rate(self) -> float:
        """Fraction of rows found in the cache; 0 before the first row."""
        return hit_rate(self.hits, self.misses)

    @property
    def version(self) -> Hashable:
        """The version of the inner evaluator."""
        return version_of(self.inner)

    @property
    def backend(self) -> str | None:
        """The ``backend`` of the inner evaluator."""
        return backend_of(self.inner)

    @property
    def c_puct(self) -> float:
        """The ``c_puct`` of the inner evaluator."""
        return c_puct_of(self.inner)

    def clear(self) -> None:
        """Clear the cache and the counts of hits and misses."""
        with self._lock:
            self._entries.clear()
            self.hits = self.misses = 0

    def submit(self, batch: Batch) -> Pending:
        keys: list[int] = batch.keys.tolist()
        found, missing, version = self._look_up(keys, legal_counts(batch.legal).tolist())
        legal = batch.legal
        if not missing:
            return Ready(assemble(legal, [found[key] for key in keys]))
        rows = np.fromiter(missing.values(), np.intp, len(missing))
        wanted = Batch(batch.observations[rows], legal[rows], batch.acting[rows], batch.keys[rows])
        pending, legal = submit(self.inner, wanted), legal.copy()

        def finish() -> Evaluation:
            logits, values = split(pending.result(), wanted)
            chosen = logits[wanted.legal]
            fresh = dict(zip(missing, entries_of(chosen, values, wanted.legal), strict=True))
            if np.isfinite(chosen).all() and np.isfinite(values).all():  # other values are rejected by the search
                self._store(fresh, version)
            return assemble(legal, [found.get(key) or fresh[key] for key in keys])

        return Later(finish)

    def _look_up(self, keys: list[int], sizes: list[int]) -> tuple[dict[int, Entry], dict[int, int], Any]:
        """Cached entries by key, the row of each missing key, and the version of both."""
        found: dict[int, Entry] = {}
        missing: dict[int, int] = {}
        with self._lock:
            self._follow_version()
            for row, (key, size) in enumerate(zip(keys, sizes, strict=True)):
                entry = self._entries.get(key)
                if (
                    entry is not None and len(entry[0]) == size
                ):  # otherwise two positions have the same key, and the entry is not used
                    found[key] = entry
                    self._entries.move_to_end(key)
                else:
                    missing.setdefault(key, row)
            self.misses += len(missing)
            self.hits += len(keys) - len(missing)
            return found, missing, self._version

    def _store(self, fresh: dict[int, Entry], version: Any) -> None:
        with self._lock:
            self._follow_version()
            if self._version != version:  # the weights changed during the evaluation, so it may be of either version
                return
            for key, entry in fresh.items():
                self._entries[key] = entry
                self._entries.move_to_end(key)
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)

    def _follow_version(self) -> None:
        version = version_of(self.inner)
        if version != self._version:
            self._entries.clear()
            self._version = version


def legal_counts(legal: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Legal actions of both players, per row."""
    counts: NDArray[np.intp] = np.count_nonzero(legal.reshape(len(legal), -1), axis=1)
    return counts


def entries_of(logits: NDArray[np.float32], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> list[Entry]:
    """One entry per row from the logits of legal actions, as copies: views would keep whole batches in memory."""
    ends = np.cumsum(legal_counts(legal)).tolist()
    return [(logits[start:end].copy(), row.copy()) for start, end, row in zip([0, *ends], ends, values, strict=False)]


def assemble(legal: NDArray[np.bool_], entries: list[Entry]) -> Evaluation:
    """Full rows from entries."""
    logits = np.zeros(legal.shape, np.float32)
    if entries:
        logits[legal] = np.concatenate([entry[0] for entry in entries])
    return Evaluation(logits, np.array([entry[1] for entry in entries], np.float32).reshape(-1, 2))
