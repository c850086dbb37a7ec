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
NOTE_SECONDS = 0.1  # between two notes of what a search has found so far

Turns = Sequence[tuple[int, ...]]


def reserve(seconds: float) -> float:
    """How long before the end of ``seconds`` a search has to be over."""
    return min(MOST, max(LEAST, SHARE * seconds), seconds / 2)


class Notes:
    """What the thread of one search writes down: between two batches, for those who cannot wait for its end, and at the
    end. Every search has its own, so that one that ends late is not taken for the next."""

    def __init__(self, until: float) -> None:
        self.until = until  # when the search has to be over
        self.stopping = threading.Event()
        self.result: SearchResult | None = None  # so far
        self.ended: SearchResult | None = None
        self.failure: Exception | None = None
        self._batch_began = time.monotonic()
        self._next = self._batch_began

    def stops(self) -> bool:
        """Whether the search has to end here, because another batch like the last one would take too long."""
        now = time.monotonic()
        took, self._batch_began = now - self._batch_began, now
        return self.stopping.is_set() or now + took > self.until

    def look(self, searcher: Searcher) -> None:
        """Note the first result, and then the one so far now and then."""
        if self.result is None or time.monotonic() >= self._next:
            self.result = searcher.snapshot()
            self._next = time.monotonic() + NOTE_SECONDS


class AnytimeSearch:
    """Searches one position after another, each until its deadline, and keeps what is known of the rest of the game.

    A search runs in a thread, from ``begin`` to ``finish``. If it does not end in time, because an evaluation takes
    longer than expected, the result is what it had noted before; the thread ends on its own, and until then there are
    no further results.
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
        self._simulations = self.searcher.config.simulations
        self._progress = progress
        self._thread: threading.Thread | None = None
        self._notes = Notes(math.inf)
        self._answer_at = 0.0
        self._root: State | None = None

    @property
    def failure(self) -> Exception | None:
        """What was raised in the latest search."""
        return self._notes.failure

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
        self._wait(deadline - kept)
        self._notes = Notes(deadline - kept)
        if self._thread is not None or time.monotonic() >= deadline - kept:
            return
        given = (state.copy(), turns, self._notes, simulations or self._simulations, actions)
        self._thread = threading.Thread(target=self._run, args=given, daemon=True)
        self._thread.start()

    def wait(self, until: float) -> bool:
        """Wait for the end of the search, but not longer than this; whether it has ended."""
        self._wait(until)
        return self._thread is None

    def stop(self) -> None:
        """End the search in progress after its first simulation; ``finish`` then has its result."""
        self._notes.stopping.set()
        self.searcher.stop()

    def finish(self, until: float = math.inf) -> SearchResult | None:
        """The result as soon as it is there. In time for an answer, or at ``until`` (of time.monotonic), it is what the
        search has found so far; None if that is nothing."""
        self._wait(min(until, self._answer_at))
        if self._thread is not None:
            self.stop()
            return self._notes.result
        return self._notes.ended

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

    def _run(self, state: State, turns: Turns | None, notes: Notes, simulations: int, actions: RootActions) -> None:
        try:
            self._follow(state, turns)
            left = None if notes.until == math.inf else max(1e-3, notes.until - time.monotonic())
            self.searcher.config = self.searcher.config.replace(max_seconds=left, simulations=simulations)
            notes.ended = self.searcher.run(state, partial(self._between_batches, notes), actions=actions)
        except Exception as error:  # of the evaluator: there is no result, but the thread's owner goes on
            notes.failure, self._root = error, None

    def _between_batches(self, notes: Notes, _: Mapping[str, int]) -> None:
        if notes.stops():  # perhaps since before the run began, when the searcher took no notice
            self.searcher.stop()
            return
        notes.look(self.searcher)
        if self._progress is not None:
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
