"""Parallel self-play: search one half of the games while the positions of the other half are evaluated."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ramify import _core
from ramify.base.deprecation import renamed_arguments
from ramify.base.seeds import checked_seed
from ramify.engine.batch import (
    Arrays,
    Batch,
    Evaluation,
    Evaluator,
    NativeEvaluator,
    first_rows,
    new_arrays,
    split,
)
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.engine.result import SearchResult, action_by
from ramify.evaluators.outputs import exchanged
from ramify.games import Game
from ramify.games.registry import checked_game
from ramify.selfplay.config import PlayConfig

BUSY = (
    "this SelfPlay is in use by another thread: one thread at a time may iterate over it or read its counts; only "
    "stop() may be called from other threads"
)

Rows = tuple[Any, Any, float]  # logits, values, seconds of the evaluator


class RawAnswer:
    """Rows that are being evaluated on a device."""

    def __init__(self, handle: Any, batch: Batch, rows: int) -> None:
        self.handle, self.rows, self.started = handle, rows, time.perf_counter()
        self.seconds = batch.acting[:rows, 1] & ~batch.acting[:rows, 0]  # rows in which the viewer is player 1

    def result(self) -> Rows:
        logits, values = (array[: self.rows] for array in self.handle())
        if values.ndim == 2 and self.seconds.any():
            logits, values = exchanged(logits, self.seconds, 3), exchanged(values, self.seconds, 2)
        return logits, values, time.perf_counter() - self.started


class SelfPlay:
    """Self-play games with one evaluator. Iteration yields lists of finished game records (bytes), often empty.

    ``parallel_games`` are played at once and each finished one is replaced, until ``games`` are done (None: until
    ``stop``). Games are numbered: first those in ``unfinished``, then from ``first`` on. A game depends only on
    ``seed`` and its number. ``fixed_batches`` pads every batch to one size, for evaluators whose rounding depends on
    the batch size, such as ONNX Runtime's: then results do not depend on ``parallel_games`` or ``threads`` either.
    (Torch may also round by a row's place in the batch.) Ctrl-C raises KeyboardInterrupt out of the iteration; ``take``
    then returns the games finished in the meantime, and a new iteration continues.
    """

    @renamed_arguments(places="parallel_games")
    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | NativeEvaluator | None = None,
        search: SearchConfig | None = None,
        play: PlayConfig | None = None,
        *,
        games: int | None = None,
        parallel_games: int = 256,
        threads: int = 1,
        seed: int = 0,
        first: int = 0,
        unfinished: Sequence[int] = (),
        fixed_batches: int | None = None,
    ) -> None:
        for name, wanted, given in (("search", SearchConfig, search), ("play", PlayConfig, play)):
            if given is not None and not isinstance(given, wanted):
                raise TypeError(f"{name} must be a {wanted.__name__}, not {type(given).__name__}")
        for name, least, number in (
            ("parallel_games", 1, parallel_games),
            ("threads", 1, threads),
            ("first", 0, first),
            ("games", 0, games or 0),
            *(("unfinished", 0, number) for number in unfinished),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or not least <= number < 2**63:
                raise ValueError(f"{name} must be an integer of at least {least}, not {number!r}")
        self.game = checked_game(game, "self-play")
        self.search = (search if search is not None else SearchConfig()).for_evaluator(evaluator)
        self.play = play if play is not None else PlayConfig()
        self.evaluator = evaluator if evaluator is not None else NativeEvaluator()
        self.seed = checked_seed(seed)
        # The core samples from visits itself; actions of other policies are chosen here, move by move.
        self._acts_in_python = self.play.acting != "visits" or self.search.solver
        rollouts = self.evaluator.rollouts if isinstance(self.evaluator, NativeEvaluator) else -1
        self._native = rollouts >= 0
        self.cache = EvaluationCache(self.evaluator, self.search.cache) if self.search.cache and rollouts < 0 else None
        self._pool = _core.make_pool(
            game,
            self.search.replace(threads=1).model_dump(),
            self.play.core(self.search, ask=self._acts_in_python, rollouts=rollouts),
            self.seed,
            parallel_games,
            list(unfinished),
            first,
            -1 if games is None else games,
            threads,
            None if self.cache is None else self.cache.core,
        )
        self._alone = _core.Exclusive(BUSY)
        self._stopping = False
        self._rows = (parallel_games + 1) // 2 * self.search.batch
        if fixed_batches is not None and fixed_batches < self._rows:
            raise ValueError(f"fixed_batches must be at least {self._rows} for {parallel_games} parallel games")
        self._fixed = fixed_batches
        rows = max(self._rows, fixed_batches or 0)
        self._arrays = [self._new_arrays(rows), self._new_arrays(rows)]
        self.batches = self.evaluated = 0
        self.busy = 0.0  # seconds in which the evaluator worked
        self.waited = self.gathered = self.absorbed = self.submitted = 0.0  # seconds of the loop: where they went
        self.started = time.perf_counter()

    def _new_arrays(self, rows: int) -> Arrays:
        needs_legal = getattr(self.evaluator, "needs_legal", True)
        arrays = new_arrays(rows, self.game.observation_shape, self.game.num_actions, needs_legal)
        prepare = getattr(self.evaluator, "prepare_arrays", None)  # memory of its own, such as pinned
        return prepare(arrays) if prepare is not None else arrays

    @property
    def counts(self) -> dict[str, int]:
        """Counts of games, moves, evaluations, simulations, draws, resigned and active games, and bytes of graphs.

        ``cache_hits`` and ``cache_misses`` count the leaves that were found in the cache, and those that were not.
        """
        return self._pool.counts

    def spent(self) -> dict[str, float]:
        """Seconds in which the evaluator was busy, and seconds of the loop by activity."""
        return {
            "busy": self.busy,
            "waiting": self.waited,
            "gathering": self.gathered,
            "absorbing": self.absorbed,
            "submitting": self.submitted,
        }

    def take(self) -> list[bytes]:
        """Games finished since the iteration last yielded some, for use after it was interrupted."""
        return self._pool.take_finished()

    def stop(self) -> None:
        """Start no new games and finish those in progress. May be called from any thread."""
        self._stopping = True

    def __iter__(self) -> Iterator[list[bytes]]:
        with self._alone:
            yield from self._play_native() if self._native else self._play()
            if (
                left := self._pool.take_finished()
            ):  # games that ended in their opening, when there was nothing to search
                yield left

    def _play(self) -> Iterator[list[bytes]]:
        with ThreadPoolExecutor(1, "ramify-evaluator") as executor:
            pending: list[Future[Rows] | RawAnswer | None] = [None, None]
            try:
                while True:
                    for half in (0, 1):
                        self._finish(half, pending)
                        rows = self._gather(half)
                        if rows:
                            pending[half] = self._submit(executor, half, rows)
                    yield self._pool.take_finished()
                    if pending == [None, None] and self._pool.idle:
                        return
            finally:  # finished games were yielded already; leaves in flight are cancelled
                for future in pending:
                    if isinstance(future, Future) and not future.cancel():
                        future.exception()
                self._pool.cancel()

    def _submit(self, executor: ThreadPoolExecutor, half: int, rows: int) -> Future[Rows] | RawAnswer:
        start = time.perf_counter()
        try:
            return self._send(executor, first_rows(self._arrays[half], self._fixed or rows), rows)
        finally:
            self.submitted += time.perf_counter() - start

    def _send(self, executor: ThreadPoolExecutor, batch: Batch, rows: int) -> Future[Rows] | RawAnswer:
        if getattr(self.evaluator, "asynchronous", False):  # a device of its own, whose answers need no copy
            return RawAnswer(self.evaluator.submit_raw(batch), batch, rows)  # type: ignore[union-attr]
        return executor.submit(self._evaluate, batch, rows)

    def _play_native(self) -> Iterator[list[bytes]]:
        while not self._pool.idle:
            for half in (0, 1):
                self._gather(half)
            yield self._pool.take_finished()

    def _gather(self, half: int) -> int:
        start = time.perf_counter()
        rows = self._gather_rows(half)
        self.gathered += time.perf_counter() - start
        return rows

    def _gather_rows(self, half: int) -> int:
        if self._stopping:
            self._pool.stop()
        if self.cache is not None:
            self.cache.follow()
        rows = self._pool.gather(half, self._arrays[half])
        while self._acts_in_python and (questions := self._pool.questions()):
            for place, number, move, temperature in questions:
                self._answer(place, number, move, temperature)
            if rows:
                break  # those who were answered come along with the next batch
            rows = self._pool.gather(half, self._arrays[half])
        return rows

    def _answer(self, place: int, number: int, move: int, temperature: float) -> None:
        result = SearchResult.from_report(
            self._pool.report(place),
            num_actions=self.game.num_actions,
            principal_variation=[],
            stats={"seed": self.seed},
            config=self.search,
        )
        rng = np.random.default_rng((self.seed, number, move))
        chosen = result.action(temperature, rng, self.play.acting)
        first, second = (action_by(player, chosen) if player in result.acting else -1 for player in (0, 1))
        self._pool.answer(place, first, second)

    def _evaluate(self, batch: Batch, rows: int) -> Rows:
        start = time.perf_counter()
        answer = self.evaluator.evaluate(batch)  # type: ignore[union-attr]
        logits, values = _as_rows(answer, batch, self.game.num_actions)
        return logits[:rows], values[:rows], time.perf_counter() - start

    def _finish(self, half: int, pending: list[Future[Rows] | RawAnswer | None]) -> None:
        future = pending[half]
        if future is None:
            return
        start = time.perf_counter()
        logits, values, seconds = future.result()
        pending[half] = None
        self.waited += time.perf_counter() - start
        self.busy += seconds
        self.batches += 1
        self.evaluated += len(values)
        start = time.perf_counter()
        if self.cache is not None:
            self.cache.follow()
        self._pool.absorb(half, logits, values)
        self.absorbed += time.perf_counter() - start


def _as_rows(answer: Evaluation, batch: Batch, actions: int) -> tuple[Any, Any]:
    """Logits and values in the form of the pool: one row per position where one player acts, else one per player."""
    n = len(batch)
    logits, values = np.asarray(answer.logits), np.asarray(answer.values)
    one_each = logits.shape == (n, actions) and values.shape == (n,) and not batch.acting.all(axis=1).any()
    if one_each and logits.dtype == values.dtype == np.float32:
        return np.ascontiguousarray(logits), np.ascontiguousarray(values)
    return split(answer, batch, actions)
