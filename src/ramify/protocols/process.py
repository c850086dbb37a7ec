"""An external engine process with line-based input and output, deadlines and reliable termination."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
import weakref
from typing import Any

LONGEST = 1 << 20  # bytes of a line
GRACE = 1.0  # seconds to end in peace
LINES_SHOWN, CHARACTERS_SHOWN = 3, 300  # at most, of what a program had to say when it failed


class EngineError(RuntimeError):
    """An engine violated its protocol: it died, hangs, or chose an illegal action."""


class EngineProcess:
    """A running engine. ``close``, garbage collection and the end of Python end it and its child processes."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,  # a group of its own, to be ended as a whole
            )
        except (OSError, ValueError, IndexError) as error:
            self._errors.close()
            raise EngineError(f"cannot start the engine {command!r}: {error}") from None
        self._buffer = b""
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._finalizer = weakref.finalize(self, end, self._process, self._selector, self._errors)

    def send(self, line: str) -> None:
        """Write a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except (OSError, ValueError):
            raise self._died(f"answer to {line[:60]!r}") from None

    def read_line(self, deadline: float, waiting_for: str) -> str:
        """The next line without its line end; raises EngineError after the deadline (of time.monotonic)."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > LONGEST:
                raise EngineError(f"the engine {self.command!r} wrote a line of more than {LONGEST} bytes")
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                raise EngineError(f"the engine {self.command!r} hangs: no {waiting_for} in time")
            assert self._process.stdout is not None
            chunk = self._process.stdout.read(65536)
            if not chunk:
                raise self._died(waiting_for)
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def close(self) -> None:
        """End the engine: it may exit by itself, and is killed if it does not. May be called twice."""
        self._finalizer()

    @property
    def ended(self) -> bool:
        return not self._finalizer.alive

    def _died(self, missed: str) -> EngineError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 16 * CHARACTERS_SHOWN))  # some programs write all the time
        said = last_words(self._errors.read().decode("utf-8", "replace"))
        code = self._process.returncode
        return EngineError(
            f"the engine {self.command!r} died: no {missed} (exit code {code}){': ' + said if said else ''}"
        )


def last_words(text: str) -> str:
    """The last lines of an engine's output, as one line of bounded length."""
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    said = " / ".join(lines[-LINES_SHOWN:])
    return said if len(said) <= CHARACTERS_SHOWN else f"… {said[-CHARACTERS_SHOWN:]}"


def end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, errors: Any) -> None:
    """Close the engine's input, which ends most engines; then terminate and finally kill its process group."""
    selector.close()
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
        break
    with contextlib.suppress(ProcessLookupError, PermissionError):  # what it may have started, and left
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    errors.close()
