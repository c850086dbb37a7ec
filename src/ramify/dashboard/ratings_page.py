"""Ratings: the players of a store with Elo and intervals, who played whom, and Elo over training steps."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from nicegui import ui

from ramify.arena import Standings
from ramify.arena.ratings import FEW_GAMES, MEANING, Rating, elo_text
from ramify.dashboard.charts import rating_chart
from ramify.dashboard.games_page import kind_title, link
from ramify.dashboard.layout import PROBLEMS, card, html, refused, table
from ramify.dashboard.library import Library

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

MOST_CROSSED = 30  # players of a crosstable
KEPT = 16  # rating lists in memory
PLOT = 220.0  # width of the intervals, in pixels
MOST_CURVES = 8  # runs of the chart


@dataclass(frozen=True)
class RatingList:
    """Ratings of one kind of games, as they are shown."""

    rows: tuple[Rating, ...]
    names: dict[str, str]
    lines: dict[tuple[str, str], Any]  # wins, draws and losses
    anchor: str
    games: int
    forfeits: int


class RatingLists:
    """Rating lists, computed again only when there are more games."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: OrderedDict[tuple[str, str, str, int], RatingList] = OrderedDict()

    def find(self, source: str, game: str, params: dict[str, Any], count: int) -> RatingList:
        key = (source, game, json.dumps(params, sort_keys=True), count)
        if key not in self._kept:
            self._kept[key] = self._rate(source, game, params)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _rate(self, source: str, game: str, params: dict[str, Any]) -> RatingList:
        games = self.library.store(source).results_only(game, params)
        standings = Standings((), tuple(games))
        known = {one for played in standings.counted for one in played.fixture.players}
        playing = [identity for identity in self.library.store(source).players() if identity in known]
        ratings = standings.ratings(anchor=playing[0] if playing else None)
        names = self.library.names(source, playing)
        counted, forfeits = len(standings.counted), len(standings.forfeits)
        return RatingList(ratings.table, names, standings.crosstable(), str(ratings.anchor), counted, forfeits)


async def ratings_page(site: Site, query: dict[str, str]) -> None:
    """The page: which games are rated is in the address."""
    ui.html("<h1>Ratings</h1>", sanitize=False)
    sources = {
        key: title
        for key, title in (await site.desk.read(site.library.sources)).items()
        if not key.startswith("selfplay:")
    }
    curves = await site.desk.read(lambda: run_ratings(site))
    if not sources and not curves:
        return refused(
            "There are no games to rate yet: 'ramify match', 'ramify tournament' and 'ramify rate' play some."
        )
    if sources:
        source = query.get("source", "")
        source = source if source in sources else next(iter(sources))
        await rated_store(site, source, sources, query)
    if curves:
        with card("Elo by training step of rated runs"):
            chart = ui.echart(rating_chart(dict(list(curves.items())[:MOST_CURVES])))
            chart.style("height:340px")
            ui.label(
                "Shaded: 95 % intervals. Dashed: players that need no training. Every run has its own zero."
            ).classes("dim")
    return None


async def rated_store(site: Site, source: str, sources: dict[str, str], query: dict[str, str]) -> None:
    """The rating list of a store."""
    try:
        kinds = await site.desk.read(lambda: site.library.store(source).kinds_of_games())
    except PROBLEMS as error:
        return refused(str(error))
    keys = {
        str(number): f"{kind_title(name, params)}: {count:,} games"
        for number, (name, params, count) in enumerate(kinds)
    }
    if not keys:
        return refused("This store has no finished games.")
    largest = max(range(len(kinds)), key=lambda number: kinds[number][2])
    kind = query.get("kind", "")
    kind = kind if kind in keys else str(largest)
    with card(), ui.element("div").classes("line"):
        for options, value, label, name in ((sources, source, "Where", "source"), (keys, kind, "Game", "kind")):
            ui.select(
                options,
                value=value,
                label=label,
                on_change=lambda event, name=name: ui.navigate.to(
                    link("/ratings", **{"source": source, name: event.value})
                ),
            ).props("dense outlined options-dense").classes("grow")
    game, params, count = kinds[int(kind)]
    try:
        found = await site.desk.read(lambda: site.ratings.find(source, game, params, count))
    except PROBLEMS as error:
        return refused(str(error))
    if not found.rows:
        return refused(f"None of the games of {kind_title(game, params)} counts: all of them were forfeited.")
    with card(f"{found.games:,} games of {kind_title(game, params)}"):
        html(list_html(found, source, game, params))
    with card("Crosstable"):
        html(cross_html(found, source, game, params))
    return None


