"""Searches of positions of a game that end in time, whatever happens: in a thread, with a limit and a deadline."""

from __future__ import annotations

import threading
import time

from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.games import Game, State

LEAST, MOST, SHARE = 0.02, 0.1, 0.1  # seconds kept back for the answer: a share of the limit, within these bounds


def reserve(seconds: float) -> float:
    """How long before the end of ``seconds`` a search has to be over."""
    return min(MOST, max(LEAST, SHARE * seconds), seconds / 2)


class AnytimeSearch:
    """Searches one position after another, each until its deadline, and keeps what is known of the rest of the game.

    A search runs in a thread, from ``begin`` to ``finish``. If it does not end in time, because an evaluation takes
    longer than the limit, there is no result; the thread ends on its own, and until then there are no further results.
    """

    def __init__(self, game: Game, evaluator: Evaluator | NativeEvaluator, config: SearchConfig, seed: int = 0) -> None:
        self.searcher = Searcher(game, evaluator, config, seed=seed)
        self.failure: Exception | None = None  # of the latest search
        self._thread: threading.Thread | None = None
        self._answer_at = 0.0
        self._root: State | None = None
        self._result: SearchResult | None = None

    def begin(self, state: State, deadline: float, seconds: float) -> None:
        """Search from now on, and end before ``deadline`` (of time.monotonic), given ``seconds`` for the turn."""
        kept = reserve(seconds)
        self._answer_at = deadline - kept / 2
        self.failure, self._result = None, None
        self._wait(deadline - kept)
        if self._thread is not None or time.monotonic() >= deadline - kept:
            return
        self._thread = threading.Thread(target=self._run, args=(state.copy(), deadline - kept), daemon=True)
        self._thread.start()

    def finish(self) -> SearchResult | None:
        """The result as soon as it is there, and in time for an answer; None if there is none by then."""
        self._wait(self._answer_at)
        if self._thread is not None:
            self.searcher.stop()
            return None
        return self._result

    def close(self) -> None:
        """End the search in progress, and wait for it."""
        if self._thread is not None:
            self.searcher.stop()
            self._thread.join()

    def _wait(self, until: float) -> None:
        """Wait for the thread, if there is one, but not longer than this."""
        if self._thread is not None:
            self._thread.join(max(0.0, until - time.monotonic()))
            self._thread = self._thread if self._thread.is_alive() else None

    def _run(self, state: State, until: float) -> None:
        try:
            self._follow(state)
            left = max(1e-3, until - time.monotonic())
            self.searcher.config = self.searcher.config.replace(max_seconds=left)
            self._result = self.searcher.run(state)
        except Exception as error:  # of the evaluator: there is no result, but the thread's owner goes on
            self.failure, self._root = error, None

    def _follow(self, state: State) -> None:
        """Move the root of the graph on, if ``state`` is one turn after it."""
        root, self._root = self._root, state
        if root is None or root.is_over or root.key == state.key:
            return
        outcomes = [root.outcomes(player)[0] if player in root.acting else None for player in (0, 1)]
        for first in [-1] if outcomes[0] is None else outcomes[0]:
            for second in [-1] if outcomes[1] is None else outcomes[1]:
                actions = [int(action) for action in (first, second) if action >= 0]
                if root.after(*actions).key == state.key:
                    self.searcher.advance(*actions)
                    return
