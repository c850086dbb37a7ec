"""Keys of a terminal: a move by one key, or words that end with Enter."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any, Self

ESCAPE, ENTER, ERASE, END = "\x1b", "\r\n", "\x7f\b", "\x04"  # END: Ctrl-D
SEQUENCE = 0.05  # seconds within which the rest of an arrow key arrives
COMMAND = ":"  # before words that begin with a key

ARROWS = {"A": "UP", "B": "DOWN", "C": "RIGHT", "D": "LEFT"}  # last character of what an arrow key sends
MOVES = {"w": "UP", "a": "LEFT", "s": "DOWN", "d": "RIGHT", " ": "STAY"}


def has_keys(game: str) -> bool:
    """Whether the game is played by keys here: a person at a terminal, and moves in directions."""
    return game == "pyrat" and sys.stdin.isatty() and sys.stdout.isatty()


class Keys:
    """Reads from a terminal key by key, without echo, inside a ``with``. The terminal is restored at its end, also
    after an error and after SIGTERM."""

    def __init__(self, descriptor: int = 0, moves: Mapping[str, str] = MOVES) -> None:
        self.descriptor, self.moves = descriptor, moves
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self.descriptor)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._handlers[number] = signal.signal(number, _leave)
            self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, lambda *_: self._by_key())
        self._by_key()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self._before)

    def read_line(self, prompt: str) -> str:
        """The move of a key, or the words that were typed. Raises EOFError after Ctrl-D."""
        self._write(prompt)
        key = self._next()
        if key == ESCAPE:
            move = self._arrow()
            self._write(f"{move}\n")
            return move
        if key in self.moves:
            self._write(f"{self.moves[key]}\n")
            return self.moves[key]
        return self._words("" if key == COMMAND else key)

    def _words(self, first: str) -> str:
        """Words from this character on, up to Enter, with what was erased left out. Escape gives them up."""
        words, key = "", first
        while True:
            if key and key in ENTER:
                self._write("\n")
                return words
            if key == ESCAPE:
                self._arrow()
                self._write("\n")
                return ""
            if key and key in ERASE:
                self._write("\b \b" if words else "")
                words = words[:-1]
            elif key.isprintable():
                words += key
                self._write(key)
            key = self._next()

    def _arrow(self) -> str:
        """The move of an arrow key whose escape character was read; "" for any other key."""
        if not self._waiting() or self._next() not in ("[", "O"):
            return ""
        while self._waiting():
            if (last := self._next()).isalpha() or last == "~":  # before it, numbers of modifiers
                return ARROWS.get(last, "")
        return ""

    def _waiting(self) -> bool:
        return bool(select.select([self.descriptor], [], [], SEQUENCE)[0])

    def _next(self) -> str:
        """The next character. Raises EOFError at the end."""
        data = os.read(self.descriptor, 1)
        while data and len(data) < 4 and data[0] >= 0xC0 and not _is_whole(data):
            data += os.read(self.descriptor, 1)
        text = data.decode("utf-8", "replace")
        if text in ("", END):
            raise EOFError
        return text

    def _by_key(self) -> None:
        """Characters at once and without echo; Ctrl-C and Ctrl-Z as usual."""
        mode = termios.tcgetattr(self.descriptor)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSADRAIN, mode)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _is_whole(data: bytes) -> bool:
    """Whether these bytes are a whole character of UTF-8."""
    return len(data) == (2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4)


def _leave(number: int, frame: FrameType | None) -> None:
    """End as after the signal, but with everything restored on the way."""
    del frame
    raise SystemExit(128 + number)
