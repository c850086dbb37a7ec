"""What commands share: errors and warnings on one line, key=value settings, tables, sparklines."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import typer

from ramify.base.deprecation import RenamedWarning
from ramify.base.settings import SettingsHelp, SettingsWarning, read_value
from ramify.cli.debug import print_traceback

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

T = TypeVar("T")

PLAIN_WIDTH = 120  # columns of a table that goes to a file or a pipe
REDRAW = 0.25  # minimum number of seconds between two updates of a panel
COLUMNS = "▁▂▃▄▅▆▇█"  # of sparklines
SPARKLINE = 40  # characters at most


def fail(problem: str | Exception) -> NoReturn:
    """End the command with one line on stderr (after the traceback with ``--debug``) and exit code 2.

    Where ``help`` stood in place of settings, the command prints these, which is no failure.
    """
    if isinstance(problem, typer.Exit):  # the error has been printed already
        raise problem
    if isinstance(problem, SettingsHelp):
        from ramify.cli.options import print_settings

        print_settings(problem.config)
        raise typer.Exit
    print_traceback(problem if isinstance(problem, Exception) else None)
    message = explain(problem) if isinstance(problem, Exception) else problem
    print(f"ramify: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(2)


_warned: set[str] = set()


def print_warning(message: str) -> None:
    """A line on stderr, once in a command."""
    if message not in _warned:
        _warned.add(message)
        print(f"ramify: warning: {message}", file=sys.stderr)


def forget_warnings() -> None:
    """Another command begins."""
    _warned.clear()


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show on stderr, in a line each, that an old name was used or that settings were left out."""

    with warnings.catch_warnings():
        warnings.simplefilter("always", RenamedWarning)  # Python hides these
        warnings.simplefilter("always", SettingsWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, (RenamedWarning, SettingsWarning)):
                print_warning(str(message))
            else:
                usual(message, category, *more, **named)

        warnings.showwarning = show
        yield


def explain(error: Exception) -> str:
    """The message of an error, without the position that some errors print below the first line.

    An error in the code of a game of the user's own says where in that code it is.
    """
    from ramify.games.failures import first_line, game_failure

    sentence = game_failure(error)
    return first_line(error) if sentence is None else sentence


def parse_settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings from key=value words; see ``read_value`` for the values."""
    settings: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key:
            fail(f"settings must have the form key=value, not {word!r}")
        settings[key] = read_value(value)
    return settings


def print_json(data: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def watched(quiet: bool) -> bool:
    """Whether to show progress: only on a terminal, and not if ``quiet``."""
    return not quiet and sys.stderr.isatty()


class Panel(Generic[T]):
    """A live display on stderr, redrawn at most every ``REDRAW`` seconds and removed when the stack ends."""

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
    """A console for tables: ``PLAIN_WIDTH`` columns wide if the output is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def print_position(console: Console, text: Text) -> None:
    """Print a position without wrapping its lines; a narrow terminal cuts them off."""
    if not console.is_terminal:
        return console.print(text, soft_wrap=True)
    console.print(text, no_wrap=True, overflow="crop")
    return console.print(cut_note(text, console.width), end="")


def cut(text: Text) -> Text:
    """A copy whose lines are cut off instead of wrapped inside another renderable."""
    text = text.copy()
    text.no_wrap, text.overflow = True, "crop"
    return text


def columns(text: Text) -> int:
    """The width of a printed position."""
    return max(line.cell_len for line in text.split("\n"))


def cut_note(text: Text, width: int) -> Text:
    """A note that a position was cut off; empty if it fits."""
    from rich.text import Text

    if columns(text) <= width:
        return Text()
    return Text(f"(cut off: the board is {columns(text)} columns wide, the terminal {width})\n", "dim")


def sparkline(values: Sequence[float], width: int = SPARKLINE, bounds: tuple[float, float] | None = None) -> str:
    """A curve of one character per value; neighbouring values are averaged if there are more than ``width``. It goes
    from the least to the greatest value, or within ``bounds``."""
    if len(values) > width:
        edges = [round(place * len(values) / width) for place in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = bounds or (min(values), max(values))
    if high == low:
        return COLUMNS[0] * len(values)
    return "".join(COLUMNS[round((value - low) / (high - low) * (len(COLUMNS) - 1))] for value in values)
