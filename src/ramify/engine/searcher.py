"""``Searcher`` and ``search``: run the engine within its limits, with batched evaluations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from ramify import _core
from ramify.base.seeds import checked_seed
from ramify.engine.access import Access, OnInterrupt, check_on_interrupt
from ramify.engine.batch import Evaluator, LatentModel, NativeEvaluator
from ramify.engine.batching import backend_of
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.engine.latent_source import LatentSource
from ramify.engine.native import named_evaluator
from ramify.engine.pipeline import Pipeline, lanes_of
from ramify.engine.result import Report, SearchResult, played
from ramify.engine.root_actions import ALL_ACTIONS, PlayerActions, RootActions, representative, root_actions
from ramify.engine.source import RulesSource, Source
from ramify.engine.states import check_state, future_key
from ramify.engine.trace import log_run, trace_simulations, wants_trace
from ramify.games import Game, IllegalAction, State
from ramify.games.notation import action_numbers
from ramify.games.protocol import ActionLike

NATIVE_SECONDS = 0.05  # time in the core between two checks for Ctrl-C
NATIVE_SHARE = 256  # simulations of one search among many before the next one continues
EARLY_CHUNK = 64  # simulations between two checks whether the best action can still change

Progress = Callable[[Mapping[str, int]], None]


class Budget:
    """Remaining budget of a run, and how it ended."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.start = time.perf_counter()
        self.stopped = False  # by stop(), from any thread
        self.interrupted = False  # by Ctrl-C
        self._seconds: float | None = None

    @property
    def ended(self) -> bool:
        return self._seconds is not None

    def end(self) -> None:
        """Stop the clock at the end of the run."""
        self._seconds = self.elapsed()

    def left(self, searches: Sequence[_core.Search]) -> list[int]:
        """Simulations left for each search; 0 if a limit is reached. The first simulation is always made."""
        simulations, evaluations = self.config.simulations, self.config.max_evaluations
        left = [search.left(simulations, evaluations) for search in searches]
        if self.seconds() > 0:
            return left
        return [0 if search.stats["simulations"] else n for search, n in zip(searches, left, strict=True)]

    def seconds(self) -> float:
        """Remaining time; infinite without a limit, 0 once stopped."""
        if self.stopped:
            return 0.0
        limit = self.config.max_seconds
        return math.inf if limit is None else limit - self.elapsed()

    def elapsed(self) -> float:
        return time.perf_counter() - self.start if self._seconds is None else self._seconds


def make_source(
    game: Game | LatentModel, evaluator: Evaluator | NativeEvaluator | None, cache: EvaluationCache | int = 0
) -> Source:
    """The source of evaluations for a game with an evaluator, or for a latent model; ``cache``: one, or its size."""
    if isinstance(game, type):
        raise TypeError(f"game must be a game (see ramify.make) or a latent model; {_instead_of(game)}")
    if hasattr(game, "recurrent"):
        if evaluator is not None and not isinstance(evaluator, NativeEvaluator):
            raise TypeError("a latent model evaluates its own states: give Searcher no evaluator with it")
        return LatentSource(cast(LatentModel, game))
    if not hasattr(type(game), "initial_state"):
        raise TypeError(f"game must be a game (see ramify.make) or a latent model, not {type(game).__name__}")
    if evaluator is None or isinstance(evaluator, NativeEvaluator):
        return RulesSource(game, None)
    if isinstance(evaluator, type) or not hasattr(evaluator, "evaluate"):
        if not isinstance(evaluator, type) and hasattr(evaluator, "initial") and hasattr(evaluator, "recurrent"):
            raise TypeError(
                f"{type(evaluator).__name__} is a latent model, which is searched in place of the game: "
                "ramify.Searcher(model).run(state)"
            )
        raise TypeError(f"evaluator must have a method evaluate(batch); {_instead_of(evaluator)}")
    if isinstance(cache, int):
        return RulesSource(game, evaluator, cache=EvaluationCache(evaluator, cache) if cache else None)
    if cache.evaluator is not evaluator:
        raise ValueError("cache must be a cache of this searcher's evaluator: the evaluations of others differ")
    return RulesSource(game, evaluator, cache=cache)


def _instead_of(given: Any) -> str:
    """What somebody who gave this as an evaluator probably means."""
    if isinstance(given, type):
        return f"this is the class {given.__name__}, give an object of it: {given.__name__}(…)"
    if isinstance(given, str):
        return f"{given!r} is a text: ramify.evaluators.Rollout() is one, and so is ramify.pretrained(name)"
    if hasattr(given, "forward"):
        return f"for a torch module such as {type(given).__name__}, ramify.evaluators.Network(module) is one"
    if callable(given):
        return "for a function, ramify.evaluators.Function(function) is one"
    return f"{type(given).__name__} has none"


