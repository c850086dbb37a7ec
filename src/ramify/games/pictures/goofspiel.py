"""Goofspiel: player 1's hearts on top, the diamonds to be won in the middle, player 0's spades below."""

from __future__ import annotations

from ramify._core import State
from ramify.games.pictures.analysis import Analysis, add_list
from ramify.games.pictures.svg import Canvas

CARD_WIDTH, CARD_HEIGHT, GAP = 52.0, 74.0, 8.0
MARGIN = 18.0
LABEL = 112.0  # room for the players' names and points
INK = {"spade": "#1d1d1d", "heart": "#c3271f", "diamond": "#c3271f"}
SUITS = {  # outlines around (0, 0), ten units wide
    "heart": "M0 5 C-7 -1 -5 -6 -2.5 -6 C-1 -6 0 -5 0 -3.5 C0 -5 1 -6 2.5 -6 C5 -6 7 -1 0 5 Z",
    "diamond": "M0 -6.5 L4.6 0 L0 6.5 L-4.6 0 Z",
    "spade": "M0 -6 C7 0 5 4 2.5 4 C1.5 4 .8 3.5 .5 3 L1.5 6 L-1.5 6 L-.5 3 C-.8 3.5 -1.5 4 -2.5 4 C-5 4 -7 0 0 -6 Z",
}


def draw(state: State, analysis: Analysis | None = None) -> str:
    """Cards still held lie face up, played ones are gaps; the prize of the turn is framed in gold."""
    cards: int = state.game.params["cards"]
    hands: list[list[int]] = state.fields["hands"]
    points: list[int] = state.fields["points"]
    left = len(hands[0])
    rising = state.game.params["points"] == "ascending"
    prizes = list(range(cards - left + 1, cards + 1) if rising else range(1, left + 1))
    current = (prizes[0] if rising else prizes[-1]) if prizes else None
    step = CARD_HEIGHT + 2 * GAP
    width = 2 * MARGIN + LABEL + cards * (CARD_WIDTH + GAP)
    canvas = Canvas(width, 2 * MARGIN + 3 * step - 2 * GAP, background="#2f6b4a")
    rows = [
        ("heart", hands[1], "player 1", _points(points[1])),
        ("diamond", prizes, "prizes", ""),
        ("spade", hands[0], "player 0", _points(points[0])),
    ]
    for i, (suit, held, title, note) in enumerate(rows):
        top = MARGIN + i * step
        canvas.text(MARGIN, top + CARD_HEIGHT / 2, title, size=17, anchor="start", fill="#ffffff")
        canvas.text(MARGIN, top + CARD_HEIGHT / 2 + 22, note, size=15, anchor="start", fill="#e8dfa8")
        for card in range(1, cards + 1):
            x = MARGIN + LABEL + (card - 1) * (CARD_WIDTH + GAP)
            if card in held:
                _card(canvas, x, top, card, suit, framed=suit == "diamond" and card == current)
            else:
                canvas.rect(x, top, CARD_WIDTH, CARD_HEIGHT, rx=6, fill="none", stroke="#5b9676", stroke_width=1.5)
    if analysis:
        add_list(canvas, analysis, ("player 0", "player 1"), fill="#ffffff")
    return canvas.render()


def _points(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"


def _card(canvas: Canvas, x: float, y: float, card: int, suit: str, framed: bool) -> None:
    colour, width = ("#f5c518", 5) if framed else ("#8c8c8c", 1)
    canvas.rect(x, y, CARD_WIDTH, CARD_HEIGHT, rx=6, fill="#ffffff", stroke=colour, stroke_width=width)
    canvas.text(x + 7, y + 21, str(card), size=18, anchor="start", fill=INK[suit], font_weight="bold")
    place = f"translate({x + CARD_WIDTH / 2:.1f} {y + CARD_HEIGHT * 0.6:.1f}) scale(2.4)"
    canvas.path(SUITS[suit], fill=INK[suit], transform=place)
