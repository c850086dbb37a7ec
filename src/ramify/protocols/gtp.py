"""The command format of GTP and related protocols: one command per line, answers that end with an empty line.

A line is ``[id] command arguments…``; what follows ``#`` is a comment. An answer begins with ``=`` or, for a failure,
``?``, followed by the id if there was one.
"""

from __future__ import annotations

import io
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

LONGEST = 65536  # characters of a line
CHUNK = 65536  # bytes read at once
WAITING = 1 << 20  # characters of lines that wait for their turn
LINE = 64  # of them for a line as such
INTERRUPT = "# interrupt"  # a comment that asks for an answer now

log = logging.getLogger("ramify")
refusals = log.getChild("refusals")  # why a command was refused, at DEBUG


class Failure(Exception):  # noqa: N818 - the protocol's own word
    """A command failed; the message is the answer."""


@dataclass(frozen=True)
class Command:
    """A parsed command line."""

    id: str
    name: str
    arguments: tuple[str, ...]


class Engine(Protocol):
    """Executes commands."""

    ended: bool

    def execute(self, command: Command) -> str:
        """The answer to a command; raises Failure or ValueError if it fails."""
        ...

    def interrupt(self) -> None:
        """End the current command early; called from another thread."""
        ...


def read_command(line: str) -> Command | None:
    """Parse a line; None if it has no command."""
    text = line.partition("#")[0].replace("\t", " ")
    words = "".join(letter for letter in text if letter >= " " and letter != "\x7f").split()
    if not words:
        return None
    number = words.pop(0) if words[0].isascii() and words[0].isdigit() else ""
    return Command(number, words[0] if words else "", tuple(words[1:]))


def framed(text: str, *, id: str = "", failed: bool = False) -> str:
    """Format an answer. Empty lines, which would end it early, are removed."""
    lines = [line.rstrip() for line in text.splitlines()]
    body = "\n".join(line for number, line in enumerate(lines) if line or number == 0)
    return f"{'?' if failed else '='}{id} {body}\n\n"


def answer(engine: Engine, line: str) -> str | None:
    """The response to a line; None if it has no command. Never raises."""
    if len(line) > LONGEST:
        return framed(f"a line has at most {LONGEST} characters", failed=True)
    command = read_command(line)
    if command is None:
        return None
    try:
        return framed(engine.execute(command), id=command.id)
    except (Failure, ValueError) as refusal:
        refusals.debug("refused %r", line[:200], exc_info=True)
        reason = str(refusal).partition("\n")[0] or type(refusal).__name__
        return framed(reason, id=command.id, failed=True)
    except Exception as error:  # the client must have its answer, whatever is wrong here
        log.exception("while answering %r", line[:200])
        return framed(f"internal error: {type(error).__name__}: {error}".partition("\n")[0], id=command.id, failed=True)


def lines_of(source: io.RawIOBase) -> Iterator[str]:
    """Lines of a stream without line ends; lines that are too long are cut."""
    rest = b""
    while chunk := source.read(CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from map(line_of, whole)
        rest = rest[: 4 * LONGEST + 4]
    if rest:
        yield line_of(rest)


def line_of(line: bytes) -> str:
    """As text, cut right after the first character that is too many."""
    return line.decode("utf-8", "replace").removesuffix("\r")[: LONGEST + 1]


class Backlog:
    """Lines that wait to be answered. Whoever adds one waits while there are many: a client that sends commands faster
    than they are answered finds its pipe full, and no memory is filled."""

    def __init__(self) -> None:
        self._lines: deque[str | None] = deque()
        self._size = 0
        self._changed = threading.Condition()

    def put(self, line: str | None) -> None:
        """Add a line, or None for the end, as soon as there is room."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < WAITING)
            self._lines.append(line)
            self._size += self._cost(line)
            self._changed.notify_all()

    def get(self) -> str | None:
        """The next line, as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines))
            line = self._lines.popleft()
            self._size -= self._cost(line)
            self._changed.notify_all()
            return line

    @staticmethod
    def _cost(line: str | None) -> int:
        return LINE + len(line or "")


def serve(engine: Engine, source: io.RawIOBase, write: Callable[[str], object]) -> None:
    """Execute the commands of ``source`` until it ends, ``quit`` is received, or the output is closed.

    Lines are read while a command runs, so that ``# interrupt`` can end it early; not without bound, though.
    """
    waiting = Backlog()

    def read() -> None:
        for line in lines_of(source):
            if line.strip() == INTERRUPT:
                engine.interrupt()
            else:
                waiting.put(line)
        waiting.put(None)

    threading.Thread(target=read, name="ramify-reader", daemon=True).start()
    while not engine.ended and (line := waiting.get()) is not None:
        try:
            if (text := answer(engine, line)) is not None:
                write(text)
        except BrokenPipeError:
            return
