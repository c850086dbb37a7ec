"""Tic-tac-toe: the pencil grid, crosses and noughts, and a line through a finished three."""

from __future__ import annotations

from ramify._core import State
from ramify.games.pictures.analysis import Analysis, add_caption, label, warm
from ramify.games.pictures.svg import Canvas, Point, rectangle

CELL = 80.0
MARGIN = 34.0
INK = {"x": "#c8372d", "o": "#2a66b1"}
LINES = [
    *([(i, j) for j in range(3)] for i in range(3)),
    *([(j, i) for j in range(3)] for i in range(3)),
    [(i, i) for i in range(3)],
    [(i, 2 - i) for i in range(3)],
]


def draw(state: State, analysis: Analysis | None = None) -> str:
    """The grid with coordinates: columns a to c, rows 1 to 3 from the top; what a search found, on the empty cells."""
    board: list[str] = state.fields["board"]
    side = 3 * CELL
    canvas = Canvas(side + 1.5 * MARGIN, side + 1.5 * MARGIN, background="#fdfaf3")
    if analysis:
        _findings(canvas, analysis)
    for i in (1, 2):
        at = MARGIN + i * CELL
        style = {"stroke": "#3a3a3a", "stroke_width": "4", "stroke_linecap": "round"}
        canvas.line((MARGIN, at), (MARGIN + side, at), **style)
        canvas.line((at, MARGIN), (at, MARGIN + side), **style)
    for i in range(3):
        canvas.text(MARGIN + (i + 0.5) * CELL, MARGIN - 12, "abc"[i], size=16, fill="#666666")
        canvas.text(MARGIN - 18, MARGIN + (i + 0.5) * CELL + 6, str(i + 1), size=16, fill="#666666")
    for row, line in enumerate(board):
        for column, symbol in enumerate(line):
            _mark(canvas, _centre(row, column), symbol)
    for cells in LINES:
        symbols = {board[row][column] for row, column in cells}
        if symbols in ({"x"}, {"o"}):
            start, end = _centre(*cells[0]), _centre(*cells[2])
            canvas.line(start, end, stroke="#2d2d2d", stroke_width=7, stroke_linecap="round")
    if analysis:
        add_caption(canvas, analysis, ("x", "o"))
    return canvas.render()


def areas(state: State) -> dict[str, list[Point]]:  # noqa: ARG001 - the same in every position
    """The cells of the picture, by name."""
    return {
        f"{'abc'[c]}{r + 1}": rectangle(MARGIN + c * CELL, MARGIN + r * CELL, CELL, CELL)
        for r in range(3)
        for c in range(3)
    }


def _findings(canvas: Canvas, analysis: Analysis) -> None:
    """Cells in the colour of their share of the visits, with the share and the value."""
    for action, choice in analysis.alone().items():
        x, y = _centre(*divmod(action, 3))
        canvas.rect(x - CELL / 2, y - CELL / 2, CELL, CELL, fill=warm(choice.share))
        label(canvas, (x, y), choice, size=19)


def _centre(row: int, column: int) -> Point:
    return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL


def _mark(canvas: Canvas, centre: Point, symbol: str) -> None:
    x, y = centre
    reach = 0.28 * CELL
    if symbol == "x":
        for slope in (1, -1):
            start, end = (x - reach, y - slope * reach), (x + reach, y + slope * reach)
            canvas.line(start, end, stroke=INK["x"], stroke_width=9, stroke_linecap="round")
    elif symbol == "o":
        canvas.circle(x, y, 0.3 * CELL, fill="none", stroke=INK["o"], stroke_width=9)