def list_html(found: RatingList, source: str, game: str, params: dict[str, Any]) -> str:
    """Players, best first, with their intervals as numbers and as bars."""
    low, high = min(row.low for row in found.rows), max(row.high for row in found.rows)
    rows = []
    for place, row in enumerate(found.rows, 1):
        player = str(row.player)
        fixed = player == found.anchor
        interval = "anchor" if fixed else f"{elo_text(row.low)} to {elo_text(row.high)}"
        few = (
            ' <span class="badge" title="few games: the rating is little more than a guess">few</span>'
            if row.games < FEW_GAMES
            else ""
        )
        games = link(source=source, game=game, params=json.dumps(params, sort_keys=True), player=player)
        rows.append(
            [
                f"{place}. {escape(found.names.get(player, player))}{few}",
                f"<b>{elo_text(row.elo)}</b>",
                interval,
                interval_svg(row, low, high),
                f'<a href="{escape(games)}">{row.games:,.0f}</a>',
                f"{row.points:,.1f}",
                f"{row.points / max(row.games, 1):.0%}",
            ]
        )
    head = ["player", "Elo", "95 % interval", "", "games", "points", "score"]
    said = f"{MEANING}." + (f" {found.forfeits} forfeited games are not counted." if found.forfeits else "")
    return table(head, rows, left=(3,)) + f'<p class="dim">{escape(said)}</p>'


def interval_svg(row: Rating, low: float, high: float) -> str:
    """An interval with its middle, on the scale of the whole list."""
    span = (high - low) or 1.0
    left, middle, right = (4 + (PLOT - 8) * (value - low) / span for value in (row.low, row.elo, row.high))
    return (
        f'<svg class="hide-small" width="{PLOT:.0f}" height="14" role="img" '
        f'aria-label="{row.low:.0f} to {row.high:.0f}">'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="7" y2="7" stroke="var(--good)" stroke-width="5" opacity=".45"/>'
        f'<circle cx="{middle:.1f}" cy="7" r="4.5" fill="var(--accent)"/></svg>'
    )


def cross_html(found: RatingList, source: str, game: str, params: dict[str, Any]) -> str:
    """Points of each player against each other; every cell leads to its games."""
    players = [str(row.player) for row in found.rows[:MOST_CROSSED]]
    rows = []
    for place, player in enumerate(players, 1):
        cells = [cross_cell(found, source, game, params, (player, other)) for other in players]
        rows.append([f"{place}. {escape(found.names.get(player, player))}", *cells])
    return table(["", *(str(place) for place in range(1, len(players) + 1))], rows)


def cross_cell(found: RatingList, source: str, game: str, params: dict[str, Any], pair: Sequence[str]) -> str:
    line = found.lines.get((pair[0], pair[1]))
    if pair[0] == pair[1] or line is None:
        return '<span class="dim">–</span>'
    total = line.wins + line.draws + line.losses
    share = (line.wins + line.draws / 2) / total
    games = link(source=source, game=game, params=json.dumps(params, sort_keys=True), player=pair[0], other=pair[1])
    said = f"{line.wins} won, {line.draws} drawn, {line.losses} lost"
    return f'<a href="{escape(games)}" title="{said}">{share:.0%}</a>'


def run_ratings(site: Site) -> dict[str, Any]:
    """Ratings of runs that have some, the newest run first."""
    found = {}
    for name in site.runs.names():
        if (site.runs.path(name) / "ratings.json").is_file() and (rating := site.runs.rating(name)) is not None:
            found[name] = rating
        if len(found) == MOST_CURVES:
            break
    return found
