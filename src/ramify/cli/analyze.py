"""``ramify analyze``: search one position and show what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import fail, parse_settings, print_json, table_console

if TYPE_CHECKING:
    from rich.progress import Progress

    from ramify.engine import NativeEvaluator, Searcher, SearchResult
    from ramify.games import Game, State

SIMULATIONS = 10_000  # without --simulations; a quick look
UNLIMITED = 2**53  # simulations where time or evaluations are the limit
PATIENCE = 2.0  # seconds until a progress bar appears
REDRAW = 0.1  # seconds between two pictures of it
SHOWN = 10  # rows of the table without --top


def analyze(
    game: Annotated[str, typer.Argument(help="A game of 'ramify games', or openspiel:NAME.")],
    words: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Same as --set.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the game; may be repeated.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Position: short form (a FEN), or its parts as JSON {...}.")
    ] = None,
    actions: Annotated[
        str, typer.Option(metavar="NAMES", help="Actions played first, by name, or #NUMBER; two where both act.")
    ] = "",
    simulations: Annotated[
        int | None, typer.Option(min=1, help=f"How many; default {SIMULATIONS}, or no limit beside another limit.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of SearchConfig; may be repeated.")
    ] = None,
    evaluator: Annotated[str, typer.Option(help="uniform, rollout, or rollout:N for N random games.")] = "rollout",
    seed: Annotated[int, typer.Option(min=0, help="Of the search, and of a random start.")] = 0,
    top: Annotated[int | None, typer.Option(min=1, help=f"Actions shown; default {SHOWN} (all with --json).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the position, with visits and values.")] = None,
    tree: Annotated[int, typer.Option(min=0, metavar="DEPTH", help="Also show the searched tree so deep.")] = 0,
) -> None:
    """Search one position and show what the search found.

    Every action gets its visits, its value for the player who acts, the prior
    it started with, and the most visited continuation. Where both players act
    at once there is one table per player and one of the visits by both. Ctrl-C
    stops the search early and shows what was found so far.

    \b
    ramify analyze tictactoe --actions "b2 a1"
    ramify analyze hex --set size=5 --setting graph=true
    ramify analyze chess --state "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"
    ramify analyze pyrat --set preset=tiny --setting normalize=remaining
    ramify analyze tictactoe --state '{"board": ["xx.", "oo.", "..."]}'
    ramify analyze connect_four --actions "d d" --setting max_seconds=5
    """
    from ramify.cli.analysis import describe, picture, print_analysis

    position = find_position(game, parse_settings([*(words or []), *(set_ or [])]), state, actions, seed)
    searcher = make_searcher(position, simulations, parse_settings(setting or []), read_evaluator(evaluator), seed)
    if svg is not None:
        write_picture(svg, position.svg())  # before the search, so that a wrong path is not found out after it
    try:
        result = run(searcher, position)
    except ValueError as error:
        fail(error)
    if svg is not None:
        write_picture(svg, picture(position, result))
    data = describe(position, result, top if json or top else SHOWN)
    if json:
        print_json(data)
    else:
        print_analysis(table_console(), data, result.tree(tree) if tree else "")


def find_position(name: str, params: dict[str, Any], text: str | None, actions: str, seed: int) -> State:
    """The position asked for; ends the command where there is none."""
    from ramify.games import make
    from ramify.games.notation import play_words

    try:
        game = make(name, **params)
        start = game.initial_state(seed) if text is None else read_state(game, text)
        play_words(start, actions.split())
    except (ValueError, TypeError, ImportError) as error:
        fail(error)
    if start.is_over:
        fail("the game is over in this position: there is nothing to search")
    return start


def read_state(game: Game, text: str) -> State:
    """A position from its short text form, or from its parts written as a JSON object."""
    import json

    from ramify import _core

    if not text.lstrip().startswith("{"):
        if isinstance(game, _core.Game):
            return game.state(text)
        raise ValueError(f"a position of {game.name} has no short text form; give its parts as JSON, or --actions")
    build: Callable[..., State] | None = getattr(game, "state", None)  # the protocol does not ask for it
    if build is None:
        raise ValueError(f"a position of {game.name} cannot be written as text; lead there with --actions")
    try:
        parts = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--state is not a JSON object: {error}") from None
    return build(**parts)


def read_evaluator(text: str) -> NativeEvaluator:
    """uniform, rollout or rollout:N."""
    from ramify.evaluators import Rollout, Uniform

    name, separator, count = text.partition(":")
    if text == "uniform":
        return Uniform()
    if name != "rollout" or (separator and not (count.isdecimal() and int(count) > 0)):
        fail(f"an evaluator is uniform, rollout or rollout:N, not {text!r}")
    return Rollout(int(count) if separator else 1)


def make_searcher(
    state: State, simulations: int | None, settings: dict[str, Any], evaluator: NativeEvaluator, seed: int
) -> Searcher:
    """The searcher for this position; ends the command on a wrong setting."""
    from ramify.engine import SearchConfig, Searcher

    limited = settings.get("max_seconds") is not None or settings.get("max_evaluations") is not None
    if simulations is not None:
        settings = {**settings, "simulations": simulations}
    elif "simulations" not in settings:
        settings = {**settings, "simulations": UNLIMITED if limited else SIMULATIONS}
    try:
        return Searcher(state.game, evaluator, SearchConfig(**settings), seed=seed)
    except (ValueError, TypeError) as error:
        fail(error)


def write_picture(file: Path, drawn: str) -> None:
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}")


def run(searcher: Searcher, state: State) -> SearchResult:
    """Search; a progress bar appears on the terminal if it takes long."""
    with ExitStack() as stack:
        return searcher.run(state, ProgressBar(stack, searcher.config.model_dump()), on_interrupt="return")


class ProgressBar:
    """Shows how far a search is, on stderr, once it has taken longer than PATIENCE."""

    def __init__(self, stack: ExitStack, limits: Mapping[str, Any]) -> None:
        self.stack = stack
        self.limits = limits
        self.start = time.perf_counter()
        self.bar: Progress | None = None
        self.drawn = 0.0

    def __call__(self, stats: Mapping[str, int]) -> None:
        elapsed = time.perf_counter() - self.start
        if elapsed < PATIENCE or elapsed - self.drawn < REDRAW:
            return
        if self.bar is None:
            self.bar = self.stack.enter_context(progress_bar())
            self.bar.add_task("searching", total=1.0, facts="")
        self.drawn = elapsed
        facts = f"{stats['simulations']:,} simulations, {stats['simulations'] / elapsed:,.0f}/s"
        self.bar.update(self.bar.task_ids[0], completed=self.share(stats, elapsed), facts=facts)
        self.bar.refresh()

    def share(self, stats: Mapping[str, int], elapsed: float) -> float:
        """How much of the nearest limit is used up."""
        used = {"simulations": stats["simulations"], "max_evaluations": stats["evaluations"], "max_seconds": elapsed}
        return max(float(used[name] / self.limits[name]) for name in used if self.limits[name] is not None)


def progress_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not console.is_terminal)
