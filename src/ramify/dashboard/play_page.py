"""Play: a game of a person against any player."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from nicegui import events, ui

from ramify.arena import Turn
from ramify.dashboard.board import Board, moves_html, turn_text
from ramify.dashboard.catalog import typed_game
from ramify.dashboard.clock import CONTROLS, GameClock, clock_text
from ramify.dashboard.layout import GO, PROBLEMS, SPINNER, card, html, keyboard, keys_html, tell, turn_of
from ramify.dashboard.views import hint_html
from ramify.engine import SearchResult
from ramify.games import Game
from ramify.games.files import dumps, extensions
from ramify.games.notation import read_action
from ramify.games.pictures import Analysis
from ramify.presentation import SIMULATIONS
from ramify.presentation.described import analysis_of
from ramify.presentation.names import game_title, player_name
from ramify.presentation.opponents import Opponent, SearchOpponent, fresh
from ramify.presentation.person_game import PersonGame

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

STEPS = (1, 10, 50, 100, 200, 400, 800, 1600, 3200, 10_000, 50_000)
QUICK = 2_000  # simulations of a move for which others may wait
TIMES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
KEYS = {"ArrowUp": "UP", "ArrowDown": "DOWN", "ArrowLeft": "LEFT", "ArrowRight": "RIGHT", " ": "STAY"}
KEYS |= {"w": "UP", "s": "DOWN", "a": "LEFT", "d": "RIGHT"}
LOOK = {"ArrowLeft": -1, "ArrowRight": 1}  # back and forth in a game that is not played with these keys
COLOURS = {
    "hex": ("#d0382f", "#2a66b1"),
    "connect_four": ("#d9362b", "#f5c518"),
    "tictactoe": ("#c8372d", "#2a66b1"),
    "chess": ("#ffffff", "#222222"),
    "pyrat": ("#8d949e", "#3f9b4b"),
}


class PlayPage:
    """One tab in which somebody plays."""

    def __init__(self, site: Site, game_key: str) -> None:
        self.site = site
        self.seed = site.new_seed()
        self.game_key = game_key
        self.game: Game = site.catalog.make_game(game_key)
        self.side = 0
        self.limits: tuple[int | None, float | None] = (SIMULATIONS, None)
        self.opponent_key = f"search {site.catalog.default(self.game)}"
        self.control: tuple[int, int] | None = None
        self.clock: GameClock | None = None
        self.played = PersonGame([self.game.initial_state(self.seed)], 0)
        self.opponent: Opponent | None = None
        self.searcher: Any = None  # of the opponent, to stop it
        self.hinting: Any = None  # the search of a hint, to stop it
        self.asked = False  # whether a hint is being looked for
        self.thread = threading.Lock()  # of the opponent, which is asked one thing at a time
        self.epoch = 0  # counts what makes answers outdated: new games, undone moves
        self.thinking = False
        self.said, self.labels = "", list[str]()
        self.analysis: Analysis | None = None
        self.on_time: int | None = None  # who has lost on time
        self.looking: int | None = None  # the earlier position that is shown

    # Building the page.

    def build(self) -> None:
        with ui.element("div").classes("split"):
            with ui.element("div").classes("rows"):
                self.board = Board(self.on_move)
                with ui.element("div").classes("line"):
                    self.typed = ui.input(placeholder="or type a move").props(
                        'dense outlined clearable aria-label="Move"'
                    )
                    self.typed.on("keydown.enter", self.type_move)
                    self.status = html().classes("status grow").props('aria-live="polite"')
            with ui.element("div").classes("side"):
                with card():
                    self.seats = html().classes("seats")
                    self.moves = html().classes("moves")
                    self.moves.on("click", self.on_turn, js_handler=GO)
                    with ui.element("div").classes("line"):
                        self._buttons()
                self.advice = html()
                with card("New game"):
                    self._form()
        self.keys = keyboard(self.on_key, list(LOOK))
        self.timer = ui.timer(0.25, self.tick, active=False)

    def _buttons(self) -> None:
        for text, icon, work in (
            ("Undo", "undo", self.undo),
            ("Hint", "lightbulb", self.hint),
            ("Sides", "swap_vert", self.exchange),
            ("Resign", "flag", self.resign),
        ):
            ui.button(text, icon=icon, on_click=work).props("flat dense")
        with ui.button("Save", icon="download").props("flat dense"), ui.menu() as self.save_menu:
            pass

    def _form(self) -> None:
        entries = {entry.key: entry.title for entry in self.site.catalog.games()}
        if self.game_key not in entries:
            entries = {self.game_key: self.game_key, **entries}
        with ui.element("div").classes("rows"):
            self.game_select = ui.select(entries, value=self.game_key, label="Game", on_change=self.choose_game)
            self.custom = ui.input("Parameters, such as size=6 swap=true").props("dense outlined")
            self.custom.on("blur", self.choose_params)
            self.opponent_select = ui.select({}, label="Opponent", on_change=self.choose_opponent)
            with ui.element("div").classes("line") as self.strength_line:
                self.unit = ui.toggle(
                    {"simulations": "simulations", "seconds": "time"}, value="simulations", on_change=self.choose_unit
                )
                self.strength = ui.select({}, label="per move").classes("grow")
            with ui.element("div").classes("line"):
                self.side_select = ui.select({}, label="You play").classes("grow")
                self.clock_select = ui.select(list(CONTROLS), value="no clock", label="Clock").classes("grow")
            ui.button("Start", icon="play_arrow", on_click=self.start).classes("w-full")
        for select in (self.game_select, self.opponent_select, self.strength, self.side_select, self.clock_select):
            select.props("dense outlined options-dense")
        self.choose_unit()
        self.offer(self.game)

    def choose_unit(self) -> None:
        if self.unit.value == "simulations":
            wanted = min(self.limits[0] or SIMULATIONS, self.site.config.budget.simulations)
            self.strength.set_options({n: f"{n:,} simulations" for n in sorted({*STEPS, wanted})}, value=wanted)
        else:
            self.strength.set_options({s: f"{s:g} seconds" for s in TIMES}, value=1.0)

    def choose_game(self) -> None:
        self.custom.value = ""
        self.choose_params()

    def choose_params(self) -> None:
        try:
            self.offer(self.site.catalog.make_game(self.chosen_game()))
        except Exception as error:  # of parameters, or of a user's game
            tell(error)

    def choose_opponent(self) -> None:
        """Only a search has a strength to choose."""
        self.strength_line.set_visibility(str(self.opponent_select.value).startswith("search "))

    def chosen_game(self) -> str:
        return typed_game(str(self.game_select.value), str(self.custom.value or ""))

    def offer(self, game: Game) -> None:
        """Opponents and sides of the chosen game."""
        choices = {choice.key: choice.title for choice in self.site.catalog.opponents(game)}
        if game is self.game and self.opponent_key not in choices:
            choices = {self.opponent_key: self.opponent_key.replace("search ", "Search with ", 1), **choices}
        chosen = self.opponent_key if game is self.game else str(self.opponent_select.value)
        if chosen not in choices:
            chosen = f"search {self.site.catalog.default(game)}"
        self.opponent_select.set_options(choices, value=chosen)
        self.choose_opponent()
        first, second = player_name(game, 0), player_name(game, 1)
        order = ("", "") if game.simultaneous or "first" in first else (", first", ", second")
        self.side_select.set_options({0: f"{first}{order[0]}", 1: f"{second}{order[1]}"}, value=0)
        self.clock_select.set_visibility(game.name == "chess")

    # Games.

    async def start(self) -> None:
        """A new game, as the form says."""
        key = self.chosen_game()
        try:
            self.game = self.site.catalog.make_game(key)
        except Exception as error:  # of parameters, or of a user's game
            return tell(error)
        self.game_key, self.opponent_key = key, str(self.opponent_select.value)
        amount = self.strength.value
        self.limits = (int(amount), None) if self.unit.value == "simulations" else (None, float(amount))
        self.control = CONTROLS[str(self.clock_select.value)] if self.game.name == "chess" else None
        return await self.new(int(self.side_select.value or 0))

    async def new(self, side: int) -> None:
        """Begin a game in which the person is this player."""
        self.interrupt()
        self.close_opponent()
        self.side, self.seed = side, self.site.new_seed()
        self.played = PersonGame([self.game.initial_state(self.seed)], side)
        self.labels, self.said, self.analysis, self.on_time, self.looking = [], "", None, None, None
        self.clock = GameClock(*self.control) if self.control is not None else None
        epoch = self.epoch
        self.thinking = True
        self.show()
        try:
            opponent, searcher = await self.site.desk.move(
                lambda: self.site.catalog.open_opponent(self.game, self.opponent_key, self.limits, self.seed)
            )
        except Exception as error:  # an opponent that cannot play, a program that does not start
            self.thinking = False
            self.show()
            return tell(error)
        if epoch != self.epoch:
            return opponent.close()
        self.opponent, self.searcher, self.thinking = opponent, searcher, False
        self.timer.active = self.clock is not None
        return await self.answer()

    def interrupt(self) -> None:
        """What is being thought is not wanted any more."""
        self.epoch += 1
        self.thinking = False
        for searcher in (self.searcher, self.hinting):
            if searcher is not None:
                searcher.stop()

    def close_opponent(self) -> None:
        if self.opponent is not None:  # in a thread: a program may need seconds to end
            threading.Thread(target=self.opponent.close, daemon=True).start()
        self.opponent = self.searcher = None

    def close(self) -> None:
        """The tab is gone."""
        self.interrupt()
        self.close_opponent()

    @property
    def over(self) -> bool:
        return self.played.over or self.on_time is not None

    async def on_move(self, player: int, action: int) -> None:
        """The person's action, and the opponent's."""
        if self.thinking or self.over or player != self.side or self.opponent is None:
            return
        if len(self.played.state.acting) == 2:
            other = await self.opponent_chooses()
            if other is None:
                return
            self.apply({self.side: action, 1 - self.side: other})
        else:
            self.apply({self.side: action})
        await self.answer()

    def apply(self, chosen: dict[int, int]) -> None:
        before = self.played.state
        if self.clock is not None:
            self.clock.keep(len(self.played.turns))
        self.played.apply(chosen)
        self.labels.append(turn_text(before, self.played.turns[-1]))
        self.analysis, self.advice.content, self.looking = None, "", None

    async def answer(self) -> None:
        """The opponent's turns, until it is the person's or the game is over."""
        while self.played.state.acting == (1 - self.side,) and not self.over:
            action = await self.opponent_chooses()
            if action is None:
                return
            self.apply({1 - self.side: action})
        self.show()

    async def opponent_chooses(self) -> int | None:
        """The opponent's action; None if the game went another way meanwhile, or it has failed."""
        opponent, state, epoch = self.opponent, self.played.state, self.epoch
        if opponent is None:
            return None
        player = 1 - self.side
        turn = Turn(state.copy(), player, self.seed + len(self.played.states), len(self.played.turns))
        self.thinking = True
        self.pace(player)
        self.show()

        def choose() -> tuple[int, str]:
            with self.thread:  # a search that was stopped may still be at its last batch
                return opponent.choose(turn) if epoch == self.epoch else (-1, "")

        try:
            action, remark = await self.site.desk.move(choose, long=self.takes_long())
        except Exception as error:  # of a program or a player that somebody else has written
            if epoch == self.epoch:
                self.thinking = False
                self.show()
                tell(f"The opponent has failed: {error}")
            return None
        if epoch != self.epoch or self.over:
            return None
        self.thinking, self.said = False, remark
        if action not in state.legal_actions(player):
            tell(f"The opponent's answer {action!r} is not a legal move.")
            return None
        return int(action)

    def takes_long(self) -> bool:
        """Whether a move may take seconds: then it has to keep nobody else waiting."""
        simulations, seconds = self.limits
        return not isinstance(self.opponent, SearchOpponent) or seconds is not None or (simulations or 0) > QUICK

    def pace(self, player: int) -> None:
        """With a clock, the opponent takes no more time than it can afford."""
        if self.clock is None or not isinstance(self.opponent, SearchOpponent):
            return
        searcher = self.opponent.searcher
        seconds = min(self.clock.budget(player), self.site.config.budget.seconds)
        searcher.config = searcher.config.replace(max_seconds=seconds)

    # Buttons and keys.

    async def undo(self) -> None:
        self.interrupt()
        self.on_time = None
        if not self.played.take_back():
            tell("You have not made a move yet.")
        del self.labels[len(self.played.turns) :]
        if self.clock is not None:
            self.clock.take_back(len(self.played.turns))
        self.analysis, self.said, self.advice.content, self.looking = None, "", "", None
        self.show()
        await self.answer()  # if it is still the opponent's turn, which has been interrupted

    def resign(self) -> None:
        if not self.over:
            self.interrupt()
            self.played.resigned = True
            self.show()

    async def exchange(self) -> None:
        """The person takes the other side, in this position."""
        if self.opponent is None:
            return None
        if self.over:
            return tell("The game is over: choose a side for the next one below.")
        self.interrupt()
        self.side = self.played.side = 1 - self.side
        self.analysis = self.looking = None
        return await self.answer()

    async def hint(self) -> None:
        """What the search would play here, on the board and as a table."""
        if self.over or self.thinking or self.asked:
            return None
        self.asked = True
        epoch, state = self.epoch, self.played.state
        catalog = self.site.catalog

        def work() -> SearchResult:
            key = self.opponent_key.partition(" ")[2] if self.opponent_key.startswith("search ") else ""
            limits = catalog.limited(self.limits if self.opponent_key.startswith("search ") else (SIMULATIONS, None))
            self.hinting, _ = catalog.searcher(self.game, key or catalog.default(self.game), limits, self.seed)
            return fresh(self.hinting, state)

        self.status.content = f"{SPINNER} looking for a hint"
        try:
            result = await self.site.desk.move(work, long=self.takes_long())
        except Exception as error:  # of a network that does not fit, or of a user's game
            return tell(error)
        finally:
            self.hinting, self.asked = None, False
        if epoch == self.epoch and not self.over:
            self.analysis = analysis_of(state, result)
            self.advice.content = hint_html(state, result, self.side)
            self.show()
        return None

    async def type_move(self) -> None:
        text, self.typed.value = str(self.typed.value or "").strip(), ""
        if not text or self.side not in self.played.state.acting or self.over:
            return None
        try:
            action = read_action(self.played.state, text[:40], self.side)
        except ValueError as error:
            return tell(error)
        if action not in self.played.legal():
            return tell(f"{text[:40]!r} is not a legal move here.")
        return await self.on_move(self.side, action)

    async def on_key(self, event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        key = str(event.key.name)
        if self.game.name == "pyrat" and key in KEYS and self.side in self.played.state.acting:
            await self.on_move(self.side, self.played.state.action(KEYS[key], self.side))
        elif key in ("u", "h"):
            await (self.hint() if key == "h" else self.undo())
        elif key in LOOK:
            now = len(self.played.turns) if self.looking is None else self.looking
            self.look(now + LOOK[key])

    def on_turn(self, event: Any) -> None:
        if (turn := turn_of(event)) is not None:
            self.look(turn)

    def look(self, number: int) -> None:
        """Show an earlier position of the game; the last one is the game itself again."""
        last = len(self.played.turns)
        self.looking = max(0, number) if number < last else None
        self.show()

    # Showing.

    def tick(self) -> None:
        """Clocks run, and fall."""
        if self.clock is None:
            return
        if not self.over and (fallen := self.clock.fallen) is not None:
            self.interrupt()
            self.on_time = fallen
            self.show()
        self.show_seats()

    def show(self) -> None:
        played, state = self.played, self.played.state
        if self.clock is not None and self.opponent is not None:
            acting = state.acting[0] if state.acting and not self.over and played.turns else None
            self.clock.start(acting)
        now = len(played.turns) if self.looking is None else self.looking
        last = (played.states[now - 1], played.turns[now - 1]) if now else None
        free = not self.over and not self.thinking and self.opponent is not None and self.looking is None
        found = self.analysis if self.looking is None else None
        self.board.show(played.states[now], self.side if free else None, viewer=self.side, last=last, analysis=found)
        self.moves.content = moves_html(self.game.name, self.labels, now)
        self.keys.content = keys_html(list(KEYS if self.game.name == "pyrat" else LOOK))
        self.show_status()
        self.show_seats()
        self.offer_files()

    def show_status(self) -> None:
        if self.looking is not None:
            text = f"Position {self.looking} of {len(self.played.turns)}; the last move leads back"
        elif self.on_time is not None:
            text = "You win on time" if self.on_time != self.side else "You lose on time"
        elif self.played.over:
            text = self.played.ending()
        elif self.thinking:
            self.status.content = f"{SPINNER} thinking"
            return
        elif self.opponent is None:
            text = "Press Start"
        elif self.side not in self.played.state.acting:
            text = "The opponent has not answered: undo, or start again"
        else:
            text = "Your move" + (" (arrow keys, or click)" if self.game.name == "pyrat" else "")
        remark = f'<span class="dim hide-small">{escape(self.said)}</span>' if self.said and not self.over else ""
        self.status.content = f"<span>{escape(text)}</span> {remark}"

    def show_seats(self) -> None:
        rows = []
        name = self.opponent.name if self.opponent is not None else "no opponent yet"
        for player in (1 - self.side, self.side):
            who = "You" if player == self.side else name
            colour = COLOURS.get(self.game.name, ("#a8480f", "#2a66b1"))[player]
            clock = ""
            if self.clock is not None:
                on = " on" if self.clock.running == player else ""
                clock = f'<span class="clock{on}">{clock_text(self.clock.remaining(player))}</span>'
            rows.append(
                f'<div class="seat"><span class="line"><i class="dot" style="background:{colour}"></i>'
                f"<b>{escape(who)}</b>"
                f'<span class="dim">{escape(player_name(self.game, player))}</span></span>{clock}</div>'
            )
        self.seats.content = f"<h2>{escape(game_title(self.game))}</h2>{''.join(rows)}"

    def offer_files(self) -> None:
        kinds = [*extensions(self.game), ".svg"]
        if getattr(self, "_offered", None) == kinds:
            return
        self._offered = kinds
        self.save_menu.clear()
        with self.save_menu:
            for kind in kinds:
                ui.menu_item(kind[1:].upper(), on_click=self._saver(kind))

    def _saver(self, kind: str) -> Callable[[], None]:
        def save() -> None:
            try:
                record = self.played.game_record(self.opponent.name if self.opponent is not None else "")
                text = self.played.state.svg() if kind == ".svg" else dumps(kind, record)
            except PROBLEMS as error:
                return tell(error)
            return ui.download.content(text, f"{self.game.name.replace(':', '-')}{kind}")

        return save


async def play_page(site: Site, game: str, network: str = "", simulations: int = 0) -> None:
    """The content of the page; ``network``: one to play against, by its key; ``simulations`` per move."""
    try:
        page = PlayPage(site, game)
        if network:
            site.catalog.network(network)
            page.opponent_key = f"search {network}"
        if simulations > 0:
            page.limits = (simulations, None)
    except Exception as error:  # of parameters, or of a user's game
        page = PlayPage(site, site.catalog.games()[0].key)
        tell(error)
    page.build()
    ui.context.client.on_delete(page.close)
    page.show()
    await ui.context.client.connected()
    with ui.context.client:
        await asyncio.shield(page.new(0))
