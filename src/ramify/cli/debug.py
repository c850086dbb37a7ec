"""What every command has: ``--debug``, which shows the traceback of an error, ``--import``, and one line for Ctrl-C."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, NoReturn, get_type_hints

from ramify.base.imports import import_modules

VARIABLE = "RAMIFY_DEBUG"  # the same for every command of a shell
OPTION = "--debug"
HELP = f"Show the traceback of an error. Also {VARIABLE}=1."

_asked = False


def show_tracebacks(asked: bool) -> None:
    """Turn tracebacks of errors on or off for the rest of this command."""
    global _asked
    _asked = asked


def asked_for(arguments: Sequence[str]) -> bool:
    """Whether tracebacks are wanted. Looks at the raw arguments, because parsing them may fail."""
    return os.environ.get(VARIABLE, "") not in ("", "0") or OPTION in arguments


def debugging() -> bool:
    return _asked


def print_traceback(error: BaseException | None = None) -> None:
    """With ``--debug``, print the traceback of this error, of the one being handled, or the current stack."""
    if not _asked:
        return
    error = error if error is not None else sys.exc_info()[1]
    if error is not None:
        traceback.print_exception(error, file=sys.stderr)
    else:
        stack = traceback.format_stack(sys._getframe(1))
        print("Traceback (most recent call last):\n" + "".join(stack), end="", file=sys.stderr)


def stop() -> NoReturn:
    """End the command after Ctrl-C."""
    print_traceback()
    print("ramify: stopped", file=sys.stderr)
    sys.exit(130)


def as_command(command: Callable[..., Any], *, imports: bool = True) -> Callable[..., Any]:
    """The function with the options that every command has. Typer reads options off a signature: so this makes one.

    ``imports``: whether it has ``--import``, for games and players of the user's own.
    """
    import typer

    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    given = [p.replace(annotation=hints.get(p.name, p.annotation)) for p in signature.parameters.values()]
    added: dict[str, Any] = {"debug": Annotated[bool, typer.Option(OPTION, help=HELP)]}
    if imports:
        help = "Import a Python module or file (my_game.py) that registers your own games. Repeatable."
        added = {"imports": Annotated[list[str] | None, typer.Option("--import", metavar="MODULE", help=help)], **added}
    defaults = {"debug": False, "imports": None}
    kind = inspect.Parameter.KEYWORD_ONLY
    more = [inspect.Parameter(n, kind, default=defaults[n], annotation=option) for n, option in added.items()]

    @wraps(command)
    def wrapped(*args: Any, debug: bool = False, imports: list[str] | None = None, **settings: Any) -> Any:
        from ramify.cli.common import fail, warnings_shown

        if debug:
            show_tracebacks(True)
        try:
            with warnings_shown():
                try:
                    import_modules(imports or ())
                except ImportError as error:
                    fail(error)
                return command(*args, **settings)
        except KeyboardInterrupt:  # typer would end without a word
            stop()
        except Exception as error:
            from ramify.games import BrokenGame
            from ramify.games.failures import game_failure

            if isinstance(error, BrokenGame) or game_failure(error) is not None:
                fail(error)
            raise

    wrapped.__signature__ = signature.replace(parameters=[*given, *more])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**hints, **added}
    return wrapped
