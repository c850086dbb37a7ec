"""The ``ramify`` command. Presentation only: the other packages compute what a command shows."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence

from ramify.cli.debug import asked_for, print_traceback, show_tracebacks, stop


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. An error of the user is one line on stderr and exit code 2; Ctrl-C is exit code 130.

    With ``--debug`` the traceback is printed before that line.
    """
    show_tracebacks(asked_for(sys.argv[1:] if arguments is None else arguments))
    try:
        from ramify.cli.app import app  # may take a second, in which Ctrl-C may come too

        status = app(args=arguments, prog_name="ramify", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        stop()
    except OSError as error:  # mostly output that cannot be written: a full disk, a closed pipe
        drop_output()
        if not isinstance(error, BrokenPipeError):
            print_traceback(error)
            named = f": {error.filename}" if error.filename else ""
            print(f"ramify: {error.strerror or error}{named}", file=sys.stderr)
        sys.exit(141 if isinstance(error, BrokenPipeError) else 2)
    except Exception as error:
        # What typer raises for Ctrl-C, and for a wrong command or option; its classes have moved between versions.
        if type(error).__name__ == "Abort":
            stop()
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        print_traceback(error)
        text = plain(" ".join(message().split()))
        if command := command_of(error):
            text += f"{'' if text.endswith(('.', '?')) else '.'} See '{command} --help'."
        print(f"ramify: {text}", file=sys.stderr)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


PLAIN = {  # of pydantic's words for a wrong value, which typer passes on
    r"Input should be a valid integer.*": "must be a whole number",
    r"Input should be a valid number.*": "must be a number",
    r"Input should be greater than or equal to ": "must be at least ",
    r"Input should be less than or equal to ": "must be at most ",
}


def plain(message: str) -> str:
    """The message with plain words for what a value must be."""
    for pattern, words in PLAIN.items():
        message = re.sub(pattern, words, message)
    return message


def command_of(error: Exception) -> str | None:
    """The command whose help lists the right words, if an argument, an option or a command is missing or unknown."""
    if type(error).__name__ == "BadParameter":
        return None
    return getattr(getattr(error, "ctx", None), "command_path", None)


def drop_output() -> None:
    """Discard output that is still buffered: Python would try to write it again at exit, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
