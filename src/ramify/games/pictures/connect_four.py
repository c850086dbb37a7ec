"""Connect Four: the blue rack with red (x) and yellow (o) discs; a finished four is ringed."""

from __future__ import annotations

from ramify._core import State
from ramify.games.pictures.analysis import Analysis, add_caption, label, warm
from ramify.games.pictures.svg import Canvas, Point, rectangle

CELL = 56.0
MARGIN = 14.0
FILLS = {"x": "#d9362b", "o": "#f5c518", ".": "#fdfaf3"}
RIMS = {"x": "#9c1e16", "o": "#c1950a", ".": "#123f86"}


def draw(state: State, analysis: Analysis | None = None) -> str:
    """The rack as the players see it, with the columns' letters under it.

    ``analysis``: what a search found for a column stands in the hole that its next disc would fill.
    """
    board: list[str] = state.fields["board"]
    rows, columns = len(board), len(board[0])
    width, height = columns * CELL, rows * CELL
    canvas = Canvas(width + 2 * MARGIN, height + 2 * MARGIN + 34, background="#fdfaf3")
    for x in (MARGIN - 6, MARGIN + width - 6):  # the feet
        canvas.rect(x, MARGIN + height - 10, 12, 24, fill="#123f86", rx=4)
    rack = {"fill": "#1f5fc0", "stroke": "#123f86", "stroke_width": "2", "rx": "14"}
    canvas.rect(MARGIN - 6, MARGIN - 6, width + 12, height + 12, **rack)
    winners = _fours(board)
    for row, line in enumerate(board):
        for column, symbol in enumerate(line):
            x, y = MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
            canvas.circle(x, y, 0.4 * CELL, fill=FILLS[symbol], stroke=RIMS[symbol], stroke_width=2.5)
            if symbol != ".":
                canvas.circle(x, y, 0.27 * CELL, fill="none", stroke=RIMS[symbol], stroke_width=1.5)
            if (row, column) in winners:
                canvas.circle(x, y, 0.4 * CELL, fill="none", stroke="#ffffff", stroke_width=4)
    for column in range(columns):
        x = MARGIN + (column + 0.5) * CELL
        canvas.text(x, MARGIN + height + 30, chr(97 + column), size=18, fill="#333333")
    if analysis:
        _findings(canvas, board, analysis)
    return canvas.render()


def areas(state: State) -> dict[str, list[Point]]:
    """The columns of the picture, by name."""
    rows, columns = len(state.fields["board"]), len(state.fields["board"][0])
    return {chr(97 + c): rectangle(MARGIN + c * CELL, MARGIN, CELL, rows * CELL + 40) for c in range(columns)}


def _findings(canvas: Canvas, board: list[str], analysis: Analysis) -> None:
    for column, choice in analysis.alone().items():
        row = max(row for row, line in enumerate(board) if line[column] == ".")
        at = (MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL)
        canvas.circle(*at, 0.4 * CELL, fill=warm(choice.share), stroke=RIMS["."], stroke_width=2.5)
        label(canvas, at, choice, size=14)
    add_caption(canvas, analysis, ("red", "yellow"))


def _fours(board: list[str]) -> set[tuple[int, int]]:
    """Cells of every line of four."""
    cells = {(r, c): symbol for r, line in enumerate(board) for c, symbol in enumerate(line) if symbol != "."}
    found: set[tuple[int, int]] = set()
    for (row, column), symbol in cells.items():
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            line = [(row + i * down, column + i * right) for i in range(4)]
            if all(cells.get(cell) == symbol for cell in line):
                found.update(line)
    return found
