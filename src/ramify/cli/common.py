"""What commands share: errors in one line, values typed by people, tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import typer

from ramify.base.settings import read_value
from ramify.cli.debug import print_traceback

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

T = TypeVar("T")

PLAIN_WIDTH = 120  # columns of a table that goes to a file or a pipe
REDRAW = 0.25  # seconds between two pictures of a panel


def fail(problem: str | Exception) -> NoReturn:
    """End the command: one line on stderr, below the traceback if ``--debug`` asks for it, and exit code 2."""
    if isinstance(problem, typer.Exit):  # something inside has failed, and said so
        raise problem
    print_traceback(problem if isinstance(problem, Exception) else None)
    message = explain(problem) if isinstance(problem, Exception) else problem
    print(f"ramify: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(2)


def explain(error: Exception) -> str:
    """What an error says, without the position that some errors show below their first line."""
    return str(error).partition("\n")[0].removesuffix(" in")


def parse_settings(words: Sequence[str]) -> dict[str, Any]:
    """key=value words; values are those of ``read_value``."""
    settings: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key:
            fail(f"settings are written key=value, not {word!r}")
        settings[key] = read_value(value)
    return settings


def print_json(data: Any) -> None:
    """For machines: one JSON document on stdout."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def watched(quiet: bool) -> bool:
    """Whether to show how something goes on: not if ``quiet``, and only where somebody looks at a terminal."""
    return not quiet and sys.stderr.isatty()


class Panel(Generic[T]):
    """A picture on stderr of what goes on, drawn anew now and then; gone when the stack ends."""

    def __init__(self, stack: ExitStack, draw: Callable[[T], RenderableType]) -> None:
        from rich.console import Console
        from rich.live import Live

        self.draw, self.drawn = draw, 0.0
        self.live = stack.enter_context(Live(console=Console(stderr=True), refresh_per_second=4, transient=True))

    def __call__(self, status: T) -> None:
        if time.perf_counter() - self.drawn > REDRAW:
            self.drawn = time.perf_counter()
            self.live.update(self.draw(status))


def table_console() -> Console:
    """A console that does not squeeze tables into 80 columns when nobody looks."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def print_position(console: Console, text: Text) -> None:
    """A position as it is: never broken into more lines, which nobody could read, but cut off at a narrow terminal."""
    if not console.is_terminal:
        return console.print(text, soft_wrap=True)
    console.print(text, no_wrap=True, overflow="crop")
    return console.print(cut_note(text, console.width), end="")


def cut(text: Text) -> Text:
    """The same lines, cut off where they do not fit, inside another renderable."""
    text = text.copy()
    text.no_wrap, text.overflow = True, "crop"
    return text


def columns(text: Text) -> int:
    """How wide a printed position is."""
    return max(line.cell_len for line in text.split("\n"))


def cut_note(text: Text, width: int) -> Text:
    """What a reader of a position that was cut off should know; nothing for one that fits."""
    from rich.text import Text

    if columns(text) <= width:
        return Text()
    return Text(f"(cut off: {columns(text)} columns wide, and the terminal has {width})\n", "dim")
