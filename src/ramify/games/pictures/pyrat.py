"""PyRat positions: the maze with its mud, cheese, the rat and the python, coordinates around it, the score below."""

from __future__ import annotations

from typing import Any

from ramify.games.pictures.analysis import LEAST, Analysis, add_list
from ramify.games.pictures.svg import Canvas, Point, rectangle
from ramify.games.protocol import State

CELL = 56.0  # figures reach 18 from its middle, so that mud on its edges hides none of them
MARGIN = 14.0
RULER = 20.0  # room for the coordinates, left of the maze and below it
FOOT = 46.0
NARROWEST = 300.0  # so that the scores have room below a small maze

FLOOR, FLOOR_DARK, WALL = "#f3ead7", "#ece0c8", "#4a3b32"
MUD, MUD_TEXT = "#8a5a2b", "#fff6e8"
CHEESE, CHEESE_TOP, RIND = "#f7c531", "#fde08a", "#d99a12"
RAT, RAT_DARK, PINK = "#8d949e", "#5d636c", "#f0a7ad"
PYTHON, PYTHON_DARK, SPOTS, TONGUE = "#3f9b4b", "#2a6e35", "#d9e36b", "#d03a3a"
INK = "#1d1f22"
CHOSEN = ("#a8460b", "#0b4f8a")  # where the rat and the python want to go
STEPS = {"UP": (0, -1), "RIGHT": (1, 0), "DOWN": (0, 1), "LEFT": (-1, 0)}