def decided(report: Report, left: int) -> bool:
    """Whether no sequence of ``left`` more visits can change any player's most visited outcome."""
    if not report["ready"]:
        return False
    for player in (0, 1):
        counts = np.sort(report["edge_visits"].sum(axis=1 - player))
        if len(counts) > 1 and counts[-1] - counts[-2] <= left:
            return False
    return True


def run_seed(seed: int, run: int) -> int:
    """The seed of a searcher's n-th run, counted from 1."""
    return (seed * 0x9E3779B97F4A7C15 + run) & (2**64 - 1)


class Searcher:
    """Searches positions of one game with one evaluator, and can reuse the graph from move to move.

    Without an evaluator the search uses ``ramify.evaluators.Rollout()``, the values of random games, as the command
    line does; ``ramify.evaluators.Uniform()`` values nothing but finished games. A latent model evaluates its own
    states.

    ``run(state)`` continues with the current graph if ``state`` is its root (after ``advance``, or in a second run on
    the same state) and starts a new one otherwise. ``simulations`` counts new simulations, whatever the graph contains.
    ``cache``: evaluations shared with other searchers; by default the searcher has its own if the config says so.

    A searcher may be used by one thread at a time: while a run is in progress, every method except ``stop``,
    ``snapshot`` and ``snapshots`` raises a RuntimeError.
    """

    def __init__(
        self,
        game: Game | LatentModel,
        evaluator: Evaluator | NativeEvaluator | None = None,
        config: SearchConfig | None = None,
        *,
        seed: int = 0,
        cache: EvaluationCache | None = None,
    ) -> None:
        if evaluator is None and not hasattr(game, "recurrent"):
            evaluator = named_evaluator()
        self.game = game
        self.evaluator = evaluator
        self._asked = game if evaluator is None else evaluator  # a latent model evaluates its own states
        config = config if config is not None else SearchConfig()
        self._source = make_source(game, evaluator, config.cache if cache is None else cache)
        self.config = config.for_evaluator(self._asked)
        self.seed = checked_seed(seed)
        self._native = evaluator if isinstance(evaluator, NativeEvaluator) else None
        self._search: _core.Search | None = None
        self._root: State | None = None
        self._only = ALL_ACTIONS  # actions of the root, per player; empty: all
        self._runs = 0
        self._generation = 0
        self._access = Access()
        self._budget: Budget | None = None  # of the latest run
        self.pipeline: Pipeline | None = None  # of the latest run with an evaluator: where its time went
        self._searched: list[tuple[_core.Search, State]] = []  # searches of the latest run with their root states

    def run(
        self,
        state: State,
        progress: Progress | None = None,
        *,
        actions: RootActions = None,
        fast: bool = False,
        on_interrupt: OnInterrupt = "raise",
    ) -> SearchResult:
        """Search ``state`` until a limit of the config is reached or ``stop`` is called.

        ``actions``: consider only these actions at the root, by number or by name; where both players act, a pair of
        lists, None for all actions of a player. Priors are renormalised among them, and what ``solver=True`` proves is
        proven of the position with these actions alone. Other actions have no visits and no prior in the result. The
        graph is reused only by runs with the same actions.
        ``fast``: run ``fast_simulations`` simulations without root noise, root temperature and forced playouts
        (playout-cap randomisation).
        ``progress``: called with the current statistics before every batch (with a native evaluator: about 20 times a
        second).
        ``on_interrupt``: Ctrl-C raises KeyboardInterrupt; with ``"return"`` it ends the run, which returns the result
        so far unless the root is not evaluated yet. The graph is kept for ``snapshot`` and the next run in both cases.
        """
        check_on_interrupt(on_interrupt)
        with self._access.alone, self._access.graphs:
            self._check(state)
            config = self.config
            if fast:
                if config.fast_simulations is None:
                    raise ValueError("run(fast=True) needs the search setting fast_simulations to be set")
                config = config.replace(simulations=config.fast_simulations)
            state = state.copy()  # the caller's may change during the run, in another thread or in progress
            search = self._search_from(state, root_actions(state, actions))
            self._generation += 1
            budget = self._begin(Budget(config), [(search, state)])
            search.begin(self._next_seed(), config.simulations, not fast)
            with self._ending(budget, on_interrupt):
                if wants_trace(self.config):
                    trace_simulations(search, state, lambda count: self._drive([search], budget, progress, count))
                else:
                    self._drive([search], budget, progress)
            return self._logged(self._result(search, state, budget))

    def run_many(
        self,
        states: Sequence[State],
        seeds: Sequence[int] | None = None,
        *,
        threads: int | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> list[SearchResult]:
        """Run independent searches with shared batches; returns one result per state.

        ``seeds``: one seed per state; each result then equals that of a new searcher with that seed and does not depend
        on the other states. Not available with native evaluators, whose random games follow the searcher's seed.
        ``threads``: number of threads that share the searches; it does not change their results. None: as configured.
        ``on_interrupt``: as in ``run``.
        """
        check_on_interrupt(on_interrupt)
        for state in states:
            self._check(state)
        if seeds is not None and self._native is not None:
            raise ValueError("seeds cannot be used with a native evaluator: use one Searcher per state instead")
        if seeds is not None and len(seeds) != len(states):
            raise ValueError(f"seeds must have one seed per state: {len(states)} states, but {len(seeds)} seeds")
        own = [run_seed(checked_seed(seed), 1) for seed in seeds] if seeds is not None else None
        if not states:
            return []
        with self._access.alone, self._access.graphs:
            config = self.config.replace(threads=1)
            self._forget()
            states = [state.copy() for state in states]
            searches = [self._source.new_search(state, config) for state in states]
            self._source.begin(states)
            for i, search in enumerate(searches):
                search.begin(self._next_seed() if own is None else own[i], config.simulations)
            pairs = list(zip(searches, states, strict=True))
            budget = self._begin(Budget(config), pairs)
            with self._ending(budget, on_interrupt):
                self._drive(searches, budget, threads=self.config.threads if threads is None else threads)
            self._searched = []  # the results keep the searches alive, but not their latent states
            for search in searches:
                search.release_slots()
            return [self._logged(self._result(search, state, budget, own=False)) for search, state in pairs]

    def check_settings(self, state: State) -> None:
        """Raise what a run on this state would raise where the settings do not fit it, without searching it."""
        self._check(state)
        self._source.new_search(state, self.config).release_slots()

    def stop(self) -> None:
        """End the run in progress, from any thread: it returns its result so far, with ``stats["stopped"]`` True.

        The run ends after the current batch (with a native evaluator: within 0.05 s), and not before its first
        simulation. Without a run in progress this has no effect, and none on the next run. A run that reaches a limit
        of its config has not been stopped: ``stats["seconds"]`` is then at least ``max_seconds`` if time ran out.
        """
        if (budget := self._budget) is not None and not budget.ended:
            budget.stopped = True

    def snapshot(self) -> SearchResult | None:
        """The result so far, from any thread; None if the root is not evaluated yet.

        During a run the snapshot is taken between two batches: the caller waits, and the run continues. Without a run
        it describes the current graph, also after Ctrl-C. For ``run_many`` with several states use ``snapshots``.
        It cannot be called from an evaluator, because the search is waiting for its evaluation.
        """
        found = self.snapshots()
        if len(found) > 1:
            raise ValueError(f"{len(found)} searches are in progress: use snapshots() to get all of them")
        return found[0] if found else None

    def snapshots(self) -> list[SearchResult | None]:
        """As ``snapshot``, for every search of the run in progress: with ``run_many`` one per state, in order."""
        return self._access.look(self._snapshots)

    def advance(self, *actions: ActionLike | tuple[ActionLike, ...]) -> None:
        """Play the actions at the root: keep the part of the graph that is still reachable and free the rest.

        Actions are given as for ``state.apply``, by number or by name; a pair may be one tuple.
        """
        with self._access.alone, self._access.graphs:
            search, root = self._search, self._root
            if search is None or root is None:
                raise ValueError("there is no graph to advance: call run(state) first")
            state = root.copy()
            state.apply(*actions)  # raises IllegalAction and leaves everything as it was
            joint = [-1, -1]
            for player, action in zip(root.acting, action_numbers(root, actions), strict=True):
                joint[player] = representative(root, player, action, self._only[player])
            search.cancel()
            only, self._only = self._only, ALL_ACTIONS
            self._root, self._searched = None, []  # if Ctrl-C arrives right after the call, the next run starts afresh
            try:
                search.advance(joint[0], joint[1])
            except ValueError:  # raised for learned models, before anything is changed
                self._root, self._searched, self._only = root, [(search, root)], only
                raise
            self._generation += 1
            if state.is_over:
                self._search = None
            else:
                self._searched = [(search, state)]
            self._root = state

    def reset(self) -> None:
        """Discard the graph: the next run starts a new one."""
        with self._access.alone, self._access.graphs:
            self._forget()

    # --- inside ---

    def _check(self, state: State) -> None:
        check_state(state)
        if isinstance(self._source, RulesSource) and state.game != self.game:
            raise ValueError(f"this searcher is for {self.game!r}, but the state belongs to {state.game!r}")
        if state.is_over:
            raise IllegalAction(f"the game is over: a finished position cannot be searched\n{state}")

    def _forget(self) -> None:
        self._generation += 1
        left = [self._search, *(search for search, _ in self._searched)]
        self._search = self._root = None
        self._only = ALL_ACTIONS
        self._searched = []
        for search in left:
            if search is not None:
                search.release_slots()  # results of earlier runs may keep it alive

    def _search_from(self, state: State, only: PlayerActions = ALL_ACTIONS) -> _core.Search:
        """The search with this root and these actions of it: the current one, or a new one."""
        search, root = self._search, self._root
        same = self._only == only and root is not None and future_key(root) == future_key(state)
        if search is not None and same:
            search.cancel()  # leaves in flight after a second Ctrl-C
            return search
        self._forget()  # keeps the attributes consistent whenever Ctrl-C arrives
        search, root = self._source.new_search(state, self.config), state.copy()
        if only != ALL_ACTIONS:
            search.restrict_root(*only)
        self._source.begin([root])
        self._search, self._root, self._only = search, root, only
        return search

    def _begin(self, budget: Budget, searched: list[tuple[_core.Search, State]]) -> Budget:
        self._budget, self._searched = budget, searched
        return budget

    @contextmanager
    def _ending(self, budget: Budget, on_interrupt: OnInterrupt) -> Iterator[None]:
        """Leave the graphs consistent however the run ends: leaves in flight are cancelled."""
        try:
            yield
        except KeyboardInterrupt:
            budget.interrupted = True
            if on_interrupt == "raise" or not all(search.report([])["ready"] for search, _ in self._searched):
                raise
        finally:
            for search, _ in self._searched:
                search.cancel()
            budget.end()

    def _snapshots(self) -> list[SearchResult | None]:
        budget = self._budget
        if budget is None:
            return []
        if self._native is not None or budget.ended:
            for search, _ in self._searched:
                search.cancel()
        return [
            self._result(search, state, budget) if search.report([])["ready"] else None
            for search, state in self._searched
        ]

    def _next_seed(self) -> int:
        self._runs += 1
        return run_seed(self.seed, self._runs)

    def _drive(
        self,
        searches: list[_core.Search],
        budget: Budget,
        progress: Progress | None = None,
        count: int | None = None,
        threads: int = 1,
    ) -> None:
        """Run until the budget is spent, or for ``count`` simulations of the first search."""
        stop_at = None if count is None else searches[0].stats["simulations"] + count

        def left(of: list[_core.Search]) -> list[int]:
            found = self._left(of, budget)
            return found if stop_at is None else [min(found[0], of[0].left(stop_at))]

        def before_batch() -> None:
            self._access.serve()
            if progress is not None:
                progress(searches[0].stats)

        group = _core.Group(threads)
        if self._native is not None:
            self._drive_native(group, searches, budget, left, before_batch)
        else:
            self._drive_batches(group, searches, left, before_batch)

    def _drive_batches(
        self,
        group: _core.Group,
        searches: list[_core.Search],
        left: Callable[[list[_core.Search]], list[int]],
        before_batch: Callable[[], None],
    ) -> None:
        """Keep batches in flight until no simulation is left and all of them are absorbed."""
        leaves, in_flight = self.config.batch, self.config.in_flight
        assert leaves != "auto"  # both were resolved by for_evaluator
        assert in_flight != "auto"
        lanes = lanes_of(searches, in_flight, self._source.overlaps)
        spent = [False] * len(lanes)

        def gather(lane: int) -> _core.LeafBatch | None:
            number, own = lanes[lane]
            simulations = left(own)
            spent[lane] = not any(simulations)
            if spent[lane]:
                return None
            return group.gather(own, number, leaves, simulations, self._source.arrays(lane, leaves * len(own)))

        with Pipeline(self._source, len(lanes)) as self.pipeline:
            pipeline = self.pipeline
            while not (all(spent) and pipeline.idle):
                for lane in range(len(lanes)):
                    before_batch()
                    with self._access.batch:
                        pipeline.refill(lane, gather, self._access.serve)

    def _drive_native(
        self,
        group: _core.Group,
        searches: list[_core.Search],
        budget: Budget,
        left: Callable[[list[_core.Search]], list[int]],
        before_batch: Callable[[], None],
    ) -> None:
        """Let the core search and evaluate, in slices of time."""
        assert self._native is not None
        while True:
            before_batch()
            simulations = left(searches)
            if not any(simulations):
                for search in searches:
                    search.cancel()  # random games that have not ended in time
                return
            seconds = min(NATIVE_SECONDS, budget.seconds())
            if len(searches) == 1:
                native = self._native
                players = native.greedy, native.prior, native.planner
                searches[0].run_native(native.rollouts, self.seed, simulations[0], seconds, *players)
            else:
                self._native_round(group, searches, simulations, seconds)

    def _left(self, searches: Sequence[_core.Search], budget: Budget) -> list[int]:
        """Simulations for each search before the budget is checked again; 0: none is left."""
        left = budget.left(searches)
        if not self.config.stop_early:
            return left
        return [self._unless_decided(search, n) for search, n in zip(searches, left, strict=True)]

    def _unless_decided(self, search: _core.Search, left: int) -> int:
        """``left``, or 0 if that many simulations can no longer change the best action."""
        if not left:
            return 0
        if self._native is None:
            return 0 if decided(search.report([]), left) else left
        # Checked at fixed counts only: the time slices of the core would make results depend on the clock.
        ahead = EARLY_CHUNK - search.stats["simulations"] % EARLY_CHUNK
        return 0 if ahead == EARLY_CHUNK and decided(search.report([]), left) else min(left, ahead)

    def _native_round(self, group: _core.Group, searches: list[_core.Search], left: list[int], seconds: float) -> None:
        """A share of simulations for every search, those with the fewest first, within the time limit."""
        assert self._native is not None
        made = [search.stats["simulations"] for search in searches]
        turn = sorted((i for i, n in enumerate(left) if n), key=made.__getitem__)
        first = min(made) == 0  # even after the time limit: a search needs one simulation for a result
        # To fixed counts: where a bundle of simulations ends must not depend on the clock.
        shares = [1 if first else min(left[i], NATIVE_SHARE - made[i] % NATIVE_SHARE) for i in turn]
        evaluator = self._native
        group.run_native(
            [searches[i] for i in turn],
            evaluator.rollouts,
            self.seed,
            shares,
            seconds,
            evaluator.greedy,
            evaluator.prior,
            evaluator.planner,
        )

    def _result(self, search: _core.Search, state: State, budget: Budget, own: bool = True) -> SearchResult:
        stats: dict[str, Any] = {
            **search.stats,
            "seconds": budget.elapsed(),
            "seed": self.seed,
            "batch": self.config.batch,
            "in_flight": self.config.in_flight,
            "backend": backend_of(self._asked),
            "interrupted": budget.interrupted,
            "stopped": budget.stopped,
        }
        line = [played(joint) for joint in search.principal_variation()]
        return SearchResult.from_report(
            search.report([]),
            num_actions=self._source.num_actions,
            principal_variation=line,
            stats=stats,
            _state=state.copy(),
            _look=self._until_next_run(search.report, own),
            _squares=self._until_next_run(search.second_moments, own),
            config=budget.config,
        )

    def _logged(self, result: SearchResult) -> SearchResult:
        log_run(self._source.name, result)
        return result

    def _until_next_run(self, look: Callable[..., Any], own: bool) -> Callable[..., Any]:
        """A query to a graph; the searcher's own graph is read between batches, and only until the next run."""
        if not own:
            return look
        generation = self._generation

        def checked(*given: Any) -> Any:
            if self._generation != generation:
                raise ValueError("the graph of this result is gone: use it before the searcher's next run or advance")
            return look(*given)

        return lambda *given: self._access.look(lambda: checked(*given))


def search(
    state: State,
    evaluator: Evaluator | NativeEvaluator | None = None,
    simulations: int = 800,
    seed: int = 0,
    *,
    actions: RootActions = None,
    on_interrupt: OnInterrupt = "raise",
    **settings: Any,
) -> SearchResult:
    """Search one position with a new Searcher. ``settings`` are the fields of SearchConfig.

    Without an ``evaluator``, positions are valued by random games: ``ramify.evaluators.Rollout()``.
    ``actions``: consider only these actions of the position, see ``Searcher.run``.
    Ctrl-C raises KeyboardInterrupt; with ``on_interrupt="return"`` it ends the search, which returns its result so far.
    """
    check_state(state)
    if isinstance(evaluator, SearchConfig) or "config" in settings:
        raise TypeError("give search settings by name, search(state, simulations=400, batch=8), or use a Searcher")
    config = SearchConfig(simulations=simulations, **settings)
    return Searcher(state.game, evaluator, config, seed=seed).run(state, actions=actions, on_interrupt=on_interrupt)
