"""Hex: a rhombus of hexagons between two red edges (player 0's) and two blue ones (player 1's)."""

from __future__ import annotations

from math import sqrt

from ramify._core import State
from ramify.games.pictures.analysis import INK, Analysis, add_caption, label, warm
from ramify.games.pictures.svg import Canvas, Point

RADIUS = 22.0  # of a hexagon, centre to corner
WIDTH = sqrt(3) * RADIUS
MARGIN = 3.2 * RADIUS
NAMES = ("red", "blue")
COLOURS = {"x": "#d0382f", "o": "#2a66b1"}
RIMS = {"x": "#8e1f19", "o": "#17427a"}

# Corners of a hexagon that stands on a corner, relative to its centre.
TOP, BOTTOM = (0.0, -RADIUS), (0.0, RADIUS)
UPPER_LEFT, UPPER_RIGHT = (-WIDTH / 2, -RADIUS / 2), (WIDTH / 2, -RADIUS / 2)
LOWER_LEFT, LOWER_RIGHT = (-WIDTH / 2, RADIUS / 2), (WIDTH / 2, RADIUS / 2)
HEXAGON = (TOP, UPPER_RIGHT, LOWER_RIGHT, BOTTOM, LOWER_LEFT, UPPER_LEFT)


def draw(state: State, analysis: Analysis | None = None) -> str:
    """The board with its edges, coordinates and stones; the last stone, where known, carries a white dot.

    ``analysis``: what a search found, written on the cells: colour and percentage for the share of visits, the value
    below. The best action has a dark rim.
    """
    board: list[str] = state.fields["board"]
    last: str | None = state.fields["last"]
    size = len(board)
    width = 2 * MARGIN + (1.5 * size - 1.5) * WIDTH
    canvas = Canvas(width, 2 * MARGIN + 1.5 * RADIUS * (size - 1), background="#fdfaf3")
    _edges(canvas, size)
    choices = analysis.alone() if analysis else {}
    for cell in range(size * size):
        share = choices[cell].share if cell in choices else 0.0
        canvas.polygon(_hexagon(*divmod(cell, size)), fill=warm(share), stroke="#8a7752", stroke_width=1.2)
    _coordinates(canvas, size)
    for row, line in enumerate(board):
        for column, symbol in enumerate(line):
            if symbol != ".":
                _stone(canvas, _centre(row, column), symbol, marked=last == f"{chr(97 + column)}{row + 1}")
    if analysis:
        _findings(canvas, size, analysis)
    return canvas.render()


def areas(state: State) -> dict[str, list[Point]]:
    """The cells of the picture, by name."""
    size = len(state.fields["board"])
    return {f"{chr(97 + c)}{r + 1}": _hexagon(r, c) for r in range(size) for c in range(size)}


def _findings(canvas: Canvas, size: int, analysis: Analysis) -> None:
    choices = analysis.alone()
    best = next(iter(choices))
    if best < size * size:
        canvas.polygon(_hexagon(*divmod(best, size)), fill="none", stroke=INK, stroke_width=3)
    for cell, choice in choices.items():
        if cell < size * size:
            label(canvas, _centre(*divmod(cell, size)), choice, size=13)
    swap = choices.get(size * size)
    add_caption(canvas, analysis, NAMES, [[str(swap)]] if swap else [])


def _hexagon(row: int, column: int) -> list[Point]:
    return [_shifted(_centre(row, column), corner) for corner in HEXAGON]


def _centre(row: int, column: int) -> Point:
    return MARGIN + (column + row / 2) * WIDTH, MARGIN + 1.5 * RADIUS * row


def _shifted(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]


def _edges(canvas: Canvas, size: int) -> None:
    """The four borders as broad lines; the cells drawn over them leave the outer half."""
    along = range(size)
    borders = [
        ("o", [(i, 0) for i in along], (UPPER_LEFT, LOWER_LEFT)),
        ("o", [(i, size - 1) for i in along], (UPPER_RIGHT, LOWER_RIGHT)),
        ("x", [(0, i) for i in along], (UPPER_LEFT, TOP, UPPER_RIGHT)),
        ("x", [(size - 1, i) for i in along], (LOWER_LEFT, BOTTOM, LOWER_RIGHT)),
    ]
    for symbol, cells, corners in borders:
        points = [_shifted(_centre(*cell), corner) for cell in cells for corner in corners]
        data = "M" + " L".join(f"{x:.2f} {y:.2f}" for x, y in points)
        style = {"fill": "none", "stroke": COLOURS[symbol], "stroke_linejoin": "round"}
        canvas.path(data, stroke_width=0.55 * RADIUS, **style)


def _coordinates(canvas: Canvas, size: int) -> None:
    for i in range(size):
        x, y = _shifted(_centre(0, i), (-0.25 * WIDTH, -1.65 * RADIUS))
        canvas.text(x, y + 5, chr(97 + i), size=15, fill="#4a4030")
        x, y = _shifted(_centre(i, 0), (-1.05 * WIDTH, 0))
        canvas.text(x, y + 5, str(i + 1), size=15, fill="#4a4030")


def _stone(canvas: Canvas, centre: Point, symbol: str, marked: bool) -> None:
    canvas.circle(*centre, 0.66 * RADIUS, fill=COLOURS[symbol], stroke=RIMS[symbol], stroke_width=1.5)
    if marked:
        canvas.circle(*centre, 0.2 * RADIUS, fill="#ffffff")
