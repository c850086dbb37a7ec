"""Code in processes of its own: to be sent Ctrl-C, or because it may crash, hang or leave something behind.

``run_command`` and ``run_program`` fork a process that has imported ramify and torch: importing them takes longer than
most commands. What depends on how Python starts and ends needs a new interpreter, as in the other functions.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, NamedTuple

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


def run_command(*arguments: str, folder: Path, typed: str = "", timeout: float = 300) -> Ended:
    """Run ``ramify`` with these arguments in a folder, with ``typed`` as its input."""
    return _forked(_run_main, arguments, folder, typed, timeout)


def run_program(code: str, *arguments: str, folder: Path, timeout: float = 300) -> Ended:
    """Run a program in a folder. It must not start processes: they would look for its file."""
    return _forked(_run_code, (code, *arguments), folder, "", timeout)


def forking_context() -> ForkServerContext:
    """For processes that are forked from one that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ramify.cli.app", "ramify.arena", "ramify.training", "ramify.store"])
    return context


def _forked(target: Callable[..., None], arguments: Sequence[str], folder: Path, typed: str, timeout: float) -> Ended:
    context = forking_context()
    with tempfile.TemporaryDirectory() as streams:
        paths = [Path(streams) / name for name in ("in", "out", "err")]
        paths[0].write_text(typed, encoding="utf-8")
        place = (str(folder.resolve()), dict(os.environ), [str(path) for path in paths])
        process: Any = context.Process(target=_begin, args=(target, arguments, *place))
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"no end within {timeout:.0f} seconds: {arguments}")
        return Ended(process.exitcode, *(path.read_text(encoding="utf-8") for path in paths[1:]))


def _begin(
    target: Callable[..., None], arguments: Sequence[str], folder: str, environment: dict[str, str], paths: list[str]
) -> None:
    """In the new process: give it its folder, environment and streams, then call ``target``."""
    os.chdir(folder)
    sys.path.insert(0, "")
    os.environ.clear()
    os.environ.update(environment)
    for number, (path, mode) in enumerate(zip(paths, "raa", strict=True)):
        with open(path, mode) as stream:  # noqa: PTH123
            os.dup2(stream.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    target(*arguments)


def _run_main(*arguments: str) -> None:
    from ramify.cli import main

    main(arguments)


def _run_code(code: str, *arguments: str) -> None:
    sys.argv = ["-c", *arguments]
    sys.modules["__main__"] = types.ModuleType("__main__")  # where its classes are looked for
    exec(code, sys.modules["__main__"].__dict__)
