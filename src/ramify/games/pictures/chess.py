"""The picture of a chess position: white at the bottom, the last move and a king in check marked."""

from __future__ import annotations

from itertools import product
from math import dist
from typing import Any

from ramify.games.pictures.analysis import Analysis, add_list, arrow
from ramify.games.pictures.svg import Canvas, Point, rectangle
from ramify.games.protocol import State

SQUARE, MARGIN, FRAME = 60.0, 22.0, 6.0
LIGHT, DARK, BORDER, INK = "#efdfc1", "#b48a64", "#5b4331", "#f3e7d3"
ARROW, REPLY, ARROW_EDGE = "#0b4f8a", "#a13d1f", "#ffffff"
BADGE = 10.0  # radius of the numbers on arrows
MOVED, CHECK = "#e5c532", "#d8432b"
FILL = {True: "#fdfaf3", False: "#3a3634"}
EDGE = {True: "#2b2624", False: "#17120f"}
DETAIL = {True: "#2b2624", False: "#efe6da"}

# Outlines in a box of 100 by 100: the body, then lines drawn on it.
PIECES = {
    "p": (
        "M42 43A13.5 13.5 0 1 1 58 43C68 48 71 58 65 66C74 70 79 79 79 88L21 88C21 79 26 70 35 66C29 58 32 48 42 43Z",
        "",
    ),
    "n": (
        "M80 88L30 88C29 72 47 66 49 51C44 56 38 57 33 59C31 64 27 67 23 66C19 65 15 60 17 55"
        "C20 46 26 40 28 32C29 26 32 22 36 19L37 9L46 16C49 16 51 16 54 17C74 23 82 50 80 88Z",
        "M37 31L37.2 31.2M22.5 57.5L22.7 57.7M55 24C67 31 73 52 72 80",
    ),
    "b": (
        "M44 20A6.5 6.5 0 1 1 56 20C68 30 74 44 66 58L63 66L66 74C71 78 80 76 83 82L81 88L54 86L50 83"
        "L46 86L19 88L17 82C20 76 29 78 34 74L37 66L34 58C26 44 32 30 44 20Z",
        "M37 66L63 66M34 74L66 74M50 32L50 50M42 40L58 40",
    ),
    "r": (
        "M20 88L20 79L29 74L33 45L25 37L25 17L36 17L36 24L45 24L45 17L55 17L55 24L64 24L64 17L75 17L75 37"
        "L67 45L71 74L80 79L80 88Z",
        "M25 37L75 37M33 45L67 45M29 74L71 74",
    ),
    "q": (
        "M26 66L15 33A5.5 5.5 0 1 1 20 30L33 50L31 23A5.5 5.5 0 1 1 37.5 22L46 48L47 20A5.5 5.5 0 1 1 53 20"
        "L54 48L62.5 22A5.5 5.5 0 1 1 69 23L67 50L80 30A5.5 5.5 0 1 1 85 33L74 66"
        "L76 76L79 81L79 88L21 88L21 81L24 76Z",
        "M26 66C40 61 60 61 74 66M24 76C40 71 60 71 76 76",
    ),
    "k": (
        "M47 30L47 24L40 24L40 17L47 17L47 10L53 10L53 17L60 17L60 24L53 24L53 30C57 33 58 37 57 41"
        "C66 30 87 33 87 48C87 58 78 63 76 68L76 76L78 81L78 88L22 88L22 81L24 76L24 68C22 63 13 58 13 48"
        "C13 33 34 30 43 41C42 37 43 33 47 30Z",
        "M43 41C47 48 49 55 50 64C51 55 53 48 57 41M24 68C40 62 60 62 76 68M24 76C40 71 60 71 76 76",
    ),
}


def _corner(file: int, rank: int) -> tuple[float, float]:
    return MARGIN + SQUARE * file, FRAME + SQUARE * (7 - rank)


def _place(square: str) -> tuple[int, int]:
    return "abcdefgh".index(square[0]), int(square[1]) - 1


def _pieces(fen: str) -> list[tuple[str, int, int]]:
    found = []
    for row, line in enumerate(fen.split()[0].split("/")):
        file = 0
        for symbol in line:
            if symbol.isdigit():
                file += int(symbol)
            else:
                found.append((symbol, file, 7 - row))
                file += 1
    return found


def _turned(squares: str) -> str:
    """The squares of a move on the board turned by half: e2e4 becomes d7d5."""
    return "".join("hgfedcba"["abcdefgh".index(one)] if one.isalpha() else str(9 - int(one)) for one in squares[:4])


def _draw_board(canvas: Canvas, marked: list[tuple[int, int]], flipped: bool) -> None:
    for rank in range(8):
        for file in range(8):
            x, y = _corner(file, rank)
            canvas.rect(x, y, SQUARE, SQUARE, fill=DARK if (file + rank) % 2 == 0 else LIGHT)
            if (file, rank) in marked:
                canvas.rect(x, y, SQUARE, SQUARE, fill=MOVED, opacity=0.5)
        x, y = _corner(rank, 0)
        number = 7 - rank if flipped else rank
        canvas.text(x + SQUARE / 2, y + SQUARE + 16, "abcdefgh"[number], size=14, fill=INK)
        canvas.text(MARGIN / 2, _corner(0, rank)[1] + SQUARE / 2 + 5, str(number + 1), size=14, fill=INK)


