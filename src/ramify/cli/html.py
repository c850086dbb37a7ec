"""Parts of a self-contained HTML page: figures, tables, charts. Texts are escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ramify.games.pictures.svg import Canvas

STYLE = """
:root { color-scheme: light }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; color: #2b2620; background: #fdfaf3; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: anywhere }
h1 { margin-bottom: .2rem; line-height: 1.2 } h2 { margin-top: 2.5rem } h3 { margin: 1.6rem 0 .5rem; font-size: 1rem }
p { max-width: 44rem } .dim { color: #6b6252 } code { background: #f1e9d8; padding: .1em .3em; border-radius: .2em }
.scroll { overflow-x: auto; margin: 1rem 0 } table { border-collapse: collapse }
td, th { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #e5dcc8; white-space: nowrap }
td:first-child, th:first-child { text-align: left; padding-left: 0 }
table.facts td { text-align: left; white-space: normal; vertical-align: top }
.row { display: flex; flex-wrap: wrap; gap: 1.5rem } .row > figure { flex: 0 1 auto; max-width: 100% }
figure { margin: 0 } figcaption { font-size: .9rem; max-width: 26rem } figcaption b { display: block }
.strip figure { width: 9.5rem } .thoughts figure { width: 17rem } svg { max-width: 100%; height: auto; display: block }
.bars { font-size: .85rem; margin-top: .3rem } .bars td, .bars th { padding: .05rem .5rem .05rem 0; border: 0 }
.bars i { display: inline-block; height: .7em; background: #e0a458; min-width: 1px }
pre { overflow-x: auto; font-size: .85rem; background: #f6efe0; padding: .8rem } summary { cursor: pointer }
@media (max-width: 30rem) { body { margin: 1rem auto } .strip figure { width: 8.2rem }
  td, th { padding: .25rem .4rem } td:first-child { white-space: normal; min-width: 7.5rem }
  .thoughts figure { width: 100% } }
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 420.0, 220.0, 52.0, 28.0, 12.0
TALL = 300.0  # height of the rating chart
COLOUR, PALE, INK, PAPER = "#b3541e", "#e5dcc8", "#6b6252", "#fdfaf3"


def page(title: str, subtitle: str, sections: Sequence[tuple[str, str]]) -> str:
    """The whole page; the contents of sections are HTML."""
    body = "".join(f"<h2>{escape(head)}</h2>{content}" for head, content in sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f'<body><h1>{escape(title)}</h1><p class="dim">{escape(subtitle)}</p>{body}</body></html>\n'
    )


def paragraph(text: str, *, dim: bool = False) -> str:
    """A paragraph; text between backquotes is shown as code."""
    parts = [f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(text.split("`"))]
    start = '<p class="dim">' if dim else "<p>"
    return f"{start}{''.join(parts)}</p>"


def figure(picture: str, title: str, text: str = "", below: str = "") -> str:
    """A picture (SVG) with a title, an explanation, and further HTML below."""
    words = f"<b>{escape(title)}</b>{escape(text)}" if text else escape(title)
    return f"<figure>{picture}<figcaption>{words}</figcaption>{below}</figure>"


def heading(text: str) -> str:
    return f"<h3>{escape(text)}</h3>"


def row(figures: Sequence[str], kind: str = "") -> str:
    return f'<div class="row {kind}">{"".join(figures)}</div>'


def verbatim(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def folded(summary: str, content: str) -> str:
    """HTML that is collapsed until its summary is clicked."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(word)}</th>" for word in head)
    lines = ["<tr>" + "".join(f"<td>{escape(word)}</td>" for word in line) + "</tr>" for line in rows]
    return f'<div class="scroll"><table><tr>{cells}</tr>{"".join(lines)}</table></div>'


def facts(rows: Mapping[str, str]) -> str:
    """A table of names and values."""
    lines = [f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows.items()]
    return f'<table class="facts">{"".join(lines)}</table>'


def bars(head: str, rows: Sequence[tuple[str, int]]) -> str:
    """A table of names with percentages and bars."""
    most = max((percent for _, percent in rows), default=0) or 1
    lines = [
        f'<tr><td>{escape(name)}</td><td>{percent}%</td><td><i style="width:{5 * percent / most:.2f}rem"></i></td></tr>'
        for name, percent in rows
    ]
    return f'<table class="bars"><tr><th colspan="3">{escape(head)}</th></tr>{"".join(lines)}</table>'


def curve(
    values: Sequence[float],
    steps: Sequence[float],
    *,
    percent: bool = False,
    bounds: tuple[float, float] | None = None,
) -> str:
    """A line chart over training steps, labelled with the minimum, the middle and the maximum, or with ``bounds``."""
    canvas = Canvas(WIDTH, HEIGHT)
    low, high = bounds or (min(values), max(values))
    span = (high - low) or 1.0
    digits = 2 if span >= 0.1 else 3
    width, height = WIDTH - LEFT - 14, HEIGHT - BOTTOM - TOP
    last = max(steps) or 1.0
    for share in (0.0, 0.5, 1.0):
        y, value = TOP + height * (1 - share), low + share * span
        canvas.line((LEFT, y), (WIDTH - 14, y), stroke=PALE, stroke_width=1.0)
        canvas.text(
            LEFT - 6, y + 4, f"{value:.0%}" if percent else f"{value:.{digits}f}", size=13, anchor="end", fill=INK
        )
    x_axis(canvas, last, width, HEIGHT)
    points = [
        (LEFT + width * step / last, TOP + height * (1 - (value - low) / span))
        for step, value in zip(steps, values, strict=True)
    ]
    draw_line(canvas, points)
    canvas.circle(*points[-1], 3.5, fill=COLOUR)
    return canvas.render()


def x_axis(canvas: Canvas, last: float, width: float, bottom: float) -> None:
    """Label the x-axis with training steps, from 0 to the last."""
    for share, anchor in ((0.0, "middle"), (0.5, "middle"), (1.0, "end")):
        x = LEFT + width * share + (14 if share == 1 else 0)
        canvas.text(x, bottom - 8, f"{last * share:,.0f}", size=13, fill=INK, anchor=anchor)


def draw_line(canvas: Canvas, points: Sequence[tuple[float, float]]) -> None:
    data = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    canvas.path(data, fill="none", stroke=COLOUR, stroke_width=2.0, stroke_linejoin="round")


def elo_chart(players: Sequence[Mapping[str, Any]]) -> str:
    """Ratings of checkpoints over training steps, with their intervals; other players as dashed lines."""
    rated = sorted((one for one in players if one["step"] is not None), key=lambda one: int(one["step"]))
    others = [one for one in players if one["step"] is None]
    canvas = Canvas(WIDTH, TALL)
    low = min([one["low"] for one in rated] + [one["elo"] for one in others])
    high = max([one["high"] for one in rated] + [one["elo"] for one in others])
    unit = tick(high - low)
    low, high = unit * math.floor(low / unit), unit * math.ceil(high / unit)
    width, height, last = WIDTH - LEFT - 14, TALL - BOTTOM - TOP, max(one["step"] for one in rated) or 1

    def y_of(elo: float) -> float:
        return float(TOP + height * (1 - (elo - low) / ((high - low) or 1)))

    for number in range(round(low / unit), round(high / unit) + 1):
        canvas.line((LEFT, y_of(number * unit)), (WIDTH - 14, y_of(number * unit)), stroke=PALE, stroke_width=1.0)
        canvas.text(LEFT - 6, y_of(number * unit) + 4, f"{number * unit:,}", size=13, anchor="end", fill=INK)
    x_axis(canvas, last, width, TALL)
    dashed(canvas, others, y_of)
    points = [(LEFT + width * one["step"] / last, y_of(one["elo"])) for one in rated]
    for (x, _), one in zip(points, rated, strict=True):
        canvas.line((x, y_of(one["low"])), (x, y_of(one["high"])), stroke=COLOUR, stroke_width=5.0, opacity=0.3)
    draw_line(canvas, points)
    for x, y in points:
        canvas.circle(x, y, 3.5, fill=COLOUR)
    return canvas.render()


def dashed(canvas: Canvas, others: Sequence[Mapping[str, Any]], y_of: Any) -> None:
    """Dashed lines of reference players with their names, which do not overlap."""
    written: list[float] = []
    for one in others:
        y = y_of(one["elo"])
        canvas.line((LEFT, y), (WIDTH - 14, y), stroke="#4d7c8a", stroke_width=1.2, stroke_dasharray="5 4")
    for one in sorted(others, key=lambda one: float(one["elo"])):
        place = min([y_of(one["elo"]) - 4, *(before - 14 for before in written)])
        written.append(place)
        halo: dict[str, Any] = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 4.0}
        canvas.text(WIDTH - 16, place, str(one["name"]), size=12, anchor="end", fill="#386470", **halo)


def tick(span: float) -> int:
    """A round distance between grid lines that gives about four to eight of them."""
    return next((unit for unit in (10, 20, 50, 100, 200, 500, 1000) if span / unit <= 7), 2000)
