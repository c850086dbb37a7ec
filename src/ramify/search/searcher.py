"""Driving the engine: budgets, batches, evaluators, interruption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ramify import _core
from ramify.games import Game, IllegalAction, State
from ramify.games.seeds import checked_seed
from ramify.search.batch import Evaluator, LatentModel, NativeEvaluator
from ramify.search.config import SearchConfig
from ramify.search.result import Report, SearchResult, played
from ramify.search.source import LatentSource, RulesSource, Source
from ramify.search.trace import log_run, trace_simulations, wants_trace

NATIVE_SECONDS = 0.05  # how long the core works before Python looks for Ctrl-C
NATIVE_SHARE = 256  # simulations of one search among many before the next has its turn
EARLY_CHUNK = 64  # simulations between two looks at whether the best action can still change

Progress = Callable[[Mapping[str, int]], None]


class Budget:
    """What a run may still spend."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.start = time.perf_counter()

    def left(self, searches: Sequence[_core.Search]) -> list[int]:
        """Simulations left to each; 0 where any limit is reached. Late or not, a search makes its first one."""
        simulations, evaluations = self.config.simulations, self.config.max_evaluations
        left = [search.left(simulations, evaluations) for search in searches]
        if self.seconds() > 0:
            return left
        return [0 if search.stats["simulations"] else n for search, n in zip(searches, left, strict=True)]

    def seconds(self) -> float:
        """Time still allowed; infinite without a limit."""
        limit = self.config.max_seconds
        return math.inf if limit is None else limit - self.elapsed()

    def elapsed(self) -> float:
        return time.perf_counter() - self.start


def make_source(game: Game | LatentModel, evaluator: Evaluator | NativeEvaluator | None) -> Source:
    """The answers for a game with an evaluator, or for a latent model."""
    if hasattr(game, "recurrent"):
        if evaluator is not None and not isinstance(evaluator, NativeEvaluator):
            raise TypeError("a latent model evaluates itself: a Searcher on it takes no other evaluator")
        return LatentSource(cast(LatentModel, game))
    if not hasattr(type(game), "initial_state"):
        raise TypeError(f"a Searcher needs a game (see ramify.make) or a latent model, not {type(game).__name__}")
    if evaluator is None or isinstance(evaluator, NativeEvaluator):
        return RulesSource(game, None)
    if not hasattr(evaluator, "evaluate"):
        raise TypeError(f"{type(evaluator).__name__} is no evaluator: it has no method evaluate(batch)")
    return RulesSource(game, evaluator)


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


def future_key(state: State) -> int:
    """Equal for positions with equal futures, repetitions included where the game counts them."""
    return int(getattr(state, "history_key", state.key))


def run_seed(seed: int, run: int) -> int:
    """The seed of a searcher's run: its first is run 1."""
    return (seed * 0x9E3779B97F4A7C15 + run) & (2**64 - 1)


