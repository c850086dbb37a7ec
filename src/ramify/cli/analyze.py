"""``ramify analyze``: search one position and show the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, print_json, table_console

if TYPE_CHECKING:
    from rich.progress import Progress

    from ramify.engine import Searcher, SearchResult
    from ramify.games import Game, State

SIMULATIONS, FEW = 10_000, 1000  # without --simulations: where all is done by the core, and where not
SIMULATIONS_HELP = (
    f"Number of simulations. Default: {SIMULATIONS} ({FEW} in games written in Python, with the network of chess, "
    "and with --learned), or unlimited with another limit."
)
UNLIMITED = 2**53  # simulations where time or evaluations are the limit
PATIENCE = 2.0  # seconds until a progress bar appears
REDRAW = 0.1  # seconds between two updates of it
SHOWN = 10  # rows of the table without --top

Only = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Search only these actions of the position, by name or number (#NUMBER where names are numbers). If "
        "both players act at once, write the first player's actions, '/' and the second player's; an empty side "
        "means all.",
    ),
]
Learned = Annotated[
    bool,
    typer.Option(
        "--learned",
        help="Search inside the learned model (MuZero) that --network is, in place of the rules, with the settings "
        "that it was trained with. Continuations end where the rules do not allow what the model does.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        "--multipv",
        min=1,
        help=f"Number of actions to show, each with its line. Default: {SHOWN}, or all with --json.",
    ),
]


def analyze(
    game: options.GameName,
    param: options.Params = None,
    state: options.StateText = None,
    actions: options.Actions = "",
    simulations: Annotated[int | None, typer.Option(min=1, help=SIMULATIONS_HELP)] = None,
    only: Only = "",
    set_: options.SearchSettings = None,
    network: options.Network = None,
    evaluator: options.BestEvaluator = None,
    learned: Learned = False,
    seed: options.Seed = 0,
    top: Top = None,
    json: options.AsJson = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the position, with visits and values.")] = None,
    tree: Annotated[int, typer.Option(min=0, metavar="DEPTH", help="Also print the search tree to this depth.")] = 0,
) -> None:
    """Search one position and show the result.

    The table lists each action's visits, its value for the player to move, its
    prior, and the most visited continuation; in chess also the chances to win,
    draw and lose, with moves in standard notation. In simultaneous games there is one
    table per player and one with the visits of each pair of actions. With
    -s solver=true a line says what is proven. Ctrl-C stops the search early and
    shows the result so far.

    Without --network and --evaluator, positions of PyRat are evaluated by plans
    (--evaluator planner), those of chess by the shipped network, and those of
    other games by random games; the last line of the output says by what.

    \b
    ramify analyze tictactoe --actions "b2 a1"
    ramify analyze hex -p size=5 -s graph=true
    ramify analyze hex -p size=7 --network hex-7 --simulations 500
    ramify analyze chess --state "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"
    ramify analyze chess --only "e2e4 d2d4"
    ramify analyze chess --network material --multipv 3 --svg lines.svg
    ramify analyze pyrat -p preset=tiny --simulations 2000
    ramify analyze tictactoe --state '{"board": ["xx.", "oo.", "..."]}'
    ramify analyze connect_four --actions "d d" -s max_seconds=5
    ramify analyze connect_four --network muzero-connect-four --learned
    ramify analyze my_game --import my_game.py
    """
    from ramify.presentation.described import describe, picture

    if svg is not None and svg.suffix.lower() not in ("", ".svg"):
        fail(f"--svg writes only SVG pictures: give a file such as {svg.with_suffix('.svg')}, not {svg}")
    params, settings = options.read_options(game, param, set_)
    params = options.with_reward(game, params, network)
    position = find_position(game, params, state, actions, seed)
    try:
        searched = read_only(position, only)
        if learned:
            searcher = learned_searcher(position, network, evaluator, limited(settings, simulations, FEW), seed)
            knowledge = f"the learned model {network}, searched in place of the rules"
        else:
            chosen, knowledge = options.choose_evaluator(position.game, network, evaluator)
            usual = usual_simulations(position.game, chosen, named=network is not None)
            searcher = make_searcher(position, chosen, limited(settings, simulations, usual), seed)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if svg is not None:
        write_picture(svg, position.svg())  # before the search, so that a wrong path is not found out after it
    try:
        result = run(searcher, position, searched)
    except ValueError as error:
        fail(error)
    if svg is not None:
        write_picture(svg, picture(position, result, top))
    data = {**describe(position, result, top if json or top else SHOWN), "evaluated_by": knowledge}
    if json:
        print_json(data)
    else:
        print_result(position.game, result, data, tree)


def print_result(game: Game, result: SearchResult, data: dict[str, Any], depth: int) -> None:
    """Print what a search has found, with its tree to this depth."""
    from ramify.cli.analysis import print_analysis
    from ramify.engine.result_text import proven_text
    from ramify.presentation.names import seat_name

    names = [seat_name(game, player) for player in (0, 1)]
    proven = "" if result.proven is None else proven_text(result, names)
    print_analysis(table_console(), data, proven, result.tree(depth) if depth else "")


def find_position(name: str, params: dict[str, Any], text: str | None, actions: str, seed: int) -> State:
    """The position to search; ends the command if there is none."""
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
    """A position from its short text form, or from its fields as a JSON object."""
    import json

    from ramify import _core

    if not text.lstrip().startswith("{"):
        if isinstance(game, _core.Game):
            return game.state(text)
        raise ValueError(f"positions of {game.name} have no short text form; use JSON fields {{...}}, or --actions")
    build: Callable[..., State] | None = getattr(game, "state", None)  # the protocol does not ask for it
    if build is None:
        raise ValueError(f"positions of {game.name} cannot be given as text; use --actions")
    try:
        parts = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--state is not a JSON object: {error}") from None
    return build(**parts)


def usual_simulations(game: Game, evaluator: Any, *, named: bool) -> int:
    """The number of simulations where none is given; ``named``: the evaluator is a network that was asked for."""
    from ramify import _core
    from ramify.engine.batch import NativeEvaluator

    many = isinstance(game, _core.Game) and (named or isinstance(evaluator, NativeEvaluator))
    return SIMULATIONS if many else FEW


def limited(settings: dict[str, Any], simulations: int | None, usual: int) -> dict[str, Any]:
    """Settings of the search with the number of simulations: as asked for, or ``usual`` if nothing else is a limit."""
    if simulations is None:
        others = settings.get("max_seconds") is not None or settings.get("max_evaluations") is not None
        simulations = settings.get("simulations", UNLIMITED if others else usual)
    return {**settings, "simulations": simulations}


def make_searcher(state: State, evaluator: Any, settings: dict[str, Any], seed: int) -> Searcher:
    """The searcher of the rules; a ValueError or TypeError says which setting is wrong."""
    from ramify.engine import SearchConfig, Searcher
    from ramify.evaluators.simple import suited

    return Searcher(state.game, evaluator, suited(SearchConfig(**settings), evaluator), seed=seed)


def learned_searcher(
    state: State, network: str | None, evaluator: str | None, settings: dict[str, Any], seed: int
) -> Searcher:
    """The searcher of a learned model, as of the player ``muzero:network=NETWORK``; a ValueError says what is wrong."""
    from ramify.arena.muzero_player import MuZeroPlayerConfig
    from ramify.engine import Searcher

    if network is None:
        raise ValueError("--learned needs --network, a learned network (MuZero) such as muzero-connect-four")
    if evaluator is not None:
        raise ValueError("--learned takes no --evaluator: the learned model evaluates its own states")
    config = MuZeroPlayerConfig(**{**settings, "network": network})
    return Searcher(config.open_model(state.game), config=config.search_config(), seed=seed)


def write_picture(file: Path, drawn: str) -> None:
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}")


def read_only(state: State, text: str) -> Any:
    """The actions to search, as ``Searcher.run`` takes them; None: all."""
    from ramify.games.notation import read_action

    if not text.strip():
        return None
    lists = text.split("/")
    if len(lists) != len(state.acting):
        form = "two lists with '/' between them" if len(state.acting) == 2 else "one list of actions, without '/'"
        raise ValueError(f"--only needs {form} in this position, not {text!r}")
    read = [
        [read_action(state, word, player, numbers=True) for word in separated(state, words, player)] or None
        for player, words in zip(state.acting, lists, strict=True)
    ]
    return tuple(read) if len(read) == 2 else read[0]


def separated(state: State, text: str, player: int) -> list[str]:
    """The words of a list of actions: by spaces, and by commas unless names have commas."""
    commas = any("," in state.action_name(int(action), player) for action in state.legal_actions(player))
    return (text if commas else text.replace(",", " ")).split()


def run(searcher: Searcher, state: State, actions: Any = None) -> SearchResult:
    """Search, with a progress bar on the terminal if it takes long."""
    with ExitStack() as stack:
        progress = ProgressBar(stack, searcher.config.model_dump())
        return searcher.run(state, progress, actions=actions, on_interrupt="return")


class ProgressBar:
    """A progress bar on stderr for a search that takes longer than PATIENCE."""

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
        """The share of the nearest limit that is used up."""
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
