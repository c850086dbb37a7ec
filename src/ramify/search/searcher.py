"""Driving the engine: budgets, batches, evaluators, interruption."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.games import Game, IllegalAction, State
from ramify.search.batch import Batch, Evaluator, NativeEvaluator, per_player
from ramify.search.config import SearchConfig, seconds_left
from ramify.search.result import Path, Report, SearchResult
from ramify.search.trace import log_run, trace_simulations, wants_trace

log = logging.getLogger("ramify")

NATIVE_SECONDS = 0.05  # how long the core works before Python looks for Ctrl-C
EARLY_CHUNK = 64  # simulations between two looks at whether the best action can still change


class Buffers:
    """Arrays that the core fills with rows and the evaluator reads, reused from batch to batch."""

    def __init__(self, game: Game, rows: int) -> None:
        self.rows = rows
        self.arrays: dict[str, NDArray[Any]] = {
            "observations": np.zeros((rows, *game.observation_shape), np.float32),
            "legal": np.zeros((rows, 2, game.num_actions), np.uint8),
            "acting": np.zeros((rows, 2), np.uint8),
            "keys": np.zeros(rows, np.uint64),
        }

    def batch(self, rows: int) -> Batch:
        """The first rows, as an evaluator gets them."""
        arrays = self.arrays
        return Batch(
            arrays["observations"][:rows],
            arrays["legal"][:rows].view(np.bool_),
            arrays["acting"][:rows].view(np.bool_),
            arrays["keys"][:rows],
        )


def evaluate(evaluator: Evaluator, batch: Batch, num_actions: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The evaluator's answer, checked and in the core's form."""
    answer = evaluator.evaluate(batch)
    try:
        logits, values = answer.logits, answer.values
    except AttributeError:
        raise _core.EvaluatorError(
            f"evaluate() must return an Evaluation with logits and values, not {type(answer).__name__}"
        ) from None
    rows = len(batch)
    return (
        per_player(logits, rows, batch.acting, what="logits", actions=num_actions, zero_sum=True),
        per_player(values, rows, batch.acting, what="values", actions=None, zero_sum=True),
    )


class Budget:
    """What a run may still spend."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.start = time.perf_counter()

    def simulations(self, stats: dict[str, int]) -> int:
        """Simulations left, given those made; 0 when any limit is reached."""
        if stats["simulations"] and self.seconds() <= 0:
            return 0
        left = self.config.simulations - stats["simulations"]
        if self.config.max_evaluations is not None:
            left = min(left, self.config.max_evaluations - stats["evaluations"])
        return max(0, left)

    def seconds(self) -> float:
        return seconds_left(self.config.max_seconds, self.elapsed())

    def elapsed(self) -> float:
        return time.perf_counter() - self.start


def check_state(state: object) -> None:
    """Raise a TypeError unless this is a state."""
    if not hasattr(type(state), "legal_actions"):
        raise TypeError(f"a search needs a state, not {type(state).__name__}")


def decided(report: Report, left: int) -> bool:
    """Whether no sequence of ``left`` more visits can change any player's most visited outcome."""
    if not report["ready"]:
        return False
    for player in (0, 1):
        counts = np.sort(report["edge_visits"].sum(axis=1 - player))
        if len(counts) > 1 and counts[-1] - counts[-2] <= left:
            return False
    return True