class Board:
    """Where things lie in the picture: cell (0, 0) is at the bottom left."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.columns: int = fields["width"]
        self.rows: int = fields["height"]
        self.width = self.columns * CELL
        self.height = self.rows * CELL
        whole = max(self.width + 2 * MARGIN + 2 * RULER, NARROWEST)
        self.left = (whole - self.width) / 2
        self.foot = self.height + 2 * MARGIN + RULER  # where the scores begin
        self.canvas = Canvas(whole, self.foot + FOOT, background="#fffdf8")

    def middle(self, cell: list[int]) -> tuple[float, float]:
        return self.left + (cell[0] + 0.5) * CELL, MARGIN + (self.rows - cell[1] - 0.5) * CELL

    def edge(self, a: list[int], b: list[int]) -> tuple[float, float, bool]:
        """The middle of the edge between two cells, and whether it is drawn upright."""
        (ax, ay), (bx, by) = self.middle(a), self.middle(b)
        return (ax + bx) / 2, (ay + by) / 2, a[1] == b[1]


def draw(state: State, analysis: Analysis | None = None) -> str:
    """The picture of a PyRat position; what a search found as wedges around the players, and as lists below."""
    fields = state.fields  # type: ignore[attr-defined]  # native states have it
    board = Board(fields)
    _floor(board)
    for a, b, turns in fields["mud"]:
        _mud(board, a, b, turns)
    for cell in fields["cheese"]:
        _cheese(board.canvas, _place(*board.middle(cell)))
    for a, b in fields["walls"]:
        _wall(board, a, b)
    frame = (board.left, MARGIN, board.width, board.height)
    board.canvas.rect(*frame, fill="none", stroke=WALL, stroke_width=5, rx=3)
    _coordinates(board)
    _players(board, fields)
    _score(board, fields, state.is_over)
    if analysis:
        _choices(board, fields, analysis)
        add_list(board.canvas, analysis, ("rat", "python"))
    return board.canvas.render()


def areas(state: State) -> dict[str, list[Point]]:
    """The cells of the picture, by their coordinates."""
    board = Board(state.fields)  # type: ignore[attr-defined]
    found = {}
    for x in range(board.columns):
        for y in range(board.rows):
            left, top = (at - CELL / 2 for at in board.middle([x, y]))
            found[f"{x},{y}"] = rectangle(left, top, CELL, CELL)
    return found


def places(state: State, player: int, action: int) -> tuple[str, ...]:
    """The cell that a player wants to reach by an action, also where a wall is in the way."""
    x, y = state.fields[f"p{player + 1}"]  # type: ignore[attr-defined]
    dx, dy = STEPS.get(state.action_name(action, player), (0, 0))
    return (f"{x + dx},{y - dy}",)


def _place(x: float, y: float, scale: float = 1.0) -> str:
    """Moves a figure that is drawn around (0, 0)."""
    return f"translate({x:g} {y:g}) scale({scale:g})"


def _floor(board: Board) -> None:
    board.canvas.rect(board.left, MARGIN, board.width, board.height, fill=FLOOR)
    for x in range(board.columns):
        for y in range(x % 2, board.rows, 2):
            left, top = board.left + x * CELL, MARGIN + (board.rows - 1 - y) * CELL
            board.canvas.rect(left, top, CELL, CELL, fill=FLOOR_DARK)


def _coordinates(board: Board) -> None:
    """Columns below the maze, rows at its left, as in the text of a position."""
    for x in range(board.columns):
        canvas_x, _ = board.middle([x, 0])
        board.canvas.text(canvas_x, MARGIN + board.height + 18, str(x), fill=WALL)
    for y in range(board.rows):
        _, canvas_y = board.middle([0, y])
        board.canvas.text(board.left - 8, canvas_y + 5, str(y), anchor="end", fill=WALL)


def _wall(board: Board, a: list[int], b: list[int]) -> None:
    x, y, upright = board.edge(a, b)
    dx, dy = (0.0, CELL / 2) if upright else (CELL / 2, 0.0)
    board.canvas.line((x - dx, y - dy), (x + dx, y + dy), stroke=WALL, stroke_width=5, stroke_linecap="round")


def _mud(board: Board, a: list[int], b: list[int], turns: int) -> None:
    """A puddle across the edge, with the turns it costs."""
    x, y, upright = board.edge(a, b)
    canvas, place = board.canvas, _place(x, y) + (" rotate(90)" if upright else "")
    canvas.rect(-13, -7.5, 26, 15, rx=6, fill=MUD, transform=place)
    for dx, dy, radius in ((-11, 6.5, 2.2), (10, -7, 2.4), (12, 5.5, 1.8), (-9, -6.5, 2)):
        canvas.circle(dx, dy, radius, fill=MUD, transform=place)
    canvas.text(x, y + 4.5, str(turns), size=13 if turns < 100 else 8, font_weight="bold", fill=MUD_TEXT)


def _cheese(canvas: Canvas, place: str) -> None:
    """A wedge with holes, its point to the left."""
    outline = {"stroke": RIND, "stroke_linejoin": "round", "transform": place}
    canvas.path("M-12,1 L5,-9 Q12,-6 12,1 Z", fill=CHEESE_TOP, **outline)
    canvas.path("M-12,1 H12 V10 H-12 Z", fill=CHEESE, **outline)
    for x, y, radius in ((-6.5, 5, 1.9), (1, 6.5, 2.3), (7.5, 4.3, 1.7), (4, -3.5, 1.6)):
        canvas.circle(x, y, radius, fill=RIND, transform=place)


def _rat(canvas: Canvas, place: str) -> None:
    """From the side, looking right."""
    tail = "M-9,7 C-22,12 -19,-6 -12,-6"
    canvas.path(tail, fill="none", stroke=PINK, stroke_width=2.4, stroke_linecap="round", transform=place)
    body = "M17,5 C12,-5 5,-8 -2,-8 C-12,-8 -14,10 -8,11 H8 Q15,10 17,5 Z"
    canvas.path(body, fill=RAT, stroke=RAT_DARK, stroke_width=1.2, transform=place)
    canvas.circle(2, -8, 5, fill=RAT, stroke=RAT_DARK, stroke_width=1.2, transform=place)  # ear
    canvas.circle(2, -8, 2.8, fill=PINK, transform=place)
    canvas.circle(9.5, -0.5, 1.7, fill=INK, transform=place)  # eye
    canvas.circle(16.6, 5, 1.9, fill=PINK, transform=place)  # nose
    for left in (-6, 4):
        canvas.rect(left, 10, 6, 2.6, rx=1.3, fill=PINK, transform=place)


def _python(canvas: Canvas, place: str) -> None:
    """Two coils and a raised head, looking left."""
    coil = "M15,3 C16,13 -13,14 -11,7 C-9,1 12,6 10,-2 C8,-8 -1,-3 -6,-9"
    round_ends = {"fill": "none", "stroke_linecap": "round", "transform": place}
    canvas.path(coil, stroke=PYTHON_DARK, stroke_width=8, **round_ends)
    canvas.path(coil, stroke=PYTHON, stroke_width=5.8, **round_ends)
    canvas.path(coil, stroke=SPOTS, stroke_width=2, stroke_dasharray="0.1 5", **round_ends)
    canvas.path("M-11,-8 l-5,1.5 l-2.5,-1.5 m2.5,1.5 l-2,2.4", stroke=TONGUE, stroke_width=1.3, **round_ends)
    head = "M-13,-8 C-13,-15 -2,-15 -1,-9 C-1,-4 -12,-3 -13,-8 Z"
    canvas.path(head, fill=PYTHON, stroke=PYTHON_DARK, stroke_width=1.1, transform=place)
    canvas.circle(-7.5, -10.5, 2, fill="#ffffff", transform=place)
    canvas.circle(-8, -10.5, 1.1, fill=INK, transform=place)


def _players(board: Board, fields: dict[str, Any]) -> None:
    """Side by side where they share a cell; a badge counts the turns that a player still has to wait."""
    together = fields["p1"] == fields["p2"]
    scale = 0.6 if together else 0.9
    for number, side, figure in ((2, 1, _python), (1, -1, _rat)):
        x, y = (at + side * 8 * together for at in board.middle(fields[f"p{number}"]))
        figure(board.canvas, _place(x, y, scale))
        if turns := fields[f"mud{number}"]:
            x, y = x + 19 * scale, y - 19 * scale
            board.canvas.circle(x, y, 7.5, fill=MUD, stroke=MUD_TEXT, stroke_width=1.2)
            board.canvas.text(x, y + 4, str(turns), size=11, font_weight="bold", fill=MUD_TEXT)


def _choices(board: Board, fields: dict[str, Any], analysis: Analysis) -> None:
    """A wedge towards every neighbour that a player's search considers, larger for more visits.

    The rat's lie on one side of the direction and the python's on the other, so that they never meet.
    """
    for player, side in ((0, -1), (1, 1)):
        for choice in analysis.top(player) if player in analysis.choices else ():
            if choice.share >= LEAST and choice.name in STEPS:
                dx, dy = STEPS[choice.name]
                x, y = board.middle(fields[f"p{player + 1}"])
                x, y = x + 22 * dx - side * 17 * dy, y + 22 * dy + side * 17 * dx
                _wedge(board.canvas, x, y, (dx, dy), 3 + 4 * choice.share**0.5, CHOSEN[player])


def _wedge(canvas: Canvas, x: float, y: float, step: tuple[int, int], size: float, colour: str) -> None:
    dx, dy = (size * part for part in step)
    points = [(x + dx, y + dy), (x - dx - dy, y - dy + dx), (x - dx + dy, y - dy - dx)]
    canvas.polygon(points, fill=colour, stroke="#ffffff", stroke_width=1)


def _score(board: Board, fields: dict[str, Any], over: bool) -> None:
    """Below the maze: the rat's score at the left, the python's at the right, the turn between."""
    canvas, y = board.canvas, board.foot + FOOT / 2 - 6
    middle, right = canvas.width / 2, canvas.width - MARGIN
    _rat(canvas, _place(MARGIN + 22, y, 0.9))
    _python(canvas, _place(right - 20, y, 0.9))
    for x, anchor, player, color in (
        (MARGIN + 46, "start", 1, RAT_DARK),
        (right - 46, "end", 2, PYTHON_DARK),
    ):
        points = f"{fields[f'score{player}']:g}"
        canvas.text(x, y + 8, points, size=21, anchor=anchor, font_weight="bold", fill=color)
    turn = f"turn {fields['turn']} of {fields['max_turns']}"
    canvas.text(middle, y + (1 if over else 6), turn, size=15, fill=WALL)
    if over:
        lead = fields["score1"] - fields["score2"]
        result = "rat wins" if lead > 0 else "python wins" if lead < 0 else "draw"
        canvas.text(middle, y + 18, result, size=13, font_weight="bold", fill=WALL)
