"""The command line: presentation only. What a command shows is computed by the layers above."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. A mistake of the user is one line on stderr and exit code 2; Ctrl-C is exit code 130."""
    try:
        from ramify.cli.app import app  # may take a second, in which Ctrl-C may come too

        status = app(args=arguments, prog_name="ramify", standalone_mode=False)
    except KeyboardInterrupt:
        stop()
    except Exception as error:
        # What typer raises for Ctrl-C, and for a wrong command or option; its classes have moved between versions.
        if type(error).__name__ == "Abort":
            stop()
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        print(f"ramify: {' '.join(message().split())}", file=sys.stderr)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def stop() -> NoReturn:
    """End as Ctrl-C should."""
    print("ramify: stopped", file=sys.stderr)
    sys.exit(130)
