"""Analyse: any position, searched live."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from nicegui import events, ui

from ramify.dashboard.analyser import Analyser, Line
from ramify.dashboard.board import Board, moves_html, safe_picture, turn_text
from ramify.dashboard.catalog import typed_game
from ramify.dashboard.desk import BusyError
from ramify.dashboard.layout import GO, SPINNER, card, html, keyboard, tell, turn_of
from ramify.dashboard.play_page import KEYS
from ramify.dashboard.views import Heat, bar_html, heated, matrix_html, read_path, tree_html
from ramify.games import Game, State
from ramify.games.files.openings import read_position
from ramify.games.notation import play_words, read_action

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

LIMITS = (100, 1000, 10_000, 100_000, 1_000_000)
LONGEST = 20_000  # characters of a position or a list of moves
MOST_NETWORKS = 4
ROW = (
    "(e) => {const t = e.target.closest('[data-action]'); "
    "if (t && (!e.key || e.key === 'Enter')) emit(t.dataset.action)}"
)
NODE = (
    "(e) => {const t = e.target.closest('[data-path]'); if (t && (!e.key || e.key === 'Enter')) emit(t.dataset.path)}"
)


class AnalysePage:
    """One tab in which somebody analyses."""

    def __init__(self, site: Site, game_key: str, position: str, moves: str) -> None:
        self.site, self.game_key = site, game_key
        self.game: Game = site.catalog.make_game(game_key)
        self.seed = site.new_seed() if not position else 0
        self.states: list[State] = []
        self.turns: list[tuple[int, ...]] = []
        self.labels: list[str] = []
        self.now = 0  # the position that is shown
        self.pending: dict[int, int] = {}  # actions chosen where both act
        self.analyser: Analyser | None = None
        self.shown: Line | None = None
        self.opened: set[Any] = set()
        self.tree = ""
        self.working = 0  # loops of slices that have not ended yet
        self.load(position, moves)

    def load(self, position: str, moves: str) -> None:
        """Set up a position and play moves; a ValueError says what is wrong."""
        if len(position) + len(moves) > LONGEST:
            raise ValueError(f"a position and its moves have at most {LONGEST:,} characters")
        text = position.strip()
        start = read_position(self.game, text) if text else self.game.initial_state(self.seed)
        states, turns, labels = [start], list[tuple[int, ...]](), list[str]()
        words = moves.replace("/", " ").split()
        at = 0
        while at < len(words):
            before = states[-1]
            count = max(1, len(before.acting))
            after = before.copy()
            play_words(after, words[at : at + count])
            turn = tuple(
                _number(before, word, player)
                for word, player in zip(words[at : at + count], before.acting, strict=True)
            )
            states.append(after)
            turns.append(turn)
            labels.append(turn_text(before, turn))
            at += count
        self.states, self.turns, self.labels, self.now, self.pending = states, turns, labels, len(turns), {}

    @property
    def state(self) -> State:
        return self.states[self.now]

    # Building the page.

    def build(self) -> None:
        with ui.element("div").classes("split wide"):
            with ui.element("div").classes("rows"):
                with ui.element("div").classes("boardrow"):
                    self.bar = html()
                    self.bar.style("display:flex")
                    self.board = Board(self.on_move)
                with ui.element("div").classes("line"):
                    for icon, label, work in (
                        ("first_page", "First position", lambda: self.go(0)),
                        ("chevron_left", "Back", lambda: self.go(self.now - 1)),
                        ("chevron_right", "Forward", lambda: self.go(self.now + 1)),
                        ("last_page", "Last position", lambda: self.go(len(self.turns))),
                    ):
                        ui.button(icon=icon, on_click=work).props(f'flat dense aria-label="{label}"')
                    self.heat = ui.toggle(
                        {"visits": "visits", "prior": "network", "value": "win chance", "off": "plain"},
                        value="visits",
                        on_change=self.show_result,
                    ).props("dense")
                self.moves = html().classes("moves card")
                self.moves.on("click", self.on_turn, js_handler=GO)
            with ui.element("div").classes("side"):
                with card(), ui.element("div").classes("rows"):
                    self._controls()
                self._tabs()
                with card("Position"):
                    self._form()
        keyboard(self.on_key, ["ArrowLeft", "ArrowRight", " ", *(KEYS if self.game.name == "pyrat" else ())])

    def _form(self) -> None:
        entries = {entry.key: entry.title for entry in self.site.catalog.games()}
        if self.game_key not in entries:
            entries = {self.game_key: self.game_key, **entries}
        with ui.element("div").classes("rows"):
            self.game_select = ui.select(entries, value=self.game_key, label="Game").props(
                "dense outlined options-dense"
            )
            self.custom = ui.input("Parameters, such as size=6 swap=true").props("dense outlined")
            self.position = ui.input("Position: FEN, or fields as JSON; empty for the start").props("dense outlined")
            self.words = ui.input("Moves, such as e2e4 e7e5").props("dense outlined")
            ui.button("Set up", icon="grid_on", on_click=self.set_up).props("outline")

    def _controls(self) -> None:
        networks = {choice.key: choice.title for choice in self.site.catalog.networks(self.game)}
        with ui.element("div").classes("line"):
            self.button = ui.button("Start", icon="play_arrow", on_click=self.toggle)
            self.status = html().classes("grow").props('aria-live="polite"')
        with ui.element("div").classes("line"):
            self.networks = ui.select(
                networks, value=[self.site.catalog.default(self.game)], multiple=True, label="Networks"
            ).classes("grow long")
            self.limit = ui.select({n: f"{n:,}" for n in LIMITS}, value=100_000, label="Simulations").classes("short")
            kinds = ["puct", "gumbel"] if not self.game.simultaneous else ["puct", "regret", "exp3", "gumbel"]
            usual = "regret" if self.game.simultaneous else "puct"
            self.selection = ui.select(kinds, value=usual, label="Selection").classes("short")
        for select in (self.networks, self.limit, self.selection):
            select.props("dense outlined options-dense")

    def _tabs(self) -> None:
        with card():
            names = ["Moves", "Tree", "Network and search"]
            names.insert(1, "Matrix") if self.game.simultaneous else None
            with ui.tabs().props("dense align=left no-caps inline-label mobile-arrows") as self.tabs:
                for name in names:
                    ui.tab(name)
            with (
                ui.tab_panels(self.tabs, value="Moves", on_change=self.turn_tab)
                .classes("w-full")
                .style("background:none")
            ):
                with ui.tab_panel("Moves").style("padding:.5rem 0"):
                    self.table = html(
                        '<p class="dim">Press Start: the best moves appear here while the search goes on.</p>'
                    )
                    self.table.on("click", self.on_row, js_handler=ROW)
                    self.table.on("keydown", self.on_row, js_handler=ROW)
                if self.game.simultaneous:
                    with ui.tab_panel("Matrix").style("padding:.5rem 0"):
                        self.matrix = html()
                with ui.tab_panel("Tree").style("padding:.5rem 0"):
                    self.branches = html()
                    self.branches.on("click", self.on_node, js_handler=NODE)
                    self.branches.on("keydown", self.on_node, js_handler=NODE)
                with ui.tab_panel("Network and search").style("padding:.5rem 0"):
                    self.compared = html()

    # The position.

    async def on_move(self, player: int, action: int) -> None:
        """A move on the board, of whoever acts; where both do, one after the other."""
        self.pending[player] = action
        missing = [one for one in self.state.acting if one not in self.pending]
        if missing:
            return self.show()
        turn = tuple(self.pending[one] for one in self.state.acting)
        return await self.play(turn)

    async def play(self, turn: tuple[int, ...]) -> None:
        before = self.state
        after = before.copy()
        after.apply(*turn)
        running = self.running
        self.halt()
        del self.states[self.now + 1 :], self.turns[self.now :], self.labels[self.now :]
        self.states.append(after)
        self.turns.append(turn)
        self.labels.append(turn_text(before, turn))
        await self.go(self.now + 1, resume=running)

    async def go(self, number: int, resume: bool | None = None) -> None:
        """Show another position of the line; a search that runs goes on there."""
        running = self.running if resume is None else resume
        self.halt()
        self.now, self.pending = max(0, min(number, len(self.turns))), {}
        self.analyser, self.shown, self.opened = None, None, set()
        self.show()
        if running and not self.state.is_over:
            await self.start()

    async def set_up(self) -> None:
        chosen = typed_game(str(self.game_select.value), str(self.custom.value or ""))
        if chosen != self.game_key:
            query = {
                "game": chosen,
                "position": self.position.value or "",
                "moves": self.words.value or "",
            }
            return ui.navigate.to(f"/analyse?{urlencode({key: value for key, value in query.items() if value})}")
        try:
            self.load(str(self.position.value or ""), str(self.words.value or ""))
        except Exception as error:  # of the position, or of a user's game
            return tell(error)
        return await self.go(len(self.turns))

    async def on_turn(self, event: Any) -> None:
        if (turn := turn_of(event)) is not None:
            await self.go(turn)

    async def on_row(self, event: Any) -> None:
        """A row of the table was clicked: play that move."""
        player, _, action = str(event.args).partition(":")
        acts = player in ("0", "1") and action.isdigit() and int(player) in self.state.acting
        if acts and int(action) in self.state.legal_actions(int(player)):
            await self.on_move(int(player), int(action))

    async def on_node(self, event: Any) -> None:
        """A node of the tree was clicked: open or close it."""
        path = read_path(str(event.args))
        if path is not None:
            self.opened ^= {path}
            await self.look()

    async def on_key(self, event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        key = str(event.key.name)
        if key in ("ArrowLeft", "ArrowRight") and self.game.name != "pyrat":
            await self.go(self.now + (1 if key == "ArrowRight" else -1))
        elif self.game.name == "pyrat" and key in KEYS and key != " ":
            waiting = [one for one in self.state.acting if one not in self.pending]
            if waiting:
                await self.on_move(waiting[0], self.state.action(KEYS[key], waiting[0]))
        elif key == " ":
            await self.toggle()

    async def turn_tab(self) -> None:
        """The tree and the comparison are read from the graph when they are looked at."""
        await self.look()
        self.show_result()

    # The search.

    @property
    def running(self) -> bool:
        return self.analyser is not None and not self.analyser.done

    async def toggle(self) -> None:
        if self.running:
            self.halt()
            self.show_result()
        else:
            await self.start()

    def halt(self) -> None:
        if self.analyser is not None:
            self.analyser.stop()

    async def start(self) -> None:
        """Search until the limit is reached or somebody stops it."""
        if self.state.is_over:
            return tell("The game is over in this position.")
        keys = [str(key) for key in (self.networks.value or [])][:MOST_NETWORKS]
        if not keys:
            return tell("Choose a network.")
        try:
            self.site.desk.enter()
        except BusyError as error:
            return tell(error)
        settings = {"selection": str(self.selection.value)}
        limit = min(int(self.limit.value), 10 * self.site.config.budget.simulations)
        analyser = Analyser(self.site, self.state.copy(), [Line(key) for key in keys], settings, limit)
        self.analyser, self.shown = analyser, analyser.lines[0]
        self.show_result()
        try:
            self.working += 1
            while not analyser.done:
                await self.site.desk.slice(lambda: self.work(analyser))
                if self.analyser is analyser:
                    self.show_result()
        except Exception as error:  # of a network that does not fit, or of a user's game
            analyser.stop()
            tell(error)
        finally:
            self.working -= 1
            self.site.desk.leave()
        if self.analyser is analyser:
            self.show_result()
        return None

    def work(self, analyser: Analyser) -> None:
        """In a thread: one slice, and what only the graph knows."""
        analyser.work()
        self.look_into(analyser)

    def look_into(self, analyser: Analyser) -> None:
        """In a thread, while no slice runs: read lines and the tree from the graph."""
        for line in analyser.lines:
            line.describe(analyser.state)
        main = analyser.lines[0].result
        if main is not None and self.tabs.value == "Tree":
            self.tree = tree_html(analyser.state, main, set(self.opened))

    async def look(self) -> None:
        """The same for a search that has ended."""
        if self.analyser is not None and not self.working:
            analyser = self.analyser
            await self.site.desk.slice(lambda: self.look_into(analyser))
            self.show_result()

    def close(self) -> None:
        """The tab is gone."""
        self.halt()

    # Showing.

    def show(self) -> None:
        """The position, without a result."""
        state = self.state
        waiting = [one for one in state.acting if one not in self.pending]
        last = (self.states[self.now - 1], self.turns[self.now - 1]) if self.now else None
        self.board.show(state, waiting[0] if waiting else None, last=last)
        if self.pending:
            names = [f"{state.action_name(action, player)}" for player, action in self.pending.items()]
            self.status.content = f"chosen: {escape(' '.join(names))}"
        self.moves.content = (
            moves_html(self.game.name, self.labels, self.now)
            or '<span class="dim">Click on the board, or on a move under it, to play moves.</span>'
        )
        if self.analyser is None:
            self.table.content = '<p class="dim">Press Start: the best moves appear here while the search goes on.</p>'
            self.compared.content = self.branches.content = self.tree = ""
            if self.game.simultaneous:
                self.matrix.content = ""
            self.status.content = self.status.content if self.pending else ""
            self.bar.content = bar_html(0.0)
            self.button.text, self.button.icon = "Start", "play_arrow"

    def show_result(self) -> None:
        """What the search has found so far."""
        analyser, line = self.analyser, self.shown
        running = self.running
        self.button.text, self.button.icon = ("Stop", "stop") if running else ("Start", "play_arrow")
        if analyser is None or line is None:
            return
        if line.result is None or line.found is None:
            self.status.content = f"{SPINNER} loading the network"
            return
        result, state = line.result, analyser.state
        self.status.content = status_html(line, running)
        waiting = [one for one in state.acting if one not in self.pending]
        last = (self.states[self.now - 1], self.turns[self.now - 1]) if self.now else None
        heat: Heat = self.heat.value or "visits"
        self.board.show(state, waiting[0] if waiting else None, last=last, analysis=heated(line.found, result, heat))
        self.bar.content = bar_html(
            float(result.value[0]) if not self.game.simultaneous else float(result.value[0] - result.value[1]) / 4
        )
        if self.tabs.value == "Moves":
            self.table.content = line.table
        elif self.tabs.value == "Matrix" and len(result.acting) == 2:
            self.matrix.content = matrix_html(state, result)
        elif self.tabs.value == "Tree":
            self.branches.content = self.tree or f"{SPINNER} press Start again to grow the tree"
        elif self.tabs.value == "Network and search":
            self.compared.content = comparison_html(state, analyser.lines)


def status_html(line: Line, running: bool) -> str:
    """How far a search is."""
    assert line.result is not None
    rate = line.simulations / max(line.seconds, 1e-3)
    proven = ' <span class="badge">proven</span>' if line.result.proven is not None else ""
    spinner = SPINNER if running else ""
    nodes = int(line.result.stats.get("nodes", 0))
    return (
        f"{spinner} <b>{line.simulations:,}</b> simulations, {rate:,.0f}/s, {nodes:,} nodes "
        f'<span class="dim">with {escape(line.name)}</span>{proven}'
    )


def comparison_html(state: State, lines: list[Line]) -> str:
    """What each network says by itself, and what the search with it has found."""
    parts = []
    for line in lines:
        if line.first is None or line.result is None or line.first_found is None or line.found is None:
            continue
        alone = (f"{line.name} alone", line.first, line.first_found, "prior")
        searched = (f"search with {line.name}", line.result, line.found, "visits")
        for title, result, found, heat in (alone, searched):
            picture = safe_picture(state, heated(found, result, cast(Heat, heat)), 0)
            value = ", ".join(f"{float(result.value[player]):+.3f}" for player in result.acting)
            best = best_text(state, result, heat)
            parts.append(
                f'<div><div class="board">{picture}</div><b>{escape(title)}</b> <span class="dim">value {value}, '
                f"{escape(best)}</span></div>"
            )
    return f'<div class="pair">{"".join(parts)}</div>' if parts else '<p class="dim">Press Start.</p>'


def best_text(state: State, result: Any, heat: str) -> str:
    """The best action of every acting player: by the network, or by the search."""
    names = []
    for place, player in enumerate(result.acting):
        if heat == "prior":
            action = int(result.outcomes[player][int(result.priors[player].argmax())])
        else:
            best = result.best_action
            action = best[place] if isinstance(best, tuple) else best
        names.append(turn_text(state, [action]) if len(result.acting) == 1 else state.action_name(action, player))
    return f"best {' / '.join(names)}"


def _number(state: State, word: str, player: int) -> int:
    return read_action(state, word, player, numbers=True)


def analyse_page(site: Site, game: str, position: str, moves: str) -> None:
    """The content of the page."""
    try:
        page = AnalysePage(site, game, position, moves)
    except Exception as error:  # of the position, or of a user's game
        tell(error)
        page = AnalysePage(site, site.catalog.games()[0].key, "", "")
    page.build()
    page.position.value, page.words.value = position, moves
    ui.context.client.on_delete(page.close)
    page.show()
