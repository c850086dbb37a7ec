"""A Hex engine over HTP, the protocol of HexGui, which is GTP for Hex."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine import SearchConfig, Searcher
from ramify.engine.batching import accelerated
from ramify.engine.result import action_by
from ramify.games import make
from ramify.hex import evaluator_for
from ramify.protocols.clock import Clock
from ramify.protocols.gtp import Command, Failure
from ramify.protocols.htp_analysis import ANALYSES, Analysis
from ramify.protocols.stones import BLACK, COLOURS, WHITE, Stones, cell_name, read_cell

SIZES = range(2, 20)
UNLIMITED = 2**53  # simulations where time is the limit
MOST_NODES = 1_000_000  # half a gigabyte on a board of 11 x 11
SWAPS = ("swap-pieces", "swap-sides", "swap")  # as programs write it


class HtpSettings(Settings):
    """Settings of the engine, for the command line and for ``param_mcts`` and ``param_game``; frozen."""

    what = "HTP"

    simulations: int | None = Field(
        1000, ge=1, description="Maximum number of simulations per move; None: limited by time only."
    )
    seconds: float | None = Field(
        None, gt=0, description="Maximum time per move in seconds; None: limited by simulations only."
    )
    exploration: float | None = Field(
        None, ge=0, description="Exploration constant of PUCT, c_puct; None: the evaluator's own value."
    )
    solver: bool = Field(True, description="Propagate proven wins and losses in the search.")
    batch: int | None = Field(
        None,
        ge=1,
        le=65536,
        description="Number of leaves that a network evaluates together; None: 8 on a CPU, automatic on a GPU.",
    )
    seed: int = Field(
        0,
        ge=0,
        description=("Seed of the random number generator; with an equal seed, the same position gets the same move."),
    )
    allow_swap: bool = Field(False, description="Allow the second move to be a swap.")


CPU_BATCH = 8
GAME_PARAMETERS = ("allow_swap",)
SEARCH_PARAMETERS = ("simulations", "seconds", "exploration", "solver", "batch", "seed")


class HtpEngine:
    """The state of the engine, and its commands: the methods ``do_…``, which get a command's arguments."""

    def __init__(
        self, size: int = 11, settings: HtpSettings | None = None, network: str | None = None, version: str = ""
    ) -> None:
        self.settings = settings if settings is not None else HtpSettings()
        self.ended = False
        self.clock = Clock()
        self._network, self._version = network, version
        self._interrupted = threading.Event()
        self._latest: tuple[Any, Analysis] | None = None
        self.stones = Stones(0)
        self._new_game(size)
        self.commands: dict[str, Callable[..., str | None]] = {
            name.removeprefix("do_").replace("__", "-"): method
            for name, method in inspect.getmembers(self, inspect.ismethod)
            if name.startswith("do_")
        }
        self.commands.update({name: self._analysis_command(show) for name, (_, _, show) in ANALYSES.items()})

    def execute(self, command: Command) -> str:
        """The answer to a command."""
        self._interrupted.clear()
        if command.name not in self.commands:
            raise Failure(f"unknown command: {command.name[:60]}" if command.name else "missing command after the id")
        try:
            answer = self.commands[command.name](*command.arguments)
        except TypeError:
            if fits(self.commands[command.name], len(command.arguments)):
                raise
            raise Failure(f"wrong number of arguments for {command.name}: {len(command.arguments)}") from None
        return answer or ""

    def interrupt(self) -> None:
        """End the current search early; its result so far is the answer."""
        self._interrupted.set()

    # --- about the program ---

    def do_name(self) -> str:
        return "ramify"

    def do_version(self) -> str:
        return f"{self._version} ({self.knowledge})".lstrip()

    def do_protocol_version(self) -> str:
        return "2"

    def do_list_commands(self) -> str:
        return "\n".join(sorted(self.commands))

    def do_known_command(self, name: str) -> str:
        return "true" if name in self.commands else "false"

    def do_quit(self) -> None:
        self.ended = True

    def do_gogui__interrupt(self) -> None:
        """Announces support for the comment ``# interrupt``, which ends a search early."""

    def do_hexgui__analyze_commands(self) -> str:
        shown = [f"{kind}/{label}/{name} %c" for name, (kind, label, _) in ANALYSES.items()]
        own = [
            "plist/All Legal Moves/all_legal_moves",
            "string/Reg GenMove/reg_genmove %c",
            "string/ShowBoard/showboard",
            "string/Final Score/final_score",
            "param/Search Param/param_mcts",
            "param/Game Param/param_game",
        ]
        return "\n".join([*shown, *own])

    # --- the board ---

    def do_boardsize(self, width: str, height: str | None = None) -> None:
        wide, high = whole(width), whole(height if height is not None else width)
        if wide != high or wide not in SIZES:
            raise Failure(f"unacceptable size: boards are square, {SIZES[0]} to {SIZES[-1]}, not {wide} x {high}")
        self._new_game(wide)

    def do_clear_board(self) -> None:
        self._new_game(self.stones.size)

    def do_play(self, colour: str, move: str) -> None:
        owner = read_colour(colour)
        if move.lower() == "resign":
            return None
        if move.lower() in SWAPS:
            if not self.settings.allow_swap or not self.stones.may_swap or self.stones.history[-1][0] == owner:
                raise Failure(f"illegal move: {COLOURS[owner]} {move} (swap is not allowed now)")
            return self.stones.swap(owner)
        cell = read_cell(move, self.stones.size)
        if cell is None or cell in self.stones.stones:
            raise Failure(f"illegal move: {COLOURS[owner]} {move[:20]} ({'invalid' if cell is None else 'occupied'})")
        return self.stones.play(owner, cell)

    def do_undo(self) -> None:
        if not self.stones.history:
            raise Failure("cannot undo")
        self.stones.undo()

    def do_showboard(self) -> str:
        return "\n" + self.stones.picture()

    def do_final_score(self) -> str:
        winner = self.stones.winner()
        return "cannot score" if winner is None else "BW"[winner] + "+"

    def do_all_legal_moves(self, colour: str | None = None) -> str:
        owner = self._colour(colour)
        size = self.stones.size
        cells = [] if self.stones.winner() is not None else range(size * size)
        names = [cell_name(cell, size) for cell in cells if cell not in self.stones.stones]
        return " ".join(names + (["swap-pieces"] if names and self._may_swap(owner) else []))

    # --- moves ---

    def do_genmove(self, colour: str) -> str:
        owner, started = read_colour(colour), time.perf_counter()
        move = self._choose(owner, self.clock.seconds_for(owner, self._moves_left()))
        self.clock.spend(owner, time.perf_counter() - started)
        self.do_play(colour, move)
        return move

    def do_reg_genmove(self, colour: str) -> str:
        return self._choose(read_colour(colour), None)

    def _choose(self, colour: int, seconds: float | None) -> str:
        if self.stones.winner() is not None:
            return "resign"
        found = self._search(colour, seconds)
        if self._may_swap(colour) and found.expected() < 0:
            return "swap-pieces"
        return cell_name(found.view.cell(action_by(found.player, found.result.best_action)), self.stones.size)

    def _moves_left(self) -> int:
        """Estimated number of remaining moves of one player."""
        return max(8, (self.stones.size**2 - len(self.stones.stones)) // 4)

    # --- time and parameters ---

    def do_time_settings(self, main: str, period: str, stones: str) -> None:
        self.clock.set_all(number(main), number(period), whole(stones))

    def do_time_left(self, colour: str | None = None, seconds: str | None = None, stones: str = "0") -> str | None:
        if colour is None:
            return f"Black: {self.clock.show(BLACK)}, White: {self.clock.show(WHITE)}"
        owner = read_colour(colour)
        if seconds is None:
            return self.clock.show(owner)
        self.clock.set(owner, number(seconds), whole(stones))
        return None

    def do_set_time(self, seconds: str) -> None:
        """Set a fixed time per move."""
        self._set("seconds", seconds)

    def do_param_mcts(self, name: str | None = None, value: str | None = None) -> str | None:
        return self._parameters(SEARCH_PARAMETERS, name, value)

    def do_param_game(self, name: str | None = None, value: str | None = None) -> str | None:
        if name == "game_time" and value is not None:
            self.clock.set_all(number(value), 0.0, 0)
            return None
        shown = self._parameters(GAME_PARAMETERS, name, value)
        return shown and f"{shown}\n[string] game_time {self.clock.show(BLACK)}"

    def _parameters(self, names: tuple[str, ...], name: str | None, value: str | None) -> str | None:
        """List all parameters in HexGui's format, or set one."""
        if name is None:
            given = self.settings.model_dump()
            return "\n" + "\n".join(parameter_line(known, given[known]) for known in names)
        if name not in names:
            raise Failure(f"unknown parameter: {name[:60]}; the parameters are {', '.join(names)}")
        if value is None:
            raise Failure(f"expected no arguments, or a parameter and its value: {name} has no value")
        self._set(name, value)
        return None

    def _set(self, name: str, text: str) -> None:
        value: Any = None if text.lower() == "none" else text
        changed = self.settings.replace(**{name: value})
        if changed.simulations is None and changed.seconds is None:
            raise Failure("simulations and seconds cannot both be none: set at least one limit")
        self.settings = changed

    # --- searching ---

    def _new_game(self, size: int) -> None:
        if self.stones.size != size:
            self.evaluator, self.knowledge = evaluator_for(make("hex", size=size), self._network)
        self.stones = Stones(size)
        self.clock.restart()

    def _may_swap(self, colour: int) -> bool:
        stones = self.stones
        return self.settings.allow_swap and stones.may_swap and stones.history[-1][0] != colour

    def _colour(self, word: str | None) -> int:
        return self.stones.to_move if word is None else read_colour(word)

    def _analysis_command(self, show: Callable[[Analysis, Stones], str]) -> Callable[..., str]:
        def analyse(colour: str | None = None) -> str:
            if self.stones.winner() is not None:
                raise Failure("the game is over: a finished position cannot be analysed")
            return show(self._search(self._colour(colour), None), self.stones)

        return analyse

    def _search(self, colour: int, seconds: float | None) -> Analysis:
        """Search the position, or reuse the result: several commands show the same search."""
        limits = [limit for limit in (self.settings.seconds, seconds) if limit is not None]
        asked = (dict(self.stones.stones), self.stones.size, colour, self.settings, seconds)
        if self._latest is not None and self._latest[0] == asked:
            return self._latest[1]
        view = self.stones.view(colour)
        config = SearchConfig(
            simulations=self.settings.simulations or UNLIMITED,
            max_seconds=min(limits, default=None),
            c_puct=self.settings.exploration,
            solver=self.settings.solver,
            batch=self.settings.batch or ("auto" if accelerated(self.evaluator) else CPU_BATCH),
            graph=True,
            canonical=True,
            max_nodes=MOST_NODES,
        )
        searcher = Searcher(view.state.game, self.evaluator, config, seed=self.settings.seed)

        def stop_if_asked(_: Mapping[str, int]) -> None:
            if self._interrupted.is_set():
                searcher.stop()

        found = Analysis(view, colour, searcher.run(view.state, stop_if_asked))
        self._latest = (asked, found) if not self._interrupted.is_set() else None
        return found


def read_colour(word: str) -> int:
    """Parse a colour."""
    for colour, name in enumerate(COLOURS):
        if word.lower() in (name, name[0]):
            return colour
    raise Failure(f"expected a colour, black or white, not {word[:20]}")


def whole(word: str) -> int:
    """Parse a whole number of at least 0."""
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise Failure(f"expected a whole number, not {word[:20]}")
    return int(word)


def number(word: str) -> float:
    """Parse a number of at least 0."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise Failure(f"expected a number of at least 0, not {word[:20]}")
    return value


def parameter_line(name: str, value: Any) -> str:
    """A parameter in the format of HexGui's dialog."""
    return f"[bool] {name} {int(value)}" if isinstance(value, bool) else f"[string] {name} {value}"


def fits(method: Callable[..., Any], arguments: int) -> bool:
    """Whether the method can be called with that many arguments."""
    try:
        inspect.signature(method).bind(*[""] * arguments)
    except TypeError:
        return False
    return True
