"""Code in processes of its own: to be sent Ctrl-C, or because it may crash or hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PATIENCE = 60  # seconds until a program that should have ended is given up

# Whoever runs the tests in the background of a shell ignores Ctrl-C, and so would the child.
LISTEN = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
COMMAND = LISTEN + "from ramify.cli import main; main(sys.argv[1:])"


class Ended(NamedTuple):
    """What became of a program."""

    code: int
    out: str
    err: str


def run_python(program: str) -> Ended:
    """Run a program to its end."""
    done = subprocess.run(
        [sys.executable, "-c", LISTEN + program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def interrupt_python(program: str, after: int = 1, arguments: Sequence[str] = ()) -> Ended:
    """Start a program, read so many lines of its output, send Ctrl-C once, and let it end."""
    command = [sys.executable, "-u", "-c", LISTEN + program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            seen = "".join(process.stdout.readline() for _ in range(after))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return Ended(process.returncode, seen + out, err)


def interrupt_command(*arguments: str, after: int = 1) -> Ended:
    """The same with ``ramify`` and these arguments."""
    return interrupt_python(COMMAND, after, arguments)


def run_child(code: str, *arguments: str, timeout: float = 60) -> str:
    """What the code prints. It has to come to its end, and Python with it, without a crash; it meets the same core."""
    prefix = "import tools.load_core\n" if os.environ.get("RAMIFY_CORE") else ""
    done = subprocess.run(
        [sys.executable, "-c", prefix + code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
