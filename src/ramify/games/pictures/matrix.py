"""A matrix game as its table: player 0 chooses the row, player 1 the column; the pair played is shaded."""

from __future__ import annotations

from typing import Any

from ramify._core import State
from ramify.games.pictures.analysis import Analysis, add_list
from ramify.games.pictures.svg import Canvas

CELL_HEIGHT = 48.0
MARGIN = 16.0
HEAD = 62.0  # room for the players' names and the actions
SHOWN = 16  # rows and columns drawn at most
INK = ("#b3261e", "#1f56a3")


def draw(state: State, analysis: Analysis | None = None) -> str:
    """Player 0's payoff stands lower left in its cell, player 1's upper right, as in textbooks."""
    first, second = _tables(state.game.params["payoffs"])
    rows, columns = min(len(first), SHOWN), min(len(first[0]), SHOWN)
    texts = {(i, j): (f"{first[i][j]:g}", f"{second[i][j]:g}") for i in range(rows) for j in range(columns)}
    cell_width = 28 + 9.0 * max(len(a) + len(b) for a, b in texts.values())
    more = 24.0 if rows < len(first) or columns < len(first[0]) else 0.0
    size = (2 * MARGIN + HEAD + columns * cell_width, 2 * MARGIN + HEAD + rows * CELL_HEIGHT + more)
    canvas = Canvas(*size, background="#fdfaf3")
    left, top = MARGIN + HEAD, MARGIN + HEAD
    _heads(canvas, rows, columns, cell_width)
    for (i, j), (own, other) in texts.items():
        x, y = left + j * cell_width, top + i * CELL_HEIGHT
        fill = "#ffe9a8" if state.fields["played"] == [i, j] else "#ffffff"
        canvas.rect(x, y, cell_width, CELL_HEIGHT, fill=fill, stroke="#555555", stroke_width=1.2)
        canvas.line((x, y), (x + cell_width, y + CELL_HEIGHT), stroke="#dddddd", stroke_width=1)
        canvas.text(x + 7, y + CELL_HEIGHT - 9, own, size=16, anchor="start", fill=INK[0])
        canvas.text(x + cell_width - 7, y + 20, other, size=16, anchor="end", fill=INK[1])
    if more:
        note = f"the first {rows} × {columns} of {len(first)} × {len(first[0])}"
        canvas.text(left, size[1] - MARGIN, note, size=13, anchor="start", fill="#555555")
    if analysis:
        add_list(canvas, analysis, ("player 0", "player 1"))
    return canvas.render()


def _tables(payoffs: list[Any]) -> tuple[list[list[float]], list[list[float]]]:
    """One table per player, whichever way the game was given."""
    if isinstance(payoffs[0][0], list):
        return payoffs[0], payoffs[1]
    return payoffs, [[0 - number for number in row] for row in payoffs]


def _heads(canvas: Canvas, rows: int, columns: int, cell_width: float) -> None:
    left, top = MARGIN + HEAD, MARGIN + HEAD
    canvas.text(left, MARGIN + 14, "player 1", size=15, anchor="start", fill=INK[1])
    canvas.text(MARGIN, top - 12, "player 0", size=15, anchor="start", fill=INK[0])
    for j in range(columns):
        canvas.text(left + (j + 0.5) * cell_width, top - 12, str(j), size=16, fill=INK[1])
    for i in range(rows):
        canvas.text(left - 14, top + (i + 0.5) * CELL_HEIGHT + 6, str(i), size=16, anchor="end", fill=INK[0])
