"""``check_game``: verify the protocol of a game on random games, position by position."""

from __future__ import annotations

import ctypes
import reprlib
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np

from ramify.games import promises
from ramify.games.broken import BrokenGame
from ramify.games.ending import MOST_TURNS
from ramify.games.promises import CHECKS, Memory, Stage, Visit
from ramify.games.protocol import Game, State
from ramify.games.python_game import PythonGame
from ramify.games.report import Problem, Report, Turn

EXAMINED = 12  # positions of one game that are examined in full
THOROUGH, EVERY = 1000, 20  # form is examined in so many turns of a game, then in one of so many
PER_PROMISE = 3  # problems kept of one promise
ENOUGH = 6  # games with a problem after which no further one is played

# A method of a Python game that gave something unusable, and the promise it breaks.
_PROMISE_OF = {
    "acting": "acting",
    "legal_actions": "legal actions",
    "observation": "observation",
    "apply": "rewards",
    "chance_outcomes": "chance",
    "key": "keys",
    "action_name": "names",
    "text": "text",
    "outcomes": "outcomes",
    "transform": "symmetries",
}


def check_game(
    game: Game,
    games: int = 50,
    seed: int = 0,
    *,
    max_turns: int = MOST_TURNS,
    max_seconds: float = 60.0,
    raises: bool = True,
) -> Report:
    """Play random games and verify the Game and State protocols.

    Raises :class:`BrokenGame` with the report if a check fails, unless ``raises=False``. Each problem has the
    expected behaviour, what was observed, and how to reproduce it. A game must end within ``max_turns``. The
    check ends after ``max_seconds``, with fewer games if necessary; a call into Python code that lasts as long
    again is interrupted.
    """
    if not hasattr(type(game), "initial_state"):
        raise TypeError(f"game must be a game (see ramify.make), not {reprlib.repr(game)}")
    if games < 1:
        raise ValueError(f"games must be at least 1, not {games}")
    report = _Checker(game, games, seed, max_turns, max_seconds).run()
    if raises:
        report.raise_if_broken()
    return report


class _TimeUpError(Exception):
    """The time limit of the check is reached."""


class _StuckError(BaseException):
    """A call did not return. Not an Exception, so that a game cannot catch it by accident."""


