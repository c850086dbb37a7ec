"""Analysis over JSON lines: one query a line in, one answer a line out, in the order in which searches end.

Queries may be of any game, and several are searched at once. A line that cannot be answered gets a line with an error,
and nothing else is disturbed. docs/protocols.md describes queries and answers.
"""

from __future__ import annotations

import itertools
import json
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ramify.engine import Searcher
from ramify.engine.batch import NativeEvaluator
from ramify.engine.cache import EvaluationCache
from ramify.evaluators.simple import suited
from ramify.games import Game
from ramify.protocols.analysis_query import ACTION_FIELDS, ACTIONS, Defaults, Job, QueryError, answer, read_jobs

LONGEST = 1 << 24  # characters of a query
Write = Callable[[str], None]
ChooseEvaluator = Callable[[Game], Any]


@dataclass(order=True)
class _Waiting:
    """A job in the queue: higher priority first, then in the order in which they came."""

    rank: tuple[int, int]
    job: Job | None = field(compare=False)  # None ends a worker


@dataclass
class _Running:
    """A search in progress."""

    job: Job
    searcher: Searcher | None = None  # once it has begun
    terminated: bool = False


class AnalysisServer:
    """Answers queries with several searches at once. Every worker thread has evaluators of its own."""

    def __init__(
        self,
        write: Write,
        choose_evaluator: ChooseEvaluator,
        defaults: Defaults,
        *,
        parallel: int = 1,
        cache: int = 100_000,
        version: str = "",
    ) -> None:
        self._write, self._choose, self.defaults, self._version = write, choose_evaluator, defaults, version
        self._cache_size = cache
        self._queue: queue.PriorityQueue[_Waiting] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._lock = threading.Lock()  # of what follows
        self._waiting: dict[int, Job] = {}
        self._running: list[_Running] = []
        self._caches: list[EvaluationCache] = []
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(parallel)]
        for thread in self._threads:
            thread.start()

    def serve(self, lines: Iterable[str]) -> None:
        """Answer all queries; returns when the last one is answered."""
        for line in lines:
            if line.strip():
                self.receive(line)
        self.finish()

    def finish(self) -> None:
        """Answer what was asked, then end the workers."""
        for _ in self._threads:
            self._queue.put(_Waiting((2**62, next(self._numbers)), None))
        for thread in self._threads:
            thread.join()

    def receive(self, line: str) -> None:
        """Take one line: start what it asks for, or answer with an error."""
        identity: Any = None
        try:
            if len(line) > LONGEST:
                raise QueryError("the line is too long")
            try:
                query = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise QueryError(f"not a JSON object: {error}") from None
            if not isinstance(query, dict):
                raise QueryError(f"a query must be a JSON object, not {type(query).__name__}")
            identity = query.get("id")
            if "action" in query:
                self._act(query)
            else:
                self._enqueue(read_jobs(query, self.defaults))
        except QueryError as error:
            self._send_error(identity, error, error.field)

    def _send(self, data: dict[str, Any]) -> None:
        text = json.dumps(data, ensure_ascii=False) + "\n"
        with self._lock:
            self._write(text)

    def _send_error(self, identity: Any, error: Exception, field: str | None = None, turn: int | None = None) -> None:
        said: dict[str, Any] = {"id": identity, "error": " ".join(str(error).split())}
        if field is not None:
            said["field"] = field
        if turn is not None:
            said["turn"] = turn
        self._send(said)

    def _enqueue(self, jobs: list[Job]) -> None:
        for job in jobs:
            number = next(self._numbers)
            with self._lock:
                self._waiting[number] = job
            self._queue.put(_Waiting((-job.priority, number), job))

    def _act(self, query: dict[str, Any]) -> None:
        action = query["action"]
        if action not in ACTIONS:
            raise QueryError(f"there is no action {action!r}; the actions are {', '.join(ACTIONS)}", "action")
        if unknown := sorted(query.keys() - ACTION_FIELDS):
            raise QueryError(f"an action has no field {unknown[0]!r}", unknown[0])
        more: dict[str, Any] = {}
        if action == "terminate":
            if "terminate_id" not in query:
                raise QueryError("terminate needs the terminate_id of a query", "terminate_id")
            more["terminated"] = self._terminate(lambda job: bool(job.id == query["terminate_id"]))
        elif action == "terminate_all":
            more["terminated"] = self._terminate(lambda _: True)
        elif action == "clear_cache":
            with self._lock:
                for cache in self._caches:
                    cache.clear()
        else:
            more["version"] = self._version
        self._send({**query, **more})

    def _terminate(self, chosen: Callable[[Job], bool]) -> int:
        """End searches and drop waiting ones; returns how many. Each still gets an answer."""
        with self._lock:
            dropped = {number: job for number, job in self._waiting.items() if chosen(job)}
            for number in dropped:
                del self._waiting[number]
            ended = [running for running in self._running if chosen(running.job)]
            for running in ended:
                running.terminated = True
                if running.searcher is not None:
                    running.searcher.stop()
        for job in dropped.values():
            self._send({"id": job.id, "turn": job.turn, "final": True, "no_results": True})
        return len(dropped) + len(ended)

    # In the worker threads.

    def _work(self) -> None:
        evaluators: dict[str, tuple[Any, EvaluationCache | None]] = {}
        while (waiting := self._queue.get()).job is not None:
            with self._lock:
                job = self._waiting.pop(waiting.rank[1], None)
                if job is None:  # it was terminated
                    continue
                running = _Running(job)
                self._running.append(running)
            try:
                self._search(running, evaluators)
            except (
                Exception
            ) as error:  # whatever an evaluator or a game raises: the next query is answered all the same
                self._send_error(job.id, error, turn=job.turn)
            finally:
                with self._lock:
                    self._running.remove(running)

    def _search(self, running: _Running, evaluators: dict[str, tuple[Any, EvaluationCache | None]]) -> None:
        job = running.job
        game = job.state.game
        evaluator, cache = self._evaluator(game, evaluators)
        searcher = Searcher(game, evaluator, suited(job.config, evaluator), seed=job.seed, cache=cache)
        with self._lock:
            if running.terminated:
                stopped = True
            else:
                stopped, running.searcher = False, searcher
        if stopped:
            self._send({"id": job.id, "turn": job.turn, "final": True, "no_results": True})
            return
        with _Reports(self, job, searcher):
            result = searcher.run(job.state, actions=job.only)
        self._send(answer(job, result, final=True))

    def _evaluator(
        self, game: Game, known: dict[str, tuple[Any, EvaluationCache | None]]
    ) -> tuple[Any, EvaluationCache | None]:
        """The evaluator of a game in this thread, and its cache; made when the first query needs it."""
        key = str(game)
        if key not in known:
            evaluator = self._choose(game)
            cache = None
            if self._cache_size and not isinstance(evaluator, NativeEvaluator):
                cache = EvaluationCache(evaluator, self._cache_size)
                with self._lock:
                    self._caches.append(cache)
            known[key] = (evaluator, cache)
        return known[key]


class _Reports:
    """Sends what a search has found so far, every few seconds while it runs."""

    def __init__(self, server: AnalysisServer, job: Job, searcher: Searcher) -> None:
        self._server, self._job, self._searcher = server, job, searcher
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True) if job.report_every is not None else None

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _report(self) -> None:
        while not self._over.wait(self._job.report_every):
            result = self._searcher.snapshot()
            if result is not None and not self._over.is_set():
                self._server._send(answer(self._job, result, final=False))
