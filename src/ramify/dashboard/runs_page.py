"""Runs: every training run, its curves while it goes on, settings, checkpoints and ratings; several side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from nicegui import ui

from ramify.arena.ratings import elo_text
from ramify.dashboard.charts import CURVES, Curve, colour_of, lines_chart, rating_chart
from ramify.dashboard.layout import PROBLEMS, card, facts, html, refused, table, tell
from ramify.dashboard.library import STORE
from ramify.dashboard.runs import RunSummary, differences, flattened
from ramify.dashboard.trainer import Meter, Usage
from ramify.presentation.names import duration

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

MOST_COMPARED = 8
REFRESH = 2.0  # seconds between two looks at a run
SAMPLES = 300  # of what its processes use
LISTED = 100  # runs of a page
CHECKED = "(e) => emit([...e.target.form.querySelectorAll('input:checked')].map(i => i.value))"


async def runs_page(site: Site, page: int) -> None:
    """All runs, the last changed first."""
    ui.html("<h1>Training runs</h1>", sanitize=False)
    shown = html()
    checked: set[str] = set()

    def check(event: Any) -> None:
        checked.clear()
        checked.update(str(name) for name in event.args)

    async def refresh() -> None:
        try:
            shown.content = await site.desk.read(lambda: runs_html(site, page, frozenset(checked)))
        except PROBLEMS as error:
            shown.content = f'<section class="card error">{escape(str(error))}</section>'

    shown.on("change", check, js_handler=CHECKED)

    await refresh()
    ui.timer(4 * REFRESH, refresh)
    with card("New run"):
        NewRun(site).build()


def runs_html(site: Site, page: int, checked: frozenset[str] = frozenset()) -> str:
    """The list of runs as a form whose checked runs are compared."""
    summaries = site.runs.summaries()
    part = summaries[page * LISTED : (page + 1) * LISTED]
    rows = []
    for run in part:
        state = '<span class="badge live">training</span>' if run.running else '<span class="badge">ended</span>'
        problem = site.trainer.problem(run.name)
        state += f' <span class="badge bad" title="{escape(problem)}">failed</span>' if problem else ""
        last = run.last
        rows.append(
            [
                f"<label>{check_box(run.name, run.name in checked)} "
                f'<a href="/run?name={quote(run.name)}">{escape(run.name)}</a></label>',
                escape(run.game),
                state,
                f"{run.iteration:,} of {run.iterations:,}",
                f"{run.step:,}",
                escape(duration(run.seconds)),
                number_text(last.get("new_policy")),
                number_text(last.get("new_value")),
                f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(run.changed))}",
            ]
        )
    rows += failed_rows(site, {run.name for run in summaries}) if page == 0 else []
    problem = ""
    try:
        rows += stored_rows(site, {str(run.folder.resolve()) for run in summaries}, checked) if page == 0 else []
    except PROBLEMS as error:
        problem = f'<p class="error">{escape(str(error))}</p>'
    if not rows and not problem:
        said = "There are no runs yet. Start one below, or with 'ramify train'."
        return f'<section class="card"><p class="dim">{said}</p></section>'
    head = ["run", "game", "", "iterations", "steps", "time", "policy loss", "value loss", "changed"]
    more = f'<a href="/runs?page={page + 1}">More runs</a>' if len(summaries) > (page + 1) * LISTED else ""
    return (
        f'<section class="card">{problem}<form action="/run" method="get">{table(head, rows, left=(1, 2))}'
        f'<p class="line"><button class="chip">Compare checked runs</button> {more}</p></form></section>'
    )


def failed_rows(site: Site, known: set[str]) -> list[list[str]]:
    """Runs started here that have failed before they had a folder."""
    return [
        [escape(name), "", f'<span class="badge bad">failed</span> {escape(site.trainer.problem(name))}', *[""] * 6]
        for name in site.trainer.failures()
        if name not in known
    ]


def stored_rows(site: Site, known: set[str], checked: frozenset[str]) -> list[list[str]]:
    """Runs that only the store knows."""
    rows = []
    for run in site.stored_runs():
        if run.name not in known:
            key = f"store:{run.id}"
            link = f'<a href="/run?name={quote(key)}">{escape(run.name.rpartition("/")[2])}</a>'
            named = f'{check_box(key, key in checked)} {link} <span class="dim">in the store</span>'
            state = f'<span class="badge">{escape(run.status)}</span>'
            rows.append([f"<label>{named}</label>", escape(str(run.config.get("game", ""))), state])
            rows[-1] += ["", "", "", "", "", f"{run.started:%Y-%m-%d %H:%M}"]
    return rows


def check_box(name: str, on: bool) -> str:
    return f'<input type="checkbox" name="name" value="{escape(name)}"{" checked" if on else ""}>'


def number_text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) and math.isfinite(value) else ""


class NewRun:
    """The form that starts a run."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def build(self) -> None:
        with ui.element("div").classes("line"):
            self.preset = (
                ui.select([], label="Preset", with_input=True)
                .props("dense outlined options-dense")
                .style("min-width:12rem")
            )
            self.name = ui.input("Name").props("dense outlined")
            self.settings = (
                ui.input("Settings, such as loop.iterations=5 network=2x16")
                .props("dense outlined")
                .classes("grow long")
            )
            ui.button("Start training", icon="model_training", on_click=self.start)
        ui.timer(0.1, self.offer, once=True)

    async def offer(self) -> None:
        try:
            self.preset.set_options(await self.site.desk.read(preset_names), value="hex-5")
        except ImportError as error:
            tell(error)

    async def start(self) -> None:
        preset, settings = str(self.preset.value), str(self.settings.value or "")
        name = str(self.name.value or "").strip() or f"{preset}-{time.strftime('%m%d-%H%M')}"
        try:
            await self.site.desk.read(lambda: self.site.trainer.start(preset, name, settings))
        except (ValueError, TypeError, ImportError, OSError) as error:
            return tell(error)
        ui.notify(f"{name} is starting", type="positive", position="top")
        return None