class _Worker(threading.Thread):
    """Runs a function in a separate thread, so that the caller never hangs."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error

    def interrupt(self) -> None:
        """Raise _StuckError in the thread; a call into compiled code is interrupted only when it returns."""
        thread = ctypes.c_ulong(self.ident or 0)
        for _ in range(20):
            if self.is_alive():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_StuckError))
                self.join(0.1)


class _AbandonedError(Exception):
    """A problem was recorded; the rest of this game would only repeat it."""


class _Checker:
    def __init__(self, game: Game, games: int, seed: int, max_turns: int, max_seconds: float) -> None:
        self.game = game
        self.games = games
        self.seed = seed
        self.max_turns = max_turns
        self.max_seconds = max_seconds
        self.deadline = time.monotonic() + max_seconds
        self.memory = Memory()
        self.found: list[tuple[Stage, Problem]] = []
        self.done = self.turns = self.positions = self.failed = 0
        self.visit: Visit | None = None  # the position at hand
        self.endless = False  # a game was too long: others would take as long, and tell no more

    def run(self) -> Report:
        """The whole check."""
        worker = _Worker(self._check_all)
        worker.start()
        try:
            worker.join(2 * self.max_seconds)
        finally:  # also when the user interrupts
            stuck = worker.is_alive()
            worker.interrupt()
        if stuck:
            seen = f"a call had not returned after {2 * self.max_seconds:g} seconds{_place(worker.error)}"
            self._note("ending", Stage.FORM, seen, _StuckError())
        elif worker.error:
            raise worker.error
        return self._report()

    def _check_all(self) -> None:
        try:
            self._check_games()
        except _TimeUpError:
            if not self.done:
                seen = f"no game was over after {self.max_seconds:g} seconds, {self.turns} turns"
                self._note("ending", Stage.FORM, seen)

    def _check_games(self) -> None:
        for name, look in (
            ("declaration", promises.form.declaration),
            ("symmetries", promises.form.symmetry_forms),
        ):
            with suppress(_AbandonedError):
                self._hold(name, Stage.FORM, partial(look, self.game))
            if self.found:
                return
        for index in range(self.games):
            if self.failed < ENOUGH and not self.endless:
                with suppress(_AbandonedError):
                    self._check_one(self.seed + index, np.random.default_rng([self.seed, index]))

    def _check_one(self, seed: int, rng: np.random.Generator) -> None:
        """Check one game: play it, then replay it and examine some of its positions."""
        history: list[Turn] = []
        self._hold("playing", Stage.FORM, lambda: self._play(seed, rng, history))
        self.done += 1
        self._hold("determinism", Stage.REPEATABLE, lambda: self._walk(seed, rng, history))

    def _play(self, seed: int, rng: np.random.Generator, history: list[Turn]) -> Iterable[str]:
        """Play a random game with the form checks, in parallel with a copy that must stay equal."""
        state, twin = (promises.ask("playing", self.game.initial_state, seed) for _ in range(2))
        self.visit = Visit(self.game, state, seed, history, rng, self.memory)
        while True:
            if len(history) < THOROUGH or len(history) % EVERY == 0 or state.is_over:
                self._examine(self.visit, Stage.FORM)
                self._hold("determinism", Stage.REPEATABLE, lambda: _unequal(state, twin))
            if state.is_over:
                return ()
            if len(history) >= self.max_turns:
                self.endless = True
                self._fail("ending", Stage.FORM, f"the game is not over after {self.max_turns} turns")
            turn, before = promises.some_turn(state, rng), state.returns.copy()
            given = promises.play(state, turn)
            promises.play(twin, turn)
            history.append(turn)
            self.turns += 1
            self._hold("rewards", Stage.FORM, partial(promises.form.rewards, self.game, before, given, state.returns))

    def _walk(self, seed: int, rng: np.random.Generator, history: list[Turn]) -> Iterable[str]:
        """Replay the game and run all checks on some of its positions."""
        chosen = {0, len(history), *rng.permutation(len(history))[: EXAMINED - 2].tolist()}
        state = promises.ask("determinism", self.game.initial_state, seed)
        for turn in range(len(history) + 1):
            if turn in chosen:
                self.visit = Visit(self.game, state, seed, history[:turn], rng, self.memory)
                self._examine(self.visit, Stage.HANDLING)
                self._examine(self.visit, Stage.MEANING)
                self.positions += 1
            if turn < len(history):
                promises.ask("determinism", state.apply, *history[turn])
        return ()

    def _examine(self, visit: Visit, stage: Stage) -> None:
        for check in CHECKS:
            if check.stage is stage:
                self._hold(check.promise, stage, partial(check.look, visit))

    def _hold(self, promise: str, stage: Stage, look: Callable[[], Iterable[str]]) -> None:
        """Record the first finding of a check, or the error it raises, and abandon the game."""
        if time.monotonic() > self.deadline:
            raise _TimeUpError
        try:
            seen = next(iter(look()), None)
        except (_AbandonedError, _TimeUpError):
            raise
        except BrokenGame as error:
            method = _PROMISE_OF.get(error.method or "", promise)
            self._fail(method, stage, str(error).splitlines()[0].removesuffix(", in"), error)
        except promises.CallFailedError as failure:
            stage = Stage.REPEATABLE if failure.promise == "determinism" else Stage.FORM
            where = f"{failure.call} raised " if failure.call else ""
            self._fail(failure.promise, stage, where + _described(failure.__cause__), failure.__cause__)
        except Exception as error:
            self._fail(promise, stage, _described(error), error)
        if seen is not None:
            self._fail(promise, stage, seen)

    def _fail(self, promise: str, stage: Stage, seen: str, error: BaseException | None = None) -> NoReturn:
        self._note(promise, stage, seen, error)
        raise _AbandonedError

    def _note(self, promise: str, stage: Stage, seen: str, error: BaseException | None = None) -> None:
        self.failed += 1
        like = [problem.seen for _, problem in self.found if problem.promise == promise]
        if len(like) >= PER_PROMISE or seen in like:  # once is enough to see it
            return
        if self.visit is None:
            self.found.append((stage, Problem(promise, seen, error=error)))
            return
        stuck = isinstance(error, _StuckError)  # perhaps in text()
        text = "" if stuck else _text(self.visit.state)
        history = tuple(self.visit.history)
        self.found.append((stage, Problem(promise, seen, text, self.visit.seed, history, error)))

    def _report(self) -> Report:
        # What a later stage found may follow from what an earlier one found: only the earliest counts.
        first = min((stage for stage, _ in self.found), default=None)
        problems = tuple(problem for stage, problem in self.found if stage == first)
        return Report(
            game=repr(self.game),
            games=self.done,
            turns=self.turns,
            positions=self.positions,
            transpositions=self.memory.transpositions,
            problems=problems,
            warnings=tuple(self._warnings(len(self.found) - len(problems))),
        )

    def _warnings(self, left_out: int) -> Iterator[str]:
        if left_out:
            yield f"{left_out} findings that may follow from these problems are left out"
        if not self.found and self.done < self.games:
            yield f"only {self.done} of {self.games} games fitted into {self.max_seconds:g} seconds"
        if not self.found and not self.memory.transpositions:
            yield "no two paths to one key were met, so what equal keys promise was not tested"
        if isinstance(self.game, PythonGame) and type(self.game).key is PythonGame.key:
            yield (
                "key(position) is the default, which tells all different positions apart: "
                "define it if some of them have equal futures"
            )
        if len(self.game.symmetries) == 1:
            yield "no symmetries but the identity: training uses no mirrored or rotated positions"


def _unequal(state: State, twin: State) -> Iterator[str]:
    if changed := promises.difference(promises.facts(state), promises.facts(twin)):
        yield f"of two games with one seed and the same actions {changed}"


def _text(state: State) -> str:
    try:
        return str(state)
    except Exception as error:
        return f"(str(state) raised {type(error).__name__})"


def _described(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}{_place(error)}"


def _place(error: BaseException | None) -> str:
    """The location of an error: the last line of code outside this package."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    here = str(Path(__file__).parent)
    outside = [frame for frame in frames if not frame.filename.startswith(here)]
    return f" (in {outside[-1].name}, {outside[-1].filename}:{outside[-1].lineno})" if outside else ""
