"""The pictures of the README: a Hex search as ``ramify analyze`` draws it, and the main parts of the demo's report.

python -m tools.readme_pictures RUN      # RUN: the folder of a finished `ramify demo`
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

import ramify as rf
from ramify.games.pictures import Canvas
from ramify.presentation.described import picture

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
ACTIONS = "a2"  # leads to the position of the heat map
SIMULATIONS = 2000
WIDTH, MARGIN, GAP = 1000.0, 24.0, 16.0
INK, DIM, RULE = "#2b2620", "#6b6151", "#e5dcc8"
FIGURES = 3  # shown of each section
FIGURE = r"<figure>(<svg.*?</svg>)<figcaption>(?:<b>)?(.*?)<"  # its picture and its title
COLUMNS = (0.0, 330.0, 500.0, 610.0, 720.0, 840.0, 950.0)  # of the table: where the first begins and the others end


def heat_map() -> str:
    """What a search with the network that comes along finds on a 7x7 board."""
    state = rf.make("hex", size=7).state(ACTIONS)
    return picture(state, rf.search(state, rf.pretrained("hex-7"), simulations=SIMULATIONS))


def report(page: str) -> str:
    """Title, ratings, curves and positions of a report, one below the other."""
    canvas = Canvas(WIDTH, 84, background="#fdfaf3")
    (title,) = re.findall(r"<h1>(.*?)</h1>", page)
    subtitle = re.findall(r'<p class="dim">(.*?)</p>', page)[0]
    canvas.text(MARGIN, 44, unescape(title), size=28, anchor="start", font_weight="bold", fill=INK)
    canvas.text(MARGIN, 70, unescape(subtitle), size=14, anchor="start", fill=DIM)
    for heading in ("How strong it is", "How it learned", "What it thinks"):
        section = page.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]
        add_heading(canvas, heading)
        if heading == "How strong it is":
            add_table(canvas, section.partition("</table>")[0])
        else:
            add_row(canvas, re.findall(FIGURE, section)[:FIGURES])
    canvas.height += MARGIN
    return canvas.render()


def add_heading(canvas: Canvas, text: str) -> None:
    canvas.height += 36
    canvas.text(MARGIN, canvas.height - 8, text, size=20, anchor="start", font_weight="bold", fill=INK)


def add_row(canvas: Canvas, figures: list[tuple[str, str]]) -> None:
    """Figures side by side, scaled to one width, with their titles."""
    width = (WIDTH - 2 * MARGIN - GAP * (len(figures) - 1)) / len(figures)
    bottom = canvas.height
    for number, (svg, caption) in enumerate(figures):
        x, size = MARGIN + number * (width + GAP), re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
        assert size is not None
        height = width * float(size[2]) / float(size[1])
        place = f'x="{x:.0f}" y="{canvas.height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        canvas.picture(svg.replace(size[0], place, 1), WIDTH, canvas.height + height)
        words = unescape(caption)
        canvas.text(x + width / 2, canvas.height + height + 16, words, size=13, fill=DIM)
        bottom = max(bottom, canvas.height + height + 24)
    canvas.height = bottom


def add_table(canvas: Canvas, table: str) -> None:
    for row in re.findall(r"<tr>(.*?)</tr>", table):
        head = "<th>" in row
        canvas.height += 26
        for number, cell in enumerate(re.findall(r"<t[hd]>(.*?)</t[hd]>", row)[: len(COLUMNS)]):
            weight = "bold" if head else "normal"
            anchor = "end" if number else "start"
            words = unescape(cell)
            canvas.text(MARGIN + COLUMNS[number], canvas.height - 8, words, anchor=anchor, font_weight=weight, fill=INK)
        canvas.line((MARGIN, canvas.height), (WIDTH - MARGIN, canvas.height), stroke=RULE, stroke_width=1)


def main(run: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    page = (Path(run) / "report.html").read_text(encoding="utf-8")
    for name, drawn in (("hex-heat-map", heat_map()), ("demo-report", report(page))):
        file = IMAGES / f"{name}.svg"
        file.write_text(drawn + "\n", encoding="utf-8")
        print(f"{file}: {len(drawn) / 1000:.0f} KB")


if __name__ == "__main__":
    main(*sys.argv[1:])
