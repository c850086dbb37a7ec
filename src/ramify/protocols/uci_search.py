"""One search of the UCI engine: from ``go`` to ``bestmove``, in a thread of its own."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ramify.engine import SearchResult
from ramify.engine.alphabeta import alphabeta
from ramify.engine.result import action_by
from ramify.engine.searcher import NATIVE_SECONDS
from ramify.games import State
from ramify.protocols.anytime import AnytimeSearch, Turns, reserve
from ramify.protocols.mates import Mate, find_mate, mate_of, shorter_mate
from ramify.protocols.tablebases import TablebaseHit
from ramify.protocols.uci_info import Line, Progress, best_lines, info_lines, line_to, move_names
from ramify.protocols.uci_limits import Limits
from ramify.protocols.uci_options import UNLIMITED, UciSettings

QUICK_NODES = 2000  # of the alpha-beta search that has a move ready in a millisecond
SHORTEST = 0.015  # seconds below which that move is played
MATE_SHARE, MATE_MOST, MATE_LEAST = 0.1, 1.0, 0.2  # time for a mate: share, seconds at most, seconds without a limit
MATE_NODES, MOST_MATE_NODES = 20, 1_000_000  # of that search per simulation, and at most, where these are the limit
POLL = 0.01  # seconds between two looks at a search that something else has to stop
FIRST_INFO, EVERY_INFO = 0.1, 1.0  # seconds to the first report, and the longest between two

log = logging.getLogger("ramify")


@dataclass(frozen=True)
class Task:
    """What is to be searched."""

    state: State
    turns: Turns  # since the last search
    limits: Limits
    received: float  # when go came, by time.monotonic
    tablebase: TablebaseHit | None = None


class UciSearch:
    """A search in progress. ``done`` is set once ``bestmove`` is written; there always is one."""

    def __init__(self, task: Task, settings: UciSettings, search: AnytimeSearch, write: Callable[[str], None]) -> None:
        self.task, self.settings, self._search, self._write = task, settings, search, write
        self.done = threading.Event()
        self._stopping = threading.Event()
        self._released = threading.Event()  # by ponderhit: the clock is running
        self._hit_at = math.inf
        self._mate: Mate | None = None  # found by alpha-beta search
        self._known: list[Line] = []  # lines that need no more search, the best first
        self._made = 0  # simulations of searches that have ended
        self._next_info = task.received + FIRST_INFO
        self._info_after = FIRST_INFO
        self._fallback: tuple[int, ...] = (int(self._allowed()[0]),)
        if not task.limits.ponder:
            self.ponderhit(task.received)

    def start(self) -> None:
        """Begin. Where there is hardly any time, the answer comes at once, in this thread: another one would have to
        wait for a processor."""
        if self._is_hurried():
            self._think_safely()
        else:
            threading.Thread(target=self._think_safely, name="ramify-search", daemon=True).start()

    def stop(self) -> None:
        """Answer as soon as possible."""
        self._stopping.set()
        self._released.set()
        self._search.stop()

    def ponderhit(self, now: float | None = None) -> None:
        """The expected move was played: from now on the clock runs."""
        self._hit_at = time.monotonic() if now is None else now
        self._released.set()

    # --- in its own thread ---

    def _think_safely(self) -> None:
        try:
            chosen = self._think()
        except Exception as error:  # the client must have its move, whatever is wrong here
            log.exception("while searching")
            self._write(f"info string internal error: {type(error).__name__}: {error}".partition("\n")[0])
            chosen = self._fallback
        names = move_names(self.task.state, chosen[:2])
        self._write(f"bestmove {names[0]}" + (f" ponder {names[1]}" if len(names) > 1 else ""))
        self.done.set()

    def _think(self) -> tuple[int, ...]:
        """The line to play, of which the first move is the answer."""
        limits, seconds = self.task.limits, self._seconds()
        if not limits.moves:
            self._prepare_fallback()
        forced = len(self._allowed()) == 1 and limits.has_clock and not limits.ponder
        if forced or self._is_hurried():
            return self._fallback
        if not limits.moves and self.task.tablebase is None:
            self._look_for_mate(seconds)
        if self._mate is not None:
            self._known.append(line_to(self._mate))
        if self._mate is None or self.settings.multi_pv > 1:
            return self._search_tree(seconds)
        self._report(None)
        self._wait_for_release()
        return self._mate.line

    def _prepare_fallback(self) -> None:
        found = alphabeta(self.task.state, nodes=QUICK_NODES, table=4096)
        if self.task.tablebase is None or found.action in self._allowed():
            self._fallback = found.principal_variation[:2]
        self._mate = mate_of(found, self.task.state)
        if self._mate is not None and abs(self._mate.moves) > 1:
            self._mate = None  # quiescence may see a longer one first

    def _look_for_mate(self, seconds: float | None) -> None:
        """Spend a small part of the time on a short mate; with ``go mate`` all of it."""
        limits, nodes = self.task.limits, self._simulations()
        if self._mate is not None:
            return
        part: float | None = MATE_LEAST if seconds is None else min(MATE_MOST, MATE_SHARE * seconds)
        moves, effort = limits.get("mate"), None
        if moves is not None:
            part = None if seconds is None else max(1e-3, self._deadline(seconds) - time.monotonic())
        elif seconds is None and nodes is not None:
            part, effort = None, min(MATE_NODES * nodes, MOST_MATE_NODES)  # not by time: the result is to be repeated
        find = partial(find_mate, self.task.state, seconds=part, nodes=effort, stop=self._stopping.is_set)
        self._mate = find() if moves is None else find(moves=moves)

    def _search_tree(self, seconds: float | None) -> tuple[int, ...]:
        """Search until enough lines are known. One search is enough, unless it ends early because the best move is
        proven: then the moves that it has not looked at are searched for the other lines."""
        first = result = self._run_tree(seconds)
        while result is not None:
            if not self._known:
                self._shorten(result, seconds)
            before = len(self._known)
            self._known += best_lines(result, self.settings.multi_pv - before, self._first_moves())
            self._made += result.stats["simulations"]
            if not self._may_go_on(result, seconds) or len(self._known) == before:
                break
            result = self._run_tree(seconds)
        if not self._known:
            why = self._search.failure
            note = "no search in time" if why is None else f"the search failed: {why}".partition("\n")[0]
            self._write(f"info string {note}")
        else:
            self._report(first)
        self._wait_for_release()
        return self._choose(first)

    def _run_tree(self, seconds: float | None) -> SearchResult | None:
        """One search of the moves that are not known yet."""
        task, known, allowed = self.task, self._first_moves(), self._allowed()
        actions = [action for action in allowed if action not in known]
        if not actions:
            return None
        ends = seconds is not None and self._released.is_set()
        nodes = self._simulations()
        self._search.begin(
            task.state,
            self._deadline(seconds) if ends and seconds is not None else math.inf,
            seconds if ends and seconds is not None else math.inf,
            turns=task.turns if not self._made else [],
            simulations=None if nodes is None else max(1, nodes - self._made),
            actions=actions if len(actions) < len(task.state.legal_actions()) else None,
        )
        if self._stopping.is_set():
            self._search.stop()
        return self._search.finish(self._watch(seconds))

    def _may_go_on(self, result: SearchResult, seconds: float | None) -> bool:
        """Whether there is something left to search, and something to search it with."""
        nodes = self._simulations()
        spent = nodes is not None and self._made >= nodes
        late = seconds is not None and self._released.is_set() and time.monotonic() >= self._deadline(seconds)
        enough = len(self._known) >= self.settings.multi_pv
        return not (enough or spent or late or result.proven is None or self._stopping.is_set())

    def _first_moves(self) -> set[int]:
        return {line.actions[0] for line in self._known}

    def _watch(self, seconds: float | None) -> float:
        """Stop the search where it does not stop by itself: at a depth, and after ``ponderhit``. Returns the time by
        which its result is needed."""
        depth = self.task.limits.get("depth")
        if depth is None and not self.task.limits.ponder:
            return math.inf  # the search knows its limits
        while not self._search.wait(time.monotonic() + POLL):
            deadline = math.inf if seconds is None else self._deadline(seconds)
            late = time.monotonic() >= deadline - reserve(seconds or 0.0) - NATIVE_SECONDS
            if late or (depth is not None and self._is_deep(depth)):
                self._search.stop()
            if late:
                return deadline - reserve(seconds or 0.0) / 2
        return math.inf

    def _is_deep(self, depth: int) -> bool:
        found = self._search.searcher.snapshot()
        return found is not None and (len(found.principal_variation) >= depth or bool(found.stats["full"]))

    def _shorten(self, result: SearchResult, seconds: float | None) -> None:
        """Of a mate that the tree has proven, look for the shortest while there is time."""
        mate = best_lines(result, 1)[0]
        if mate.mate is None or mate.mate < 2 or self._is_restricted():
            return
        until = math.inf if self.task.limits.infinite else time.monotonic() + MATE_MOST
        if seconds is not None:
            end = self._deadline(seconds) - reserve(seconds) / 2
            until = min(until, end) if self.task.limits.has_clock else end
        found = shorter_mate(self.task.state, Mate(mate.mate, mate.actions), until, self._stopping.is_set)
        if found.moves < mate.mate:
            self._mate = found
            self._known.append(line_to(found))

    def _choose(self, result: SearchResult | None) -> tuple[int, ...]:
        """The line to play: the best, or drawn at a temperature unless a mate is known."""
        if not self._known:
            return self._fallback
        if result is None or self._known[0].mate is not None or self.settings.temperature == 0:
            return self._known[0].actions
        drawn = action_by(self._player, result.action(self.settings.temperature))
        known = [line.actions for line in self._known if line.actions[0] == drawn]
        return known[0] if known else (drawn,)

    def _wait_for_release(self) -> None:
        """An answer to ``go infinite`` and ``go ponder`` has to wait for ``stop`` or ``ponderhit``."""
        if self.task.limits.ponder:
            self._released.wait()
        if self.never_ends:
            self._stopping.wait()

    # --- limits ---

    @property
    def _player(self) -> int:
        return self.task.state.acting[0]

    def _allowed(self) -> list[int]:
        """The actions to choose from."""
        state, limits = self.task.state, self.task.limits
        named = limits.moves or (self.task.tablebase.moves if self.task.tablebase is not None else ())
        legal = [int(action) for action in state.legal_actions()]
        wanted = {state.action_name(action): action for action in legal}
        return [wanted[name] for name in named if name in wanted] or legal

    def _is_restricted(self) -> bool:
        return len(self._allowed()) < len(self.task.state.legal_actions())

    def _seconds(self) -> float | None:
        return self.task.limits.seconds(self._player, self.settings.overhead_ms / 1000)

    def _is_hurried(self) -> bool:
        """Whether there is no time for a search."""
        seconds = self._seconds()
        return self._released.is_set() and seconds is not None and seconds < SHORTEST

    def _deadline(self, seconds: float) -> float:
        return self._hit_at + seconds

    def _simulations(self) -> int | None:
        """Most simulations; None: no limit."""
        nodes, own = self.task.limits.get("nodes"), self.settings.simulations
        if self.task.limits.infinite:
            return None
        limits = [limit for limit in (nodes, own) if limit]
        return min(UNLIMITED, *limits) if limits else None

    @property
    def never_ends(self) -> bool:
        """Whether only ``stop`` ends the search."""
        limits = self.task.limits
        named = [limits.get(name) for name in ("depth", "nodes", "mate", "movetime")]
        ends = any(named) or limits.has_clock or self.settings.simulations
        return limits.infinite or not ends

    # --- reports ---

    def between_batches(self) -> None:
        """Called by the thread of the search: report now and then."""
        if time.monotonic() < self._next_info:
            return
        result = self._search.searcher.snapshot()
        if result is not None and result.stats["simulations"]:
            self._report(result, ended=False)
        self._info_after = min(EVERY_INFO, 2 * self._info_after)
        self._next_info = time.monotonic() + self._info_after

    def _report(self, result: SearchResult | None, *, ended: bool = True) -> None:
        """Write what is known, and what a search in progress has found besides."""
        stats = None if result is None else result.stats
        lines = list(self._known)
        if result is not None and not ended:
            lines += best_lines(result, self.settings.multi_pv - len(lines), self._first_moves())
        if (known := self.task.tablebase) is not None:
            lines = [line if line.mate is not None else Line(line.actions, known.value) for line in lines]
        progress = Progress(
            depth=len(lines[0].actions),
            deepest=0 if stats is None else stats["max_depth"],
            simulations=max(1, self._made + (0 if stats is None or ended else stats["simulations"])),
            seconds=time.monotonic() - self.task.received,
            permille=0 if stats is None else min(1000, 1000 * stats["bytes"] // (self.settings.hash_mb << 20)),
            tablebase_hits=0 if known is None else len(self.task.state.legal_actions()),
        )
        for text in info_lines(self.task.state, lines, progress, wdl=self.settings.show_wdl):
            self._write(text)
