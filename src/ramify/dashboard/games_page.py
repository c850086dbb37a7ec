"""Games: lists of stored games and of self-play, and a board to replay one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from nicegui import events, ui

from ramify.dashboard.board import Board, moves_html
from ramify.dashboard.catalog import game_key
from ramify.dashboard.desk import BusyError
from ramify.dashboard.layout import (
    GO,
    LONGEST_NUMBER,
    PROBLEMS,
    card,
    html,
    keyboard,
    refused,
    table,
    tell,
    turn_of,
    whole,
)
from ramify.dashboard.library import STORE, Replay
from ramify.dashboard.views import bar_html
from ramify.games import make
from ramify.games.files import dumps, extensions
from ramify.presentation.described import analysis_of
from ramify.presentation.names import game_title, player_name

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

PAGE = 50  # games of a list
REVIEW = 200  # simulations for every position of a game that is looked through
WIDTH, HEIGHT = 640.0, 110.0  # of the curve of values


# Lists.


async def games_page(site: Site, query: dict[str, str]) -> None:
    """A list of games, as the address says."""
    sources = await site.desk.read(site.library.sources)
    ui.html("<h1>Games</h1>", sanitize=False)
    if not sources:
        return refused(
            "There are no games yet: 'ramify match', 'ramify tournament', 'ramify rate' and 'ramify train' play some."
        )
    source = query.get("source", "")
    source = source if source in sources else next(iter(sources))
    with card():
        ui.select(
            sources, value=source, label="Where", on_change=lambda event: ui.navigate.to(link(source=event.value))
        ).props("dense outlined options-dense")
    try:
        shown = await site.desk.read(
            lambda: (
                stored_list(site, source, query)
                if not source.startswith("selfplay:")
                else selfplay_list(site, source, query)
            )
        )
    except PROBLEMS as error:
        return refused(str(error))
    with card():
        html(shown)
    return None


def link(path: str = "/games", **query: Any) -> str:
    """The address of a list or a game."""
    return f"{path}?{urlencode({key: value for key, value in query.items() if value not in (None, '')})}"


def stored_list(site: Site, source: str, query: dict[str, str]) -> str:
    """A page of the games of a store, as HTML."""
    from ramify.store import GameFilter

    store = site.library.store(source)
    before = whole(query.get("before", "")) or None
    params = json.loads(query["params"]) if query.get("params") else None
    chosen = GameFilter(query.get("game") or None, params, query.get("player") or None, query.get("other") or None)
    games = store.page_of_games(chosen, before, PAGE + 1)
    names = site.library.names(source, [one for game in games for one in game.players])
    rows = []
    for game in games[:PAGE]:
        first, second = (escape(names.get(one, one)) for one in game.players)
        score = "½–½" if game.winner is None else "1–0" if game.winner == 0 else "0–1"
        rows.append(
            [
                f'<a href="{link("/game", source=source, id=game.id)}">{game.id:,}</a>',
                escape(
                    game_key(
                        game.game,
                        {key: value for key, value in game.params.items() if key in ("size", "width", "height")},
                    )
                ),
                first,
                second,
                f"<b>{score}</b>",
                f"{game.turns:,}",
                escape(game.reason),
                f"{game.played:%Y-%m-%d %H:%M}",
            ]
        )
    kinds = " ".join(
        f'<a class="badge" href="{escape(kind_link(source, name, params))}">'
        f"{escape(kind_title(name, params))}: {count:,}</a>"
        for name, params, count in store.kinds_of_games()
    )
    every = f'<a class="badge" href="{link(source=source)}">all</a>' if query.get("game") or query.get("player") else ""
    head = ["game", "rules", "first", "second", "result", "turns", "end", "played"]
    more = {key: query.get(key, "") for key in ("game", "params", "player", "other")}
    following = ""
    if len(games) > PAGE:
        following = f'<a href="{escape(link(source=source, before=games[PAGE - 1].id, **more))}">Older games</a>'
    newest = f'<a href="{escape(link(source=source, **more))}">Newest</a>' if before else ""
    count = store.count_games(chosen)
    return (
        f'<div class="line">{kinds} {every}</div><p class="dim">{count:,} games</p>'
        f"{table(head, rows, left=(1, 2, 3, 6))}"
        f'<p class="line">{newest} {following}</p>'
    )


def kind_link(source: str, name: str, params: dict[str, Any]) -> str:
    return link(source=source, game=name, params=json.dumps(params, sort_keys=True))


def kind_title(name: str, params: dict[str, Any]) -> str:
    try:
        return game_title(make(name, **params))
    except Exception:  # a game of the user's own that this server has not imported
        return name


def selfplay_list(site: Site, source: str, query: dict[str, str]) -> str:
    """A file of self-play games, as HTML."""
    from ramify.selfplay.records import read_numbers

    name = source.partition(":")[2]
    shards = site.library.shards(name)
    shard = query.get("shard", "")
    shard = shard if shard in shards else shards[0]
    numbers = read_numbers(site.library.shard(name, shard))
    page = whole(query.get("page", ""))
    part = list(enumerate(numbers))[page * PAGE : (page + 1) * PAGE]
    rows = [
        [f'<a href="{link("/game", source=source, shard=shard, id=place)}">Game {number + 1:,}</a>', str(seed)]
        for place, (number, seed) in part
    ]
    at = shards.index(shard)
    newer = f'<a href="{link(source=source, shard=shards[at - 1])}">Newer</a>' if at else ""
    older = f'<a href="{link(source=source, shard=shards[at + 1])}">Older</a>' if at + 1 < len(shards) else ""
    next_part = ""
    if (page + 1) * PAGE < len(numbers):
        next_part = f'<a href="{link(source=source, shard=shard, page=page + 1)}">More of this file</a>'
    said = f"File {at + 1} of {len(shards)}, newest first: {shard}.games, {len(numbers):,} games"
    return f'<p class="dim">{said}</p>{table(["game", "seed"], rows)}<p class="line">{newer} {older} {next_part}</p>'


# One game.


class ReplayPage:
    """A tab that replays a game."""

    def __init__(self, site: Site, replay: Replay) -> None:
        self.site, self.replay = site, replay
        self.now = 0
        self.reviewing = False
        self.closed = False
        self.searcher: Any = None

    def build(self) -> None:
        replay = self.replay
        with ui.element("div").classes("split"):
            with ui.element("div").classes("rows"):
                with ui.element("div").classes("boardrow"):
                    self.bar = html().style("display:flex")
                    self.board = Board(_nothing)
                self.slider = ui.slider(
                    min=0,
                    max=max(1, len(replay.states) - 1),
                    value=0,
                    on_change=lambda event: self.go(int(event.value)),
                )
                self.slider.props('aria-label="Move"')
                with ui.element("div").classes("line"):
                    for icon, label, work in (
                        ("first_page", "First position", lambda: self.go(0)),
                        ("chevron_left", "Back", lambda: self.go(self.now - 1)),
                        ("chevron_right", "Forward", lambda: self.go(self.now + 1)),
                        ("last_page", "Last position", lambda: self.go(len(replay.states) - 1)),
                    ):
                        ui.button(icon=icon, on_click=work).props(f'flat dense aria-label="{label}"')
                    ui.button("Largest swing", icon="bolt", on_click=self.to_swing).props("flat dense")
                    ui.button("Analyse", icon="search", on_click=self.analyse).props("flat dense")
                    self.status = html().classes("status")
            with ui.element("div").classes("side"):
                with card():
                    html(self.heading())
                    self.moves = html().classes("moves")
                    self.moves.on("click", self.on_turn, js_handler=GO)
                with card("Value for " + player_name(replay.game, 0).lower()):
                    self.curve = html()
                    self.curve.on("click", self.on_turn, js_handler=GO)
                    with ui.element("div").classes("line"):
                        self.button = ui.button("Review with a search", icon="insights", on_click=self.review).props(
                            "outline dense"
                        )
                        self.progress = ui.linear_progress(value=0, show_value=False).classes("grow")
                        self.progress.set_visibility(False)
                self.found = html()
                with card("Save"), ui.element("div").classes("line"):
                    for kind in [*extensions(replay.game), ".svg"]:
                        ui.button(kind[1:].upper(), on_click=self._saver(kind)).props("flat dense")
        keyboard(self.on_key, ["ArrowLeft", "ArrowRight", "Home", "End"])
        self.show()

    def heading(self) -> str:
        record = self.replay.record
        ends = f"{record.result}, " if record.result != "*" else ""
        note = f" ({escape(self.replay.note)})" if self.replay.note else ""
        return (
            f"<h2>{escape(game_title(self.replay.game))}</h2>"
            f'<p class="big">{escape(self.replay.title)}</p><p class="dim">{ends}{len(record.turns)} turns{note}</p>'
        )

    def go(self, number: int) -> None:
        self.now = max(0, min(number, len(self.replay.states) - 1))
        self.show()

    def to_swing(self) -> None:
        where = self.replay.swing()
        if where is None:
            return tell("The values of this game are not known yet: review it with a search.")
        return self.go(where)

    def analyse(self) -> None:
        """Open the analysis of this position."""
        words = [
            state.action_name(int(action), player)
            for state, turn in zip(self.replay.states[: self.now], self.replay.record.turns, strict=False)
            for player, action in zip(state.acting, turn, strict=False)
        ]
        game, start = self.replay.game, self.replay.states[0]
        query = {"game": game_key(game.name, game.params), "moves": " ".join(words)}
        if hasattr(start, "fields") and game.name != "hex":
            query["position"] = start.fields["fen"] if game.name == "chess" else json.dumps(start.fields)
        ui.navigate.to(link("/analyse", **query))

    async def on_turn(self, event: Any) -> None:
        if (turn := turn_of(event)) is not None:
            self.go(turn)

    def on_key(self, event: events.KeyEventArguments) -> None:
        if event.action.keydown and str(event.key.name) in ("ArrowLeft", "ArrowRight", "Home", "End"):
            last = len(self.replay.states) - 1
            steps = {"ArrowLeft": self.now - 1, "ArrowRight": self.now + 1, "Home": 0, "End": last}
            self.go(steps[str(event.key.name)])

    async def review(self) -> None:
        """Search every position whose value is not known."""
        if self.reviewing:
            return None
        try:
            self.site.desk.enter()
        except BusyError as error:
            return tell(error)
        self.reviewing = True
        self.button.disable()
        self.progress.set_visibility(True)
        try:
            states = self.replay.states
            for number, state in enumerate(states):
                if self.closed:
                    break
                if self.replay.thoughts[number] is None and not state.is_over:
                    await self.site.desk.slice(partial(self.search, number))
                self.progress.value = (number + 1) / len(states)
                if number % 4 == 0:
                    self.show()
        except Exception as error:  # of a network, or of a user's game
            tell(error)
        finally:
            self.site.desk.leave()
            self.reviewing = False
            self.button.set_enabled(self.unknown)
        self.progress.set_visibility(False)
        self.show()
        return None

    @property
    def unknown(self) -> bool:
        """Whether there are positions that no search has looked at."""
        pairs = zip(self.replay.states, self.replay.thoughts, strict=True)
        return any(found is None and not state.is_over for state, found in pairs)

    def search(self, number: int) -> None:
        """In a thread: the value of one position."""
        catalog, state = self.site.catalog, self.replay.states[number]
        if self.searcher is None:
            self.searcher, _ = catalog.searcher(
                self.replay.game, catalog.default(self.replay.game), catalog.limited((REVIEW, None)), 0
            )
        self.searcher.reset()
        result = self.searcher.run(state)
        self.replay.values[number] = float(result.value[0])
        self.replay.thoughts[number] = analysis_of(state, result)

    def close(self) -> None:
        self.closed = True
        if self.searcher is not None:
            self.searcher.stop()

    def show(self) -> None:
        replay, now = self.replay, self.now
        last = (replay.states[now - 1], replay.record.turns[now - 1]) if now else None
        found = replay.thoughts[now]
        self.board.show(replay.states[now], last=last, analysis=found)
        self.moves.content = moves_html(replay.game.name, replay.labels, now)
        value = replay.values[now]
        self.bar.content = bar_html(value or 0.0) if not replay.game.simultaneous else ""
        self.curve.content = value_curve(replay.values, now)
        self.status.content = f"{now} of {len(replay.states) - 1}"
        if self.slider.value != now:
            self.slider.value = now
        self.found.content = ""
        if found is not None:
            parts = []
            for player in found.choices:
                rows = [
                    [
                        f"<b>{escape(one.label or one.name)}</b>",
                        f"{one.share:.1%}",
                        "" if one.value is None else f"{one.value:+.3f}",
                    ]
                    for one in found.top(player)
                ]
                parts.append(
                    f"<h2>{escape(player_name(replay.game, player))}</h2>{table(['move', 'visits', 'value'], rows)}"
                )
            said = f"{found.simulations:,} simulations"
            shown = f'<h2>What the search thought</h2>{"".join(parts)}<p class="dim">{said}</p>'
            self.found.content = f'<section class="card">{shown}</section>'

    def _saver(self, kind: str) -> Callable[[], None]:
        def save() -> None:
            try:
                text = self.replay.states[self.now].svg() if kind == ".svg" else dumps(kind, self.replay.record)
            except PROBLEMS as error:
                return tell(error)
            return ui.download.content(text, f"{self.replay.game.name.replace(':', '-')}{kind}")

        return save


async def _nothing(player: int, action: int) -> None:
    """A game that has been played is not changed."""


def value_curve(values: list[float | None], now: int) -> str:
    """The value of player 0 over the game as a picture; its moves can be clicked (data-turn)."""
    known = [(number, value) for number, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return '<p class="dim">The values are not known yet.</p>'
    high = float(max(1, math.ceil(max(abs(value) for _, value in known))))
    step = WIDTH / max(1, len(values) - 1)
    points = " ".join(
        f"{number * step:.1f},{HEIGHT / 2 - value / high * (HEIGHT / 2 - 4):.1f}" for number, value in known
    )
    area = f"{known[0][0] * step:.1f},{HEIGHT / 2} {points} {known[-1][0] * step:.1f},{HEIGHT / 2}"
    scale = "".join(
        f'<text x="2" y="{y:.0f}" font-size="13" fill="var(--dim)">{text}</text>'
        for y, text in ((13, f"+{high:g}"), (HEIGHT / 2 - 4, "0"), (HEIGHT - 4, f"-{high:g}"))
    )
    bands = "".join(
        f'<rect data-turn="{number}" x="{(number - 0.5) * step:.1f}" y="0" width="{step:.1f}" height="{HEIGHT:.0f}" '
        'fill="transparent" style="cursor:pointer"/>'
        for number in range(len(values))
    )
    middle, end, at = f"{HEIGHT / 2:.0f}", f"{WIDTH:.0f}", f"{now * step:.1f}"
    return (
        f'<svg viewBox="0 0 {end} {HEIGHT:.0f}" style="width:100%;height:auto" role="img" aria-label="values">'
        f'<polygon points="{area}" fill="var(--soft)"/>'
        f'<line x1="0" x2="{end}" y1="{middle}" y2="{middle}" stroke="var(--line)"/>'
        f'<polyline points="{points}" fill="none" stroke="var(--accent)" stroke-width="2.2" stroke-linejoin="round"/>'
        f'<line x1="{at}" x2="{at}" y1="0" y2="{HEIGHT:.0f}" stroke="var(--good)" stroke-width="2"/>'
        f"{scale}{bands}</svg>"
    )


async def replay_page(site: Site, query: dict[str, str]) -> None:
    """The page of one game."""
    source, number = query.get("source", STORE), query.get("id", "")
    try:
        if not number.isdecimal() or len(number) > LONGEST_NUMBER:
            raise ValueError("there is no such game")
        if source.startswith("selfplay:"):
            name, shard = source.partition(":")[2], query.get("shard", "")
            replay = await site.desk.read(lambda: site.library.recorded(name, shard, int(number)))
        else:
            replay = await site.desk.read(lambda: site.library.stored(source, int(number)))
    except PROBLEMS as error:
        return refused(str(error))
    page = ReplayPage(site, replay)
    page.build()
    ui.context.client.on_delete(page.close)
    return None
