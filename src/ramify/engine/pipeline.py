"""The loop behind every search: gather leaves, evaluate them, absorb the evaluations; several batches in flight."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

import numpy as np

from ramify import _core
from ramify.engine.source import Answer, Source, Waiting

NOTHING = np.zeros((0, 2), np.float32)
POLL = 0.01  # seconds between two calls of ``while_waiting``


class Evaluated:
    """An evaluation that is complete."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def result(self) -> Answer:
        return self._answer


class Pipeline:
    """Batches in flight, each in a lane of its own.

    ``refill(lane, gather)`` absorbs the batch of a lane, calls ``gather(lane)`` for the next one and starts its
    evaluation. Calling it for lane 0, 1, ..., 0, 1, ... keeps all of them in flight, and makes the order in which
    leaves are gathered and absorbed independent of how long an evaluation takes. With one lane, evaluation is not
    overlapped: it takes place in the caller's thread, and the batch is absorbed within the call.
    """

    def __init__(self, source: Source, lanes: int) -> None:
        self.source = source
        self.lanes = lanes
        self._flying: list[tuple[_core.LeafBatch, Waiting, float] | None] = [None] * lanes  # with its start
        self._executor: ThreadPoolExecutor | None = None
        self.batches = self.evaluated = 0
        self.gathered = self.submitted = self.waited = self.absorbed = 0.0  # seconds by activity
        self.busy = 0.0  # seconds in which at least one evaluation was in progress
        self._busy_until = 0.0  # end of the latest evaluation in them
        self._spans: dict[int, tuple[float, float]] = {}  # when a lane's evaluation in the executor began and ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait for evaluations in progress and discard them: their leaves have to be cancelled by the caller."""
        flying, self._flying = self._flying, [None] * self.lanes
        for one in flying:
            if one is not None and not (isinstance(one[1], Future) and one[1].cancel()):
                with suppress(Exception):
                    one[1].result()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def spent(self) -> dict[str, float]:
        """Seconds by activity."""
        return {
            "gathering": self.gathered,
            "submitting": self.submitted,
            "waiting": self.waited,
            "absorbing": self.absorbed,
        }

    @property
    def idle(self) -> bool:
        """Whether no batch is in flight."""
        return all(one is None for one in self._flying)

    def refill(
        self,
        lane: int,
        gather: Callable[[int], _core.LeafBatch | None],
        while_waiting: Callable[[], None] | None = None,
        renew: Callable[[int, _core.LeafBatch, Answer], _core.LeafBatch] | None = None,
    ) -> None:
        """Absorb the batch of this lane, if there is one, and send the next one.

        ``renew(lane, batch, answer)`` does both in one call, all of whose time counts as gathering.
        """
        before: _core.LeafBatch | None = None
        if renew is None or self._flying[lane] is None:
            self.finish(lane, while_waiting)
        else:
            before, answer = self._result(lane, while_waiting)
        start = time.perf_counter()
        self.source.follow_weights()
        batch = gather(lane) if before is None or renew is None else renew(lane, before, answer)
        self.gathered += time.perf_counter() - start
        if before is not None:
            self._count(before)
        if batch:
            start = time.perf_counter()
            self._flying[lane] = batch, self._submit(lane, batch), start
            self.submitted += time.perf_counter() - start
            if self.lanes == 1:
                self.finish(lane)

    def finish(self, lane: int, while_waiting: Callable[[], None] | None = None) -> None:
        """Wait for the batch of this lane and absorb it."""
        if self._flying[lane] is None:
            return
        batch, answer = self._result(lane, while_waiting)
        start = time.perf_counter()
        self.source.follow_weights()
        batch.absorb(*answer)
        self.absorbed += time.perf_counter() - start
        self._count(batch)

    def _result(self, lane: int, while_waiting: Callable[[], None] | None) -> tuple[_core.LeafBatch, Answer]:
        """Wait for the batch in flight in this lane."""
        flying = self._flying[lane]
        assert flying is not None
        batch, waiting, submitted = flying
        start = time.perf_counter()
        answer = _result(waiting, while_waiting)
        self._flying[lane] = None
        now = time.perf_counter()
        self.waited += now - start
        began, ended = self._spans.pop(lane, (submitted, now))
        self.busy += max(0.0, ended - max(began, self._busy_until))
        self._busy_until = max(ended, self._busy_until)
        return batch, answer

    def _count(self, absorbed: _core.LeafBatch) -> None:
        self.batches += len(absorbed) > 0
        self.evaluated += len(absorbed)

    def _submit(self, lane: int, batch: _core.LeafBatch) -> Waiting:
        if not len(batch):  # all of its leaves are in the cache
            return Evaluated((NOTHING, NOTHING, None))
        if (waiting := self.source.start(lane, len(batch))) is not None:
            return waiting
        if self.lanes == 1:
            return Evaluated(self.source.answer(lane, batch.counts))
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.lanes if self.source.concurrent else 1, "ramify-evaluator")
        return self._executor.submit(self._evaluate, lane, batch.counts)

    def _evaluate(self, lane: int, counts: Sequence[int]) -> Answer:
        began = time.perf_counter()
        answer = self.source.answer(lane, counts)
        self._spans[lane] = began, time.perf_counter()
        return answer


def _result(waiting: Waiting, while_waiting: Callable[[], None] | None) -> Answer:
    if while_waiting is None or not isinstance(waiting, Future):
        return waiting.result()
    while True:
        try:
            answer: Answer = waiting.result(POLL)
            return answer
        except TimeoutError:
            if waiting.done():  # raised by the evaluator itself
                raise
            while_waiting()


def lanes_of(searches: Sequence[_core.Search], in_flight: int, overlaps: bool) -> list[tuple[int, list[_core.Search]]]:
    """Lanes for these searches: for each the number of its batch within a search, and its searches.

    Every search has ``in_flight`` batches in flight. If that is one and evaluation overlaps with the search, many
    searches are split in two halves, of which one is searched while the other is evaluated: what a search finds does
    not depend on that.
    """
    everyone = list(searches)
    if in_flight == 1 and overlaps and len(everyone) > 1:
        middle = (len(everyone) + 1) // 2
        return [(0, everyone[:middle]), (0, everyone[middle:])]
    return [(number, everyone) for number in range(in_flight)]
