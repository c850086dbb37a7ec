"""Searches of positions of a game that end in time, whatever happens: in a thread, with a limit and a deadline."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.root_actions import RootActions
from ramify.games import Game, State

LEAST, MOST, SHARE = 0.02, 0.1, 0.1  # seconds kept back for the answer: a share of the limit, within these bounds

Turns = Sequence[tuple[int, ...]]


def reserve(seconds: float) -> float:
    """How long before the end of ``seconds`` a search has to be over."""
    return min(MOST, max(LEAST, SHARE * seconds), seconds / 2)


class AnytimeSearch:
    """Searches one position after another, each until its deadline, and keeps what is known of the rest of the game.

    A search runs in a thread, from ``begin`` to ``finish``. If it does not end in time, because an evaluation takes
    longer than the limit, there is no result; the thread ends on its own, and until then there are no further results.
    ``progress``: called in that thread between two batches; it may call ``searcher.snapshot()``.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | NativeEvaluator,
        config: SearchConfig,
        seed: int = 0,
        *,
        progress: Callable[[], None] | None = None,
    ) -> None:
        self.searcher = Searcher(game, evaluator, config, seed=seed)
        self.failure: Exception | None = None  # of the latest search
        self._simulations = self.searcher.config.simulations
        self._progress = progress
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._answer_at = 0.0
        self._root: State | None = None
        self._result: SearchResult | None = None

    def begin(
        self,
        state: State,
        deadline: float = math.inf,
        seconds: float = math.inf,
        *,
        turns: Turns | None = None,
        simulations: int | None = None,
        actions: RootActions = None,
    ) -> None:
        """Search from now on, and end before ``deadline`` (of time.monotonic), given ``seconds`` for the turn.

        ``turns``: what was played since the last search; None: the graph is kept if ``state`` is one turn after it.
        ``simulations``: the limit of this search, if it is not the usual one. ``actions``: as for ``Searcher.run``.
        """
        kept = reserve(seconds)
        self._answer_at = deadline - kept / 2
        self.failure, self._result = None, None
        self._wait(deadline - kept)
        if self._thread is not None or time.monotonic() >= deadline - kept:
            return
        self._stopping = threading.Event()  # of this search alone: an earlier one may still be looking at its own
        limits = (deadline - kept, simulations or self._simulations)
        self._thread = threading.Thread(target=self._run, args=(state.copy(), turns, limits, actions), daemon=True)
        self._thread.start()

    def wait(self, until: float) -> bool:
        """Wait for the end of the search, but not longer than this; whether it has ended."""
        self._wait(until)
        return self._thread is None

    def stop(self) -> None:
        """End the search in progress after its first simulation; ``finish`` then has its result."""
        self._stopping.set()
        self.searcher.stop()

    def finish(self, until: float = math.inf) -> SearchResult | None:
        """The result as soon as it is there, and in time for an answer; None if there is none by then, or at ``until``
        (of time.monotonic)."""
        self._wait(min(until, self._answer_at))
        if self._thread is not None:
            self.stop()
            return None
        return self._result

    def close(self) -> None:
        """End the search in progress, and wait for it."""
        if self._thread is not None:
            self.stop()
            self._thread.join()

    def _wait(self, until: float) -> None:
        """Wait for the thread, if there is one, but not longer than this."""
        if self._thread is not None:
            self._thread.join(None if until == math.inf else max(0.0, until - time.monotonic()))
            self._thread = self._thread if self._thread.is_alive() else None

    def _run(self, state: State, turns: Turns | None, limits: tuple[float, int], actions: RootActions) -> None:
        try:
            self._follow(state, turns)
            until, simulations = limits
            left = None if until == math.inf else max(1e-3, until - time.monotonic())
            self.searcher.config = self.searcher.config.replace(max_seconds=left, simulations=simulations)
            between_batches = partial(self._between_batches, self._stopping)
            self._result = self.searcher.run(state, between_batches, actions=actions)
        except Exception as error:  # of the evaluator: there is no result, but the thread's owner goes on
            self.failure, self._root = error, None

    def _between_batches(self, stopping: threading.Event, _: Mapping[str, int]) -> None:
        if stopping.is_set():  # perhaps since before the run began, when the searcher took no notice
            self.searcher.stop()
        elif self._progress is not None:
            self._progress()

    def _follow(self, state: State, turns: Turns | None) -> None:
        """Move the root of the graph on by these turns, or to ``state`` if it is one turn after it."""
        root, self._root = self._root, state
        if root is None or root.is_over or root.key == state.key:
            return
        try:
            for turn in turn_between(root, state) if turns is None else turns:
                self.searcher.advance(*turn)
        except ValueError:  # the game was over on the way, by rules that others do not apply
            self.searcher.reset()


def turn_between(before: State, after: State) -> Turns:
    """The one turn that leads from a position to another; nothing if there is none."""
    outcomes = [before.outcomes(player)[0] if player in before.acting else None for player in (0, 1)]
    for first in [-1] if outcomes[0] is None else outcomes[0]:
        for second in [-1] if outcomes[1] is None else outcomes[1]:
            turn = tuple(int(action) for action in (first, second) if action >= 0)
            if before.after(*turn).key == after.key:
                return [turn]
    return []