def preset_names() -> list[str]:
    from ramify.training import presets

    return presets()


# One run, or several.


class RunPage:
    """A tab that shows runs while they go on."""

    def __init__(self, site: Site, names: Sequence[str]) -> None:
        self.site, self.names = site, list(names)
        self.charts: dict[str, tuple[Curve, ui.echart, ui.element]] = {}
        self.meter, self.usage = Meter(), list[Usage]()
        self.seen: Any = None

    async def build(self) -> None:
        self.title = html()
        self.head = html().classes("card")
        if len(self.names) == 1 and not self.names[0].startswith("store:"):
            with ui.element("div").classes("line").style("margin:.8rem 0"):
                self.stop_button = ui.button("Stop", icon="stop", on_click=self.stop).props("outline")
                self.resume_button = ui.button("Resume", icon="play_arrow", on_click=self.resume).props("outline")
        else:
            self.stop_button = self.resume_button = None  # type: ignore[assignment]
        self.x_axis = ui.toggle({"step": "by step", "seconds": "by time"}, value="step", on_change=self.redraw).props(
            "dense"
        )
        with ui.element("div").classes("cards").style("margin-top:.8rem"):
            self._charts()
        with ui.element("div").classes("rows").style("margin-top:.9rem"):
            self.below = html().classes("stack")
        await self.refresh()
        ui.timer(REFRESH, self.refresh)

    def _charts(self) -> None:
        with card("Elo of the checkpoints") as self.elo_card:
            self.elo = ui.echart(rating_chart({}))
        for curve in CURVES:
            with card(curve.title) as box:
                chart = ui.echart(lines_chart({}, "training steps", curve.percent))
                if curve.help:
                    ui.label(curve.help).classes("dim")
            self.charts[curve.metric] = (curve, chart, box)
        with card("Processors and memory (GB) of its processes") as self.usage_card:
            self.usage_chart = ui.echart(lines_chart({}, "seconds"))
        self.usage_card.set_visibility(False)

    async def redraw(self) -> None:
        self.seen = None
        await self.refresh()

    async def refresh(self) -> None:
        """Read what is new, and draw it."""
        try:
            found = await self.site.desk.read(self.read)
        except PROBLEMS as error:  # of a folder that is gone, or a store that is locked; the next look may succeed
            self.head.content = f'<span class="error">{escape(str(error))}</span>'
            return
        summaries, curves, ratings, below, usage = found
        names = [run.name for run in summaries]
        self.title.content = f"<h1>{escape(names[0] if len(names) == 1 else 'Comparison')}</h1>"
        self.head.content = head_html(summaries)
        if usage is not None:
            self.usage = [*self.usage, usage][-SAMPLES:]
            self.draw_usage()
        if self.stop_button is not None:
            self.stop_button.set_enabled(summaries[0].running)
            self.resume_button.set_enabled(not summaries[0].running)
        facts_seen = [(run.iteration, run.step, run.changed) for run in summaries], ratings
        if facts_seen == self.seen:
            return
        self.seen = facts_seen
        by_time = self.x_axis.value == "seconds"
        for curve, chart, box in self.charts.values():
            series = {name: points(curves[name][curve.kind], curve, by_time) for name in names}
            box.set_visibility(any(series.values()))
            title = "minutes" if by_time else "training steps"
            _update(chart, lines_chart({name: line for name, line in series.items() if line}, title, curve.percent))
        self.elo_card.set_visibility(bool(ratings))
        if ratings:
            shown = {name: ratings.get(name) for name in names}
            if by_time:
                shown = {name: one and timed(one, curves[name]["iteration"]) for name, one in shown.items()}
            _update(self.elo, rating_chart(shown, "minutes" if by_time else "training steps"))
        self.below.content = below
        return

    def read(self) -> Any:
        """In a thread: everything that the page shows."""
        runs, summaries, curves, ratings = self.site.runs, list[RunSummary](), dict[str, Any](), dict[str, Any]()
        for name in self.names:
            if name.startswith("store:"):
                summary, lines = self.site.stored_run(name)
                summaries.append(summary)
                curves[summary.name] = {"iteration": lines, "step": []}
                continue
            summaries.append(runs.summary(name))
            curves[name] = {kind: runs.lines(name, kind) for kind in ("iteration", "step")}
            if (rating := runs.rating(name)) is not None:
                ratings[name] = rating
        number = runs.process(self.names[0]) if self.stop_button is not None else None
        usage = self.meter.read(number) if number is not None else None
        return summaries, curves, ratings, below_html(self.site, summaries, ratings), usage

    def draw_usage(self) -> None:
        self.usage_card.set_visibility(True)
        start = self.usage[0].at
        series = {
            "processors": [(one.at - start, round(one.cpu, 2)) for one in self.usage],
            "memory, GB": [(one.at - start, round(one.memory, 2)) for one in self.usage],
        }
        if self.usage[-1].gpu is not None:
            series["GPU busy"] = [(one.at - start, one.gpu or 0.0) for one in self.usage]
            series["GPU memory, GB"] = [(one.at - start, one.gpu_memory or 0.0) for one in self.usage]
        option = lines_chart(series, "seconds")
        _update(self.usage_chart, {**option, "legend": {"show": True, "bottom": 0, "textStyle": {"color": "#8d8475"}}})

    async def stop(self) -> None:
        await self._act(lambda: self.site.trainer.stop(self.names[0]), "is saving its state")

    async def resume(self) -> None:
        await self._act(lambda: self.site.trainer.resume(self.names[0]), "is starting")

    async def _act(self, work: Callable[[], None], said: str) -> None:
        try:
            await self.site.desk.read(work)
        except (ValueError, OSError) as error:
            return tell(error)
        return ui.notify(f"{self.names[0]} {said}", type="positive", position="top")


