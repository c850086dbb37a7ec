"""The command line: presentation only. What a command shows is computed by the layers above."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. A mistake of the user is one line on stderr and exit code 2; Ctrl-C is exit code 130."""
    from typer import Abort

    from ramify.cli.app import app

    try:
        status = app(args=arguments, prog_name="ramify", standalone_mode=False)
    except (Abort, KeyboardInterrupt):
        print("ramify: stopped", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        # What typer raises for a wrong command or option; its class has moved between versions.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        print(f"ramify: {' '.join(message().split())}", file=sys.stderr)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
