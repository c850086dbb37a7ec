"""What every command has: one line when Ctrl-C ends it, and ``--debug``, the traceback that a line hides."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, NoReturn, get_type_hints

VARIABLE = "RAMIFY_DEBUG"  # the same for every command of a shell
OPTION = "--debug"

_asked = False


def show_tracebacks(asked: bool) -> None:
    """Whether messages come with the traceback that led to them, for the rest of this command."""
    global _asked
    _asked = asked


def asked_for(arguments: Sequence[str]) -> bool:
    """Whether tracebacks are wanted, before anybody has read the options: reading them may fail."""
    return os.environ.get(VARIABLE, "") not in ("", "0") or OPTION in arguments


def debugging() -> bool:
    return _asked


def print_traceback(error: BaseException | None = None) -> None:
    """Of this error, or the one being handled, or the way here if there is none; nothing unless asked for."""
    if not _asked:
        return
    error = error if error is not None else sys.exc_info()[1]
    if error is not None:
        traceback.print_exception(error, file=sys.stderr)
    else:
        stack = traceback.format_stack(sys._getframe(1))
        print("Traceback (most recent call last):\n" + "".join(stack), end="", file=sys.stderr)


def stop() -> NoReturn:
    """End as Ctrl-C should."""
    print_traceback()
    print("ramify: stopped", file=sys.stderr)
    sys.exit(130)


def as_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """The function with what every command has. Typer reads options off a signature: so this makes a new one."""
    import typer

    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    given = [p.replace(annotation=hints.get(p.name, p.annotation)) for p in signature.parameters.values()]
    option = Annotated[bool, typer.Option(OPTION, help=f"Show tracebacks of errors; also {VARIABLE}=1.")]
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)

    @wraps(command)
    def wrapped(*args: Any, debug: bool = False, **settings: Any) -> Any:
        if debug:
            show_tracebacks(True)
        try:
            return command(*args, **settings)
        except KeyboardInterrupt:  # typer would end without a word
            stop()

    wrapped.__signature__ = signature.replace(parameters=[*given, debug])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**hints, "debug": option}
    return wrapped
