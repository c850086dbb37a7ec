"""A report of a training run as one self-contained HTML page: curves, ratings, positions with policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.games.pictures.svg import Canvas

if TYPE_CHECKING:
    from ramify.arena import Standings

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #2b2620; background: #fdfaf3; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem } .dim { color: #7a705f }
table { border-collapse: collapse }
td, th { padding: .25rem .9rem; text-align: right; border-bottom: 1px solid #e5dcc8 }
td:first-child, th:first-child { text-align: left }
.row { display: flex; flex-wrap: wrap; gap: 1.5rem } figure { margin: 0 } figcaption { font-size: .9rem }
svg { max-width: 100%; height: auto }
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 420.0, 220.0, 52.0, 28.0, 12.0
COLOUR = "#b3541e"


def curve(values: Sequence[float], steps: Sequence[float]) -> str:
    """A line plot of values over training steps."""
    canvas = Canvas(WIDTH, HEIGHT)
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    width, height = WIDTH - LEFT - 10, HEIGHT - BOTTOM - TOP
    last = max(steps) or 1.0

    def place(step: float, value: float) -> tuple[float, float]:
        return LEFT + width * step / last, TOP + height * (1 - (value - low) / span)

    for share in (0.0, 0.5, 1.0):
        y = TOP + height * (1 - share)
        canvas.line((LEFT, y), (WIDTH - 10, y), stroke="#e5dcc8", stroke_width=1.0)
        canvas.text(LEFT - 6, y + 4, f"{low + share * span:.2f}", size=12, anchor="end", fill="#7a705f")
    for share in (0.0, 0.5, 1.0):
        canvas.text(LEFT + width * share, HEIGHT - 8, f"{last * share:,.0f}", size=12, fill="#7a705f")
    points = [place(step, value) for step, value in zip(steps, values, strict=True)]
    data = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    canvas.path(data, fill="none", stroke=COLOUR, stroke_width=2.0, stroke_linejoin="round")
    canvas.circle(*points[-1], 3.5, fill=COLOUR)
    return canvas.render()


def figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def verbatim(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def curves(iterations: Sequence[Mapping[str, float]], names: Mapping[str, str]) -> str:
    """A plot for each metric that the iterations have."""
    parts = []
    for name, label in names.items():
        lines = [line for line in iterations if name in line]
        if len(lines) > 1:
            drawn = curve([line[name] for line in lines], [line["step"] for line in lines])
            parts.append(figure(drawn, f"{label}, by training step"))
    return f'<div class="row">{"".join(parts)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(word)}</th>" for word in head)
    lines = ["<tr>" + "".join(f"<td>{escape(word)}</td>" for word in row) + "</tr>" for row in rows]
    return f"<table><tr>{cells}</tr>{''.join(lines)}</table>"


def ratings_table(standings: Standings, names: Mapping[str, str], anchor: str) -> str:
    """Ratings with 95 % intervals, best first, and the score of each player against each other."""
    from ramify.arena.ratings import MEANING

    ratings = standings.ratings(anchor=anchor)
    lines = standings.crosstable()
    order = [str(rating.player) for rating in ratings.table]
    rows = []
    for player in order:
        rating = ratings[player]
        points = [
            f"{line.points / line.games:.0%}" if (line := lines.get((player, other))) and line.games else ""
            for other in order
        ]
        rows.append([names[player], f"{rating.elo:+.0f}", f"{rating.low:+.0f} to {rating.high:+.0f}", *points])
    listed = table(["player", "Elo", "95 %", *(f"vs {names[player]}" for player in order)], rows)
    return f'{listed}<p class="dim">{escape(MEANING)}.</p>'


def page(title: str, subtitle: str, sections: Sequence[tuple[str, str]]) -> str:
    """The page, from sections that are HTML already."""
    body = "".join(f"<h2>{escape(head)}</h2>{content}" for head, content in sections)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        f'<h1>{escape(title)}</h1><p class="dim">{escape(subtitle)}</p>{body}</html>\n'
    )


def pictures(results: Sequence[tuple[str, Any, Any]]) -> str:
    """Positions of Hex with the search's policy on them: (caption, state, result) each."""
    from ramify.games.pictures.hex import draw

    parts = []
    for caption, state, result in results:
        policy = result.policy()
        heat = {action: float(share) for action, share in enumerate(policy) if share > 0}
        parts.append(figure(draw(state, heat), caption))
    return f'<div class="row">{"".join(parts)}</div>'


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