class Searcher:
    """Searches positions of one game with one evaluator, and keeps the graph from move to move.

    ``run(state)`` goes on from the present graph if ``state`` is its root (after ``advance``, or a second run on the
    same state) and starts afresh otherwise. ``simulations`` counts new descents, whatever the graph already holds.
    """

    def __init__(
        self,
        game: Game | LatentModel,
        evaluator: Evaluator | NativeEvaluator | None = None,
        config: SearchConfig | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.game = game
        self.evaluator = evaluator
        self.config = config if config is not None else SearchConfig()
        self.seed = checked_seed(seed)
        self._source = make_source(game, evaluator)
        self._native = evaluator if isinstance(evaluator, NativeEvaluator) else None
        if evaluator is None and isinstance(self._source, RulesSource):
            self._native = NativeEvaluator()
        self._search: _core.Search | None = None
        self._root: State | None = None
        self._runs = 0
        self._generation = 0

    def run(self, state: State, progress: Progress | None = None, *, fast: bool = False) -> SearchResult:
        """Search from ``state`` within the config's limits. Ctrl-C ends it early with what was found so far.

        ``fast``: a cheap search (playout-cap randomisation) of ``fast_simulations``, without root noise, root
        temperature and forced playouts.
        ``progress`` is called with the statistics so far before every batch (inside the core: about 20 times a second).
        """
        self._check(state)
        if (
            self._search is None or self._root is None or future_key(self._root) != future_key(state)
        ):  # another position
            self._search = self._source.new_search(state, self.config)
            self._root = state.copy()
            self._source.begin([self._root])
        self._generation += 1
        config = self.config
        if fast:
            if config.fast_simulations is None:
                raise ValueError("run(fast=True) needs the search setting fast_simulations")
            config = config.replace(simulations=config.fast_simulations)
        search, budget = self._search, Budget(config)
        search.begin(self._next_seed(), budget.config.simulations, not fast)
        interrupted = False
        try:
            if wants_trace(self.config):
                trace_simulations(search, state, lambda count: self._drive(search, budget, count, progress))
            else:
                self._drive(search, budget, None, progress)
        except KeyboardInterrupt:
            search.cancel()
            if not search.report([])["ready"]:
                raise
            interrupted = True
        except BaseException:
            search.cancel()
            raise
        return self._result(search, state, budget, interrupted)

    def run_many(self, states: Sequence[State], seeds: Sequence[int] | None = None) -> list[SearchResult]:
        """Independent searches with shared batches: one result per state.

        ``seeds``: one per state, so that what is found for a state does not depend on those beside it: the same as a
        fresh searcher with that seed finds. Not for evaluators of the core, whose random games follow the searcher's.
        """
        for state in states:
            self._check(state)
        if not states:
            return []
        if seeds is not None and self._native is not None:
            raise ValueError("seeds are for evaluators outside the core; give each state a searcher of its own")
        if seeds is not None and len(seeds) != len(states):
            raise ValueError(f"one seed a state, not {len(states)} states and {len(seeds)} seeds")
        own = [run_seed(checked_seed(seed), 1) for seed in seeds] if seeds is not None else None
        config = self.config.replace(threads=1)
        self.reset()  # the model's latent states will be those of the new searches
        searches = [self._source.new_search(state, config) for state in states]
        self._source.begin(states)
        for i, search in enumerate(searches):
            search.begin(self._next_seed() if own is None else own[i], config.simulations)
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
        joint = [-1, -1]
        for player, action in zip(root.acting, actions, strict=True):
            representatives, index = root.outcomes(player)  # the graph knows one action per outcome
            joint[player] = int(representatives[index[int(action)]])
        self._search.advance(joint[0], joint[1])  # in a learned model raises InvalidInput, with the same effect
        self._generation += 1
        self._root = state
        if state.is_over:
            self._search = None

    def reset(self) -> None:
        """Forget the graph: the next run starts afresh."""
        self._generation += 1
        self._search = self._root = None

    # --- inside ---

    def _check(self, state: State) -> None:
        check_state(state)
        if isinstance(self._source, RulesSource) and state.game != self.game:
            raise ValueError(f"this searcher is for {self.game!r}; the state belongs to {state.game!r}")
        if state.is_over:
            raise IllegalAction(f"the game is over; there is nothing to search in\n{state}")

    def _next_seed(self) -> int:
        self._runs += 1
        return run_seed(self.seed, self._runs)

    def _drive(self, search: _core.Search, budget: Budget, count: int | None, progress: Progress | None) -> None:
        """Run until the budget is spent, or for ``count`` simulations."""
        stop_at = None if count is None else search.stats["simulations"] + count
        while True:
            if progress is not None:
                progress(search.stats)
            [left] = self._left([search], budget)
            if stop_at is not None:
                left = min(left, stop_at - search.stats["simulations"])
            if left <= 0:
                search.cancel()  # random games that have not ended in time
                return
            if self._native is not None:
                seconds = min(NATIVE_SECONDS, budget.seconds())
                search.run_native(self._native.rollouts, self.seed, left, seconds)
            else:
                self._batch(search, left)

    def _left(self, searches: Sequence[_core.Search], budget: Budget) -> list[int]:
        """Simulations that each is to make before the next look at the budget; 0: none is left."""
        left = budget.left(searches)
        if not self.config.stop_early:
            return left
        return [self._unless_decided(search, n) for search, n in zip(searches, left, strict=True)]

    def _unless_decided(self, search: _core.Search, left: int) -> int:
        """So many, or none if they can no longer change the best action."""
        if not left:
            return 0
        if self._native is None:
            return 0 if decided(search.report([]), left) else left
        # The clock may cut the core short: look at fixed counts only, or results would depend on it.
        ahead = EARLY_CHUNK - search.stats["simulations"] % EARLY_CHUNK
        return 0 if ahead == EARLY_CHUNK and decided(search.report([]), left) else min(left, ahead)

    def _batch(self, search: _core.Search, left: int) -> None:
        rows = search.collect(self.config.batch, left)
        if rows:
            search.write(self._source.arrays(max(rows, self.config.batch)), 0)
            logits, values, rewards = self._source.answer([rows])
            search.absorb(logits, values, 0, rewards)

    def _drive_many(self, group: _core.Group, searches: list[_core.Search], budget: Budget) -> None:
        while True:
            left = self._left(searches, budget)
            if not any(left):
                for search in searches:
                    search.cancel()  # random games that have not ended in time
                return
            if self._native is not None:
                self._native_round(group, searches, left, budget)
                continue
            arrays = self._source.arrays(self.config.batch * len(searches))
            rows = group.gather(searches, self.config.batch, left, arrays)
            if any(rows):
                logits, values, rewards = self._source.answer(rows)
                group.absorb(searches, rows, logits, values, rewards)

    def _native_round(self, group: _core.Group, searches: list[_core.Search], left: list[int], budget: Budget) -> None:
        """A share of simulations for every search, those with the fewest first, as far as the time goes."""
        assert self._native is not None
        made = [search.stats["simulations"] for search in searches]
        turn = sorted((i for i, n in enumerate(left) if n), key=made.__getitem__)
        first = min(made) == 0  # whatever the time: a search without a simulation has no result
        shares = [1 if first else min(left[i], NATIVE_SHARE) for i in turn]
        seconds = min(NATIVE_SECONDS, budget.seconds())
        group.run_native([searches[i] for i in turn], self._native.rollouts, self.seed, shares, seconds)

    def _result(
        self, search: _core.Search, state: State, budget: Budget, interrupted: bool, own: bool = True
    ) -> SearchResult:
        elapsed = budget.elapsed()
        stats: dict[str, Any] = {
            **search.stats,
            "seconds": elapsed,
            "seed": self.seed,
            "interrupted": interrupted,
        }
        line = [played(joint) for joint in search.principal_variation()]
        result = SearchResult.from_report(
            search.report([]),
            num_actions=self._source.num_actions,
            principal_variation=line,
            stats=stats,
            _state=state.copy(),
            _look=self._until_next_run(search.report, own),
            _squares=self._until_next_run(search.second_moments, own),
            config=budget.config,
        )
        log_run(self._source.name, result)
        return result

    def _until_next_run(self, look: Callable[..., Any], own: bool) -> Callable[..., Any]:
        """A look at a graph; if it is this searcher's own, only as long as that stays as it is."""
        generation = self._generation

        def checked(*given: Any) -> Any:
            if own and self._generation != generation:
                raise ValueError("the searcher has moved on; look at a result before the next run or advance")
            return look(*given)

        return checked


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