class Searcher:
    """Searches positions of one game with one evaluator, and keeps the graph from move to move.

    ``run(state)`` goes on from the present graph if ``state`` is its root (after ``advance``, or a second run on the
    same state) and starts afresh otherwise. ``simulations`` counts new descents, whatever the graph already holds.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | NativeEvaluator | None = None,
        config: SearchConfig | None = None,
        *,
        seed: int = 0,
    ) -> None:
        if not hasattr(type(game), "initial_state"):
            raise TypeError(f"a Searcher needs a game (see ramify.make), not {type(game).__name__}")
        self.game = game
        self.evaluator: Evaluator | NativeEvaluator = NativeEvaluator() if evaluator is None else evaluator
        if not isinstance(self.evaluator, NativeEvaluator) and not hasattr(self.evaluator, "evaluate"):
            raise TypeError(f"{type(evaluator).__name__} is no evaluator: it has no method evaluate(batch)")
        self.config = config if config is not None else SearchConfig()
        self.seed = seed
        self._search: _core.Search | None = None
        self._root: State | None = None
        self._runs = 0
        self._generation = 0
        self._buffers: Buffers | None = None

    def run(self, state: State) -> SearchResult:
        """Search from ``state`` within the config's limits. Ctrl-C ends it early with what was found so far."""
        self._check(state)
        if self._search is None or self._root is None or self._root.key != state.key:
            self._search = self._new_search(state)
            self._root = state.copy()
        self._generation += 1
        search, budget = self._search, Budget(self.config)
        search.begin(self._next_seed())
        interrupted = False
        try:
            if wants_trace(self.config):
                trace_simulations(search, state, lambda count: self._drive(search, budget, count))
            else:
                self._drive(search, budget, None)
        except KeyboardInterrupt:
            search.cancel()
            if not search.report([])["ready"]:
                raise
            interrupted = True
        except BaseException:
            search.cancel()
            raise
        return self._result(search, state, budget, interrupted)

    def run_many(self, states: Sequence[State]) -> list[SearchResult]:
        """Independent searches with shared batches: one result per state."""
        for state in states:
            self._check(state)
        if not states:
            return []
        config = self.config.replace(threads=1)
        searches = [self._new_search(state, config) for state in states]
        for search in searches:
            search.begin(self._next_seed())
        budget = Budget(config)
        group = _core.Group(self.config.threads)
        interrupted = False
        try:
            self._drive_many(group, searches, budget)
        except KeyboardInterrupt:
            for search in searches:
                search.cancel()
            if not all(search.report([])["ready"] for search in searches):
                raise
            interrupted = True
        except BaseException:
            for search in searches:
                search.cancel()
            raise
        return [
            self._result(search, state, budget, interrupted, own=False)
            for search, state in zip(searches, states, strict=True)
        ]

    def advance(self, *actions: int) -> None:
        """Play the actions at the root: keep the part of the graph that can still be reached, free the rest."""
        if self._search is None or self._root is None:
            raise ValueError("nothing to advance: run a search first")
        root, state = self._root, self._root.copy()
        state.apply(*actions)  # raises IllegalAction and leaves everything as it was
        self._generation += 1
        self._root = state
        if state.is_over:
            self._search = None
            return
        joint = [-1, -1]
        for player, action in zip(root.acting, actions, strict=True):
            representatives, index = root.outcomes(player)  # the graph knows one action per outcome
            joint[player] = int(representatives[index[int(action)]])
        self._search.advance(joint[0], joint[1])

    def reset(self) -> None:
        """Forget the graph: the next run starts afresh."""
        self._generation += 1
        self._search = self._root = None

    # --- inside ---

    def _check(self, state: State) -> None:
        check_state(state)
        if state.game != self.game:
            raise ValueError(f"this searcher is for {self.game!r}; the state belongs to {state.game!r}")
        if state.is_over:
            raise IllegalAction(f"the game is over; there is nothing to search in\n{state}")

    def _next_seed(self) -> int:
        self._runs += 1
        return (self.seed * 0x9E3779B97F4A7C15 + self._runs) & (2**64 - 1)

    def _new_search(self, state: State, config: SearchConfig | None = None) -> _core.Search:
        settings = (config or self.config).model_dump()
        if isinstance(state, _core.State):
            return _core.make_search(state.copy(), settings)
        return _core.make_python_search(state.copy(), settings)

    def _drive(self, search: _core.Search, budget: Budget, count: int | None) -> None:
        """Run until the budget is spent, or for ``count`` simulations."""
        stop_at = None if count is None else search.stats["simulations"] + count
        while True:
            stats = search.stats
            left = budget.simulations(stats)
            if stop_at is not None:
                left = min(left, stop_at - stats["simulations"])
            if left <= 0 or (self.config.stop_early and decided(search.report([]), left)):
                return
            if self.config.stop_early:
                left = min(left, EARLY_CHUNK)
            if isinstance(self.evaluator, NativeEvaluator):
                seconds = min(NATIVE_SECONDS, budget.seconds())
                search.run_native(self.evaluator.rollouts, self.seed, left, seconds)
            else:
                self._batch(search, left)

    def _batch(self, search: _core.Search, left: int) -> None:
        assert not isinstance(self.evaluator, NativeEvaluator)
        rows = search.collect(self.config.batch, left)
        if not rows:
            return
        if self._buffers is None or self._buffers.rows < rows:
            self._buffers = Buffers(self.game, max(rows, self.config.batch))
        search.write(self._buffers.arrays, 0)
        logits, values = evaluate(self.evaluator, self._buffers.batch(rows), self.game.num_actions)
        search.absorb(logits, values, 0)

    def _drive_many(self, group: _core.Group, searches: list[_core.Search], budget: Budget) -> None:
        if isinstance(self.evaluator, NativeEvaluator):
            self._drive_many_native(group, searches, budget)
            return
        buffers = Buffers(self.game, self.config.batch * len(searches))
        while True:
            left = [budget.simulations(search.stats) for search in searches]
            if not any(left):
                return
            rows = group.gather(searches, self.config.batch, left, buffers.arrays)
            total = sum(rows)
            if total:
                logits, values = evaluate(self.evaluator, buffers.batch(total), self.game.num_actions)
                group.absorb(searches, rows, logits, values)

    def _drive_many_native(self, group: _core.Group, searches: list[_core.Search], budget: Budget) -> None:
        assert isinstance(self.evaluator, NativeEvaluator)
        share = max(1, min(self.config.simulations, 4096))
        while True:
            left = [budget.simulations(search.stats) for search in searches]
            busy = [search for search, n in zip(searches, left, strict=True) if n > 0]
            if not busy:
                return
            count = min(share, min(n for n in left if n > 0))
            group.run_native(busy, self.evaluator.rollouts, self.seed, count, math.inf)

    def _result(
        self, search: _core.Search, state: State, budget: Budget, interrupted: bool, own: bool = True
    ) -> SearchResult:
        elapsed = budget.elapsed()
        stats: dict[str, Any] = {**search.stats, "seconds": elapsed, "seed": self.seed, "interrupted": interrupted}
        line = [_actions(joint) for joint in search.principal_variation()]
        result = SearchResult.from_report(
            search.report([]),
            num_actions=self.game.num_actions,
            principal_variation=line,
            stats=stats,
            _state=state.copy(),
            _look=self._looker(search, own),
        )
        log_run(self.game, result)
        return result

    def _looker(self, search: _core.Search, own: bool) -> Callable[[Path], Report]:
        generation = self._generation

        def look(path: Path) -> Report:
            if own and self._generation != generation:
                raise ValueError("the searcher has moved on; look at a result before the next run or advance")
            return search.report(path)

        return look


def _actions(joint: tuple[int, int]) -> Any:
    played = tuple(action for action in joint if action >= 0)
    return played if len(played) == 2 else played[0]


def search(
    state: State,
    evaluator: Evaluator | NativeEvaluator | None = None,
    simulations: int = 800,
    seed: int = 0,
    **settings: Any,
) -> SearchResult:
    """Search one position: a Searcher for a single run. Settings are those of SearchConfig."""
    check_state(state)
    config = SearchConfig(simulations=simulations, **settings)
    return Searcher(state.game, evaluator, config, seed=seed).run(state)
