"""An external engine process with line-based, bounded input and output, deadlines and reliable termination."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path

LONGEST = 1 << 20  # bytes of a line
CHUNK = 65536  # bytes read at once
GRACE = 1.0  # seconds to wait before the next, harder attempt to end an engine
LINES_SHOWN, CHARACTERS_SHOWN = 3, 300  # limits for the output quoted in error messages
LINE_SHOWN = 80  # characters of each quoted line of an answer
STDERR_READS = 16  # chunks of stderr read after an engine has died: its child processes may still be writing


class EngineError(RuntimeError):
    """An engine violated its protocol: it died, hangs, or chose an illegal action."""


def shortened(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 2 * most].split())
    return line if len(line) <= most and len(text) <= 2 * most else line[: most - 1] + "…"


def last_words(text: str) -> str:
    """The last lines of an engine's output, as one line of bounded length."""
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    said = " / ".join(lines[-LINES_SHOWN:])
    return said if len(said) <= CHARACTERS_SHOWN else f"… {said[-CHARACTERS_SHOWN:]}"


def check_program(command: str) -> None:
    """Raise an EngineError if the program of this command does not exist."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise EngineError(f"cannot start the engine {command!r}: {error}") from None
    if not words:
        raise EngineError(f"cannot start the engine {command!r}: the command is empty")
    if shutil.which(words[0]) is None:
        found = Path(words[0]).exists()
        problem = f"{words[0]!r} is not executable" if found else f"there is no program {words[0]!r}"
        raise EngineError(f"cannot start the engine {command!r}: {problem}")


class EngineProcess:
    """A running engine. ``close``, garbage collection and the end of Python end it and its child processes.

    At most a line, a chunk and the end of stderr are kept in memory, however much the engine writes.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        check_program(command)
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # its own process group, which is ended as a whole
            )
        except (OSError, ValueError) as error:
            raise EngineError(f"cannot start the engine {command!r}: {error}") from None
        self._lines: deque[bytes] = deque()  # received, but not returned by read_line yet
        self._rest = b""  # an incomplete line
        self._recent: deque[str] = deque(maxlen=LINES_SHOWN)
        self._errors = b""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._poll = select.poll()  # for ``read_until``: it takes a third of a selector's time
        for pipe in (self._stdout, self._stderr):
            self._poll.register(pipe, select.POLLIN)
        self._finalizer = weakref.finalize(self, end, self._process, self._selector)

    def send(self, line: str, deadline: float) -> None:
        """Write a line; raises EngineError if the engine has not read it by the deadline (of time.monotonic)."""
        self._recent.clear()
        left = line.encode() + b"\n"
        while left:
            try:
                left = left[os.write(self._stdin.fileno(), left) :]
            except BlockingIOError:  # the pipe is full: earlier lines have not been read
                self._read_errors()
                if time.monotonic() > deadline:
                    raise self._hangs(f"reader of {shortened(line, LINE_SHOWN)!r}") from None
                time.sleep(0.01)
            except (OSError, ValueError):
                raise self._died(f"answer to {shortened(line, LINE_SHOWN)!r}") from None

    def read_line(self, deadline: float, waiting_for: str) -> str:
        """The next line without its line end; raises EngineError after the deadline (of time.monotonic).

        The deadline also holds if the engine keeps writing without ever ending a line.
        """
        while not self._lines:
            if len(self._rest) > LONGEST:
                raise EngineError(f"the engine {self.command!r} writes a line without end: {self._seen(self._rest)}")
            left = deadline - time.monotonic()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                raise self._hangs(waiting_for)
            for key, _ in ready:
                if key.fileobj is self._stderr:
                    self._read_errors()
                else:
                    self._read_output(waiting_for)
        line = self._lines.popleft().decode("utf-8", "replace").rstrip("\r")
        if line.strip():
            self._recent.append(shortened(line, LINE_SHOWN))
        return line

    def read_until(self, start: bytes, deadline: float) -> list[bytes]:
        """All lines up to the first one with this start, which is included. Quicker than ``read_line`` for an engine
        that writes many lines of which few are wanted; raises EngineError after the deadline (of time.monotonic)."""
        found: list[bytes] = []
        while True:
            while self._lines:
                found.append(self._lines.popleft())
                if found[-1].startswith(start):
                    return found
            if len(self._rest) > LONGEST or len(found) > LONGEST >> 4:
                raise EngineError(f"the engine {self.command!r} writes without end: {self._seen(self._rest)}")
            left = deadline - time.monotonic()
            ready = self._poll.poll(1000 * left) if left > 0 else []
            if not ready:
                raise self._hangs(repr(start.decode()))
            for number, _ in ready:
                if number == self._stdout.fileno():
                    self._read_output(repr(start.decode()))
                elif not self._read_errors() and self._stderr.closed:
                    self._poll.unregister(number)

    def close(self) -> None:
        """End the engine, by force if it does not end in time. Further calls do nothing."""
        self._finalizer()

    @property
    def ended(self) -> bool:
        return not self._finalizer.alive

    def _read_output(self, waiting_for: str) -> None:
        chunk = self._stdout.read(CHUNK)
        if chunk is None:
            return
        if not chunk:
            raise self._died(waiting_for)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(whole)

    def _read_errors(self) -> bool:
        """Read available output from stderr and keep its end; returns False if there is none."""
        chunk = None if self._stderr.closed else self._stderr.read(CHUNK)
        if chunk == b"":
            self._selector.unregister(self._stderr)
            self._stderr.close()
        if not chunk:
            return False
        self._errors = (self._errors + chunk)[-16 * CHARACTERS_SHOWN :]
        return True

    def _hangs(self, missed: str) -> EngineError:
        return EngineError(f"the engine {self.command!r} hangs: no {missed} in time{self._wrote()}")

    def _died(self, missed: str) -> EngineError:
        for _ in range(STDERR_READS):  # it may be blocked until its stderr is read
            if not self._read_errors():
                break
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        for _ in range(STDERR_READS):
            if not self._read_errors():
                break
        code = self._process.returncode
        return EngineError(f"the engine {self.command!r} died: no {missed} (exit code {code}){self._wrote()}")

    def _wrote(self) -> str:
        """The last output for an error message: a few lines, and the end of stderr."""
        lines = [*self._recent, *([self._seen(self._rest)] if self._rest else [])]
        said = last_words(self._errors.decode("utf-8", "replace"))
        return (f"; it answered {', '.join(map(repr, lines[-LINES_SHOWN:]))}" if lines else "") + (
            f": {said}" if said else ""
        )

    @staticmethod
    def _seen(line: bytes) -> str:
        return shortened(line[: 8 * LINE_SHOWN].decode("utf-8", "replace"), LINE_SHOWN)


def end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> None:
    """Close the engine's input, which ends most engines; then terminate and finally kill its process group."""
    selector.close()
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
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
    with contextlib.suppress(ProcessLookupError, PermissionError):  # child processes that are still running
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.stderr.close()


class EngineOnDemand(ABC):
    """An engine that is started when it is needed, and again once it was closed, as after a failure."""

    def __init__(self, command: str) -> None:
        self._program = command
        self._process: EngineProcess | None = None

    @abstractmethod
    def _greet(self, process: EngineProcess) -> None:
        """The first words with an engine that was just started; if they fail, it is ended."""

    def _running(self) -> EngineProcess:
        if self._process is None:
            self._process = EngineProcess(self._program)
            try:
                self._greet(self._process)
            except BaseException:
                self.close()
                raise
        return self._process

    def close(self) -> None:
        """End the engine."""
        if self._process is not None:
            process, self._process = self._process, None
            process.close()
