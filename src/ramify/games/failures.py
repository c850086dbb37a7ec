"""Errors in the code of a game that somebody else has written, in one sentence that says where to look."""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from ramify.base.imports import imported
from ramify.base.settings import setting_text
from ramify.games.broken import BrokenGame

PACKAGE = Path(__file__).resolve().parents[1]
Step = tuple[FrameType, int]  # of a traceback: a frame, and the line that it is at


def first_line(error: BaseException) -> str:
    """What an error says, without the position that it may show below."""
    return str(error).partition("\n")[0].removesuffix(" in")


def game_failure(error: BaseException) -> str | None:
    """The sentence for an error that was raised in, or is the fault of, a game outside this package; otherwise None.

    It names the game, the method, the error, the file and the line, and ``check_game``. A game is at fault where this
    package called it: an error of code that calls a game by itself, a player for example, is that code's own.
    """
    steps = list(_steps(error))
    if isinstance(error, BrokenGame):
        return _broken(error, steps)
    before = True  # whether the step before is of this package
    for place, (frame, _) in enumerate(steps):
        if before and (owner := _owner(frame)) is not None:
            return _raised(error, owner, steps[place:])
        before = _ours(frame.f_code.co_filename)
    if (found := _in_simulator(steps)) is not None:
        return _raised(error, *found)
    return _miscalled(error, steps) if isinstance(error, TypeError) else None


def _steps(error: BaseException) -> Iterator[Step]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _ours(file: str) -> bool:
    return PACKAGE in Path(file).resolve().parents


def _owner(frame: FrameType) -> Any:
    """The game or state whose method this frame is, if its code is not part of this package; otherwise None."""
    code = frame.f_code
    if _ours(code.co_filename) or not code.co_varnames or code.co_argcount == 0:
        return None
    owner = frame.f_locals.get(code.co_varnames[0])
    kind = type(owner)
    is_game = hasattr(kind, "initial_state") or (hasattr(kind, "legal_actions") and hasattr(kind, "apply"))
    return owner if is_game and hasattr(kind, code.co_name) else None


def _in_simulator(steps: list[Step]) -> tuple[Any, list[Step]] | None:
    """The game of a simulator that raised an error, and the steps from the simulator's own method on; None if none did.

    Between this package and that method are wrappers of the simulator's library.
    """
    from ramify.games.simulators import SimulatedGame  # which imports this module

    game, task = None, None
    for place, (frame, _) in enumerate(steps):
        code, given = frame.f_code, frame.f_locals
        if task is not None and code.co_argcount and given.get(code.co_varnames[0]) is task:
            return None if _ours(code.co_filename) else (game, steps[place:])
        if isinstance(given.get("self"), SimulatedGame) and "task" in given:
            game, task = given["self"], getattr(given["task"], "unwrapped", given["task"])
    return None


def _raised(error: BaseException, owner: Any, steps: list[Step]) -> str:
    method, file = steps[0][0].f_code.co_name, steps[0][0].f_code.co_filename
    line = [line for frame, line in steps if frame.f_code.co_filename == file][-1]
    said = " ".join(str(error).split())
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    game = getattr(owner, "game", owner)
    if method == "__init__":
        given = ", ".join(f"{name}={value!r}" for name, value in _arguments(steps[0][0]))
        return f"game {game_name(game)!r} cannot be made with {given or 'no parameters'}: {what} ({_place(file, line)})"
    return f"game {game_name(game)!r}: {method} raised {what} ({_place(file, line)}); {check_hint(game)}"


def _arguments(frame: FrameType) -> list[tuple[str, Any]]:
    """The arguments of a function by name, without the object itself, as they are now."""
    code = frame.f_code
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return [(name, frame.f_locals[name]) for name in names if name in frame.f_locals]


def _broken(error: BrokenGame, steps: list[Step]) -> str | None:
    """For an error of PythonState: one of its methods got something from the game that no game may return."""
    game = _searched_game(steps)
    if error.method is None:
        return str(error).partition("\n")[0]  # a sentence already, or the report of check_game
    if game is None:
        return None
    what = str(error).partition(", in\n")[0].removeprefix(f"{type(game).__name__}.")
    place = ""
    with suppress(OSError, TypeError, AttributeError):
        method = getattr(type(game), error.method)
        place = f" ({_place(inspect.getfile(method), inspect.getsourcelines(method)[1])})"
    return f"game {game_name(game)!r}: {' '.join(what.split())}{place}; {check_hint(game)}"


def _searched_game(steps: list[Step]) -> Any:
    """The game whose state was the last to be asked; None if there is none."""
    states = [frame.f_locals["self"] for frame, _ in steps if hasattr(frame.f_locals.get("self"), "_game")]
    return states[-1]._game if states else None


def _miscalled(error: TypeError, steps: list[Step]) -> str | None:
    """For a method of a game that has other parameters than this package gives it: no step of the error is in it."""
    game = _searched_game(steps)
    said = re.match(r"(?:[\w.<>]+\.)?(\w+)\(\) (?:takes|missing|got) ", str(error))
    if game is None or said is None:
        return None
    method = getattr(type(game), said[1], None)
    file = getattr(getattr(method, "__code__", None), "co_filename", None)
    if method is None or file is None or _ours(file):
        return None
    ours = [kind for kind in type(game).__mro__ if kind.__module__.partition(".")[0] == "ramify"]
    wanted = next((vars(kind)[said[1]] for kind in ours if said[1] in vars(kind)), None)
    right = f"; it must be {call_form(wanted)}" if wanted is not None else ""
    place = _place(file, method.__code__.co_firstlineno)
    return f"game {game_name(game)!r}: {' '.join(str(error).split())} ({place}){right}; {check_hint(game)}"


def call_form(method: Any) -> str:
    """How the definition of a method begins: its name and its parameters."""
    given = [one for one in inspect.signature(method).parameters.values() if one.kind is not one.VAR_KEYWORD]
    return f"{method.__name__}({', '.join('*' * (one.kind is one.VAR_POSITIONAL) + one.name for one in given)})"


def game_name(game: Any) -> str:
    """The name by which a game is known."""
    return str(getattr(game, "name", type(game).__name__))


def check_hint(game: Any) -> str:
    """How to look for the errors of a game: a command if the game came with ``--import``, otherwise a call."""
    name, params = game_name(game), getattr(game, "params", {})
    if imported():
        words = ["ramify", "check", name, *(word for item in params.items() for word in ("-p", setting_text(*item)))]
        words += [word for module in imported() for word in ("--import", _short(module))]
        return f"to look for the errors of the game: {shlex.join(words)} (in Python: rf.check_game)"
    given = "".join(f", {key}={value!r}" for key, value in params.items())
    return f"rf.check_game(rf.make({name!r}{given})) looks for the errors of a game"


def _short(file: str) -> str:
    """The path of a file from here if it is below, otherwise in full; the name of a module as it is."""
    short = os.path.relpath(file) if Path(file).is_absolute() else file
    return file if short.startswith(os.pardir) else short


def _place(file: str, line: int) -> str:
    return f"{_short(str(Path(file).absolute()))}:{line}"