def _update(chart: ui.echart, option: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(option)
    chart.update()


def points(lines: Sequence[dict[str, Any]], curve: Curve, by_time: bool) -> list[tuple[float, float]]:
    """A metric over steps, or over minutes where the lines have the time."""
    found = []
    for line in lines:
        value, x = line.get(curve.metric), line.get("seconds" if by_time else "step")
        if isinstance(value, int | float) and math.isfinite(value) and isinstance(x, int | float):
            found.append((x / 60 if by_time else x, float(value)))
    return found


def timed(rating: dict[str, Any], lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A rating with minutes in place of training steps, by the times of the iterations; others are left out."""
    minutes = {0: 0.0} | {
        line.get("iteration"): round(line["seconds"] / 60, 2)
        for line in lines
        if isinstance(line.get("seconds"), int | float)
    }
    players = [
        one if one["step"] is None else {**one, "step": minutes[one["iteration"]]}
        for one in rating["players"]
        if one["step"] is None or one["iteration"] in minutes
    ]
    return {**rating, "players": players}


def head_html(summaries: Sequence[RunSummary]) -> str:
    """The runs of the page, with their colours and how far they are."""
    rows = []
    for number, run in enumerate(summaries):
        share = run.iteration / run.iterations if run.iterations else 0.0
        state = '<span class="badge live">training</span>' if run.running else '<span class="badge">ended</span>'
        rows.append(
            f'<div class="seat"><span class="line"><i class="dot" style="background:{colour_of(number)}"></i>'
            f"<b>{escape(run.name)}</b> {state}</span>"
            f'<span class="dim">{escape(run.game)}, iteration {run.iteration:,} of {run.iterations:,} ({share:.0%}), '
            f"{run.step:,} steps, {escape(duration(run.seconds))}</span></div>"
        )
    return "".join(rows)


def below_html(site: Site, summaries: Sequence[RunSummary], ratings: dict[str, Any]) -> str:
    """Settings or differences, and checkpoints."""
    parts = []
    if len(summaries) > 1:
        rows = [
            [escape(name), *(escape(value) for value in values)]
            for name, values in differences([run.config for run in summaries])
        ]
        same = '<p class="dim">The settings are the same.</p>'
        shown = table(["setting", *(run.name for run in summaries)], rows, left=range(9)) if rows else same
        parts.append(f'<section class="card"><h2>Settings that differ</h2>{shown}</section>')
    for run in summaries:
        found = stored_checkpoints_html(site, run) if run.stored else checkpoints_html(site, run, ratings.get(run.name))
        parts.append(found)
    if len(summaries) == 1:
        listed = facts(dict(flattened(summaries[0].config)))
        parts.append(f'<details class="card"><summary>All settings</summary>{listed}</details>')
    return "".join(parts)


def checkpoints_html(site: Site, run: RunSummary, rating: dict[str, Any] | None) -> str:
    """The checkpoints of a run with ratings, parents and downloads."""
    rated = {one["iteration"]: one for one in (rating or {}).get("players", ()) if one.get("iteration") is not None}
    numbers = site.runs.checkpoints(run.name)
    rows = []
    for before, number in zip([None, *numbers], numbers, strict=False):
        elo = rated.get(number)
        start = run.config.get("start")
        parent = (
            str(before) if before is not None else (f"network {str(start).rpartition('/')[2]}" if start else "none")
        )
        link = f"/download/network?{urlencode({'run': run.name, 'number': number})}"
        play = f"/play?{urlencode({'game': game_text(run), 'network': f'run:{run.name}/{number}'})}"
        rows.append(
            [
                str(number),
                escape(parent),
                "" if elo is None else elo_text(elo["elo"]),
                "" if elo is None else f"{elo_text(elo['low'])} to {elo_text(elo['high'])}",
                "" if elo is None else f"{elo['games']:,}",
                f'<a href="{escape(play)}">play</a> · <a href="{escape(link)}" download>download</a>',
            ]
        )
    said = "" if rating else "<p class=\"dim\">Not rated yet: 'ramify rate' does it.</p>"
    grid = table(["checkpoint", "parent", "Elo", "95 % interval", "games", ""], list(reversed(rows))[:60], left=(5,))
    games = f'<a href="/games?source={quote(f"selfplay:{run.name}")}">self-play games</a>'
    head = f"<h2>Checkpoints of {escape(run.name)}</h2>"
    return f'<section class="card">{head}{grid}{said}<p class="line">{games}</p></section>'


def stored_checkpoints_html(site: Site, run: RunSummary) -> str:
    """The checkpoints that the store knows of a run; their files may be on another machine."""
    known = site.library.store(STORE).checkpoints(run.stored or 0)
    numbers = [None, *(one.iteration for one in known)]
    rows = [
        [
            str(one.iteration),
            "none" if before is None else str(before),
            escape(one.network_id[:12]),
            f"{one.created:%Y-%m-%d %H:%M}",
        ]
        for before, one in zip(numbers, known, strict=False)
    ]
    grid = table(["checkpoint", "parent", "network", "written"], list(reversed(rows))[:60], left=(2,))
    return f'<section class="card"><h2>Checkpoints of {escape(run.name)}</h2>{grid}</section>'


def game_text(run: RunSummary) -> str:
    """The game of a run as the other pages take it."""
    params = run.config.get("params") or {}
    return " ".join([run.game, *(f"{key}={value}" for key, value in params.items())])


async def run_page(site: Site, names: Sequence[str]) -> None:
    """The page of one or several runs."""
    try:
        for name in names[:MOST_COMPARED]:
            if not name.startswith("store:"):
                site.runs.path(name)
    except ValueError as error:
        return refused(str(error))
    if not names:
        return refused("Check the runs to compare, in the list of runs.")
    return await RunPage(site, list(dict.fromkeys(names))[:MOST_COMPARED]).build()