def _draw_piece(canvas: Canvas, symbol: str, file: int, rank: int) -> None:
    white = symbol.isupper()
    body, lines = PIECES[symbol.lower()]
    x, y = _corner(file, rank)
    place = f"translate({x + 3:g} {y + 2:g}) scale({(SQUARE - 6) / 100:g})"
    canvas.path(body, transform=place, fill=FILL[white], stroke=EDGE[white], stroke_width=3.4, stroke_linejoin="round")
    if lines:
        canvas.path(
            lines,
            transform=place,
            fill="none",
            stroke=DETAIL[white],
            stroke_width=3.4,
            stroke_linecap="round",
        )


def _centre(square: str) -> Point:
    x, y = _corner(*_place(square))
    return x + SQUARE / 2, y + SQUARE / 2


def _draw_moves(canvas: Canvas, moves: list[tuple[str, float]]) -> None:
    """The best moves as arrows, broader for more visits, numbered as in the list below the board.

    Promotions on the same squares share an arrow.
    """
    lines: dict[str, tuple[str, float]] = {}
    for number, (name, share) in enumerate(moves, 1):
        before, most = lines.get(name[:4], ("", share))
        lines[name[:4]] = (f"{before},{number}" if before else str(number), most)
    ends = {squares: _arrow_ends(squares) for squares in lines}
    for squares, (_, share) in reversed(lines.items()):  # the best on top
        width = 3 + 11 * share**0.5
        arrow(canvas, *ends[squares], width, fill=ARROW, stroke=ARROW_EDGE, stroke_width=1.2, opacity=0.75)
    taken: list[Point] = []
    for squares, (numbers, _) in lines.items():
        at = _free_place(*ends[squares], taken)
        taken.append(at)
        canvas.circle(*at, BADGE, fill="#ffffff", stroke=ARROW, stroke_width=1.5)
        canvas.text(at[0], at[1] + 4.5, numbers, size=13 if len(numbers) == 1 else 8, font_weight="bold", fill=ARROW)


def _draw_replies(canvas: Canvas, moves: list[str]) -> None:
    """What is expected after the best moves: thin arrows below theirs."""
    for squares in dict.fromkeys(name[:4] for name in moves):
        arrow(canvas, *_arrow_ends(squares), 3.0, fill=REPLY, stroke=ARROW_EDGE, stroke_width=0.8, opacity=0.7)


def _arrow_ends(squares: str) -> tuple[Point, Point]:
    """From the edge of a piece to the middle of the square it moves to."""
    start, end = _centre(squares[:2]), _centre(squares[2:])
    part = 0.27 * SQUARE / dist(start, end)
    return (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])), end


def _free_place(start: Point, end: Point, taken: list[Point]) -> Point:
    """A place for a number behind the head of an arrow, or beside it, that covers no other number."""
    length = dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    for aside, back in product((0.0, 2.1 * BADGE, -2.1 * BADGE), range(24, int(length) - 5, 6)):
        at = (end[0] - back * along[0] - aside * along[1], end[1] - back * along[1] + aside * along[0])
        if all(dist(at, other) > 2.1 * BADGE for other in taken):
            return at
    return start


def areas(state: State, flipped: bool = False) -> dict[str, list[Point]]:  # noqa: ARG001 - the same in every position
    """The squares of the picture, by name."""
    names = [f"{file}{rank}" for file in "abcdefgh" for rank in range(1, 9)]
    corners = {name: _corner(*_place(_turned(name) if flipped else name)) for name in names}
    return {name: rectangle(*corner, SQUARE, SQUARE) for name, corner in corners.items()}


def places(state: State, player: int, action: int) -> tuple[str, ...]:
    """The squares from which and to which a piece moves."""
    name = state.action_name(action, player)
    return name[:2], name[2:4]


def draw(state: State, analysis: Analysis | None = None, flipped: bool = False) -> str:
    """The position as an SVG picture; the best moves of a search as arrows, with the expected replies.

    ``flipped``: as Black sees it.
    """
    fields: dict[str, Any] = state.fields  # type: ignore[attr-defined]  # native states have it
    side = 8 * SQUARE
    canvas = Canvas(MARGIN + side + FRAME, FRAME + side + MARGIN, background=BORDER)

    def seen(squares: str) -> str:
        return _turned(squares) if flipped else squares

    last = seen(fields["last_move"] or "")
    _draw_board(canvas, [_place(last[:2]), _place(last[2:4])] if last else [], flipped)
    king = "K" if fields["fen"].split()[1] == "w" else "k"
    for symbol, white_file, white_rank in _pieces(fields["fen"]):
        file, rank = (7 - white_file, 7 - white_rank) if flipped else (white_file, white_rank)
        if symbol == king and fields["check"]:
            x, y = _corner(file, rank)
            canvas.circle(x + SQUARE / 2, y + SQUARE / 2, SQUARE / 2 - 1, fill=CHECK, opacity=0.75)
        _draw_piece(canvas, symbol, file, rank)
    if analysis:
        ((player, _),) = analysis.choices.items()
        best = analysis.top(player)
        _draw_replies(canvas, [seen(choice.line[1]) for choice in best if len(choice.line) > 1])
        _draw_moves(canvas, [(seen(choice.name), choice.share) for choice in best])
        add_list(canvas, analysis, ("white", "black"), fill=INK, numbered=True)
    return canvas.render()
