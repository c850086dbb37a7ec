"""What a search found, as it is written on a picture: shares of visits, values, and a caption."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ramify.games.pictures.svg import Canvas, Point

LEAST = 0.01  # smallest share of the visits that is written on a picture
LISTED = 5  # actions per player in a list below a picture
INK, DIM = "#2b2620", "#5c5344"
COLD, HOT = (0xF4, 0xE8, 0xCD), (0xE8, 0x82, 0x1E)  # no visits, all visits: also told apart by their lightness


@dataclass(frozen=True)
class Choice:
    """One action of one player, and what the search found for it."""

    action: int
    name: str
    share: float  # of the visits, between 0 and 1
    value: float | None  # for the player who acts; None: never visited
    label: str = ""  # how people write it, where that is not the name
    line: tuple[str, ...] = ()  # names of this action and of those that are expected after it

    def __str__(self) -> str:
        value = "" if self.value is None else f", {signed(self.value)}"
        return f"{self.label or self.name} ({percent(self.share)}{value})"


@dataclass(frozen=True)
class Analysis:
    """What a search found in one position."""

    simulations: int
    values: dict[int, float]  # of the acting players
    choices: dict[int, tuple[Choice, ...]]  # of the acting players, best first
    listed: int = LISTED  # actions per player that are listed
    captioned: bool = True  # whether captions and lists are written below the picture

    def alone(self) -> dict[int, Choice]:
        """The choices of the only player who acts, by action; the best comes first."""
        (choices,) = self.choices.values()
        return {choice.action: choice for choice in choices}

    def top(self, player: int) -> list[Choice]:
        """The best action of a player, and the next ones as long as they have visits worth showing."""
        first, *others = self.choices[player]
        return [first, *(choice for choice in others[: self.listed - 1] if choice.share >= LEAST)]


def percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def signed(value: float) -> str:
    return f"{value:+z.2f}"


def warm(share: float) -> str:
    """The colour of a cell with this share of the visits."""
    part = min(1.0, max(0.0, share)) ** 0.5
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(COLD, HOT, strict=True))


def label(canvas: Canvas, at: Point, choice: Choice, size: float) -> None:
    """Share and value, one below the other, around a point; nothing for an action that was hardly visited."""
    if choice.share < LEAST:
        return
    x, y = at
    canvas.text(x, y + 0.05 * size, percent(choice.share), size=size, font_weight="bold", fill=INK)
    if choice.value is not None:
        canvas.text(x, y + 0.9 * size, signed(choice.value), size=0.72 * size, fill=INK)


def add_caption(
    canvas: Canvas, analysis: Analysis, names: tuple[str, str], more: Iterable[list[str]] = (), fill: str = DIM
) -> None:
    """Below the picture: how much was searched, and what every acting player can expect."""
    if not analysis.captioned:
        return
    found = ", ".join(f"{names[player]} {signed(value)}" for player, value in analysis.values.items())
    canvas.caption([[f"{analysis.simulations:,} simulations", f"value for {found}"], *more], fill=fill)


def add_list(
    canvas: Canvas, analysis: Analysis, names: tuple[str, str], *, numbered: bool = False, fill: str = DIM
) -> None:
    """The caption, and below it the best actions of every acting player with their shares and values."""
    groups: list[list[str]] = []
    for player in analysis.choices:
        best = [f"{number}. {text}" if numbered else str(text) for number, text in enumerate(analysis.top(player), 1)]
        groups.append([f"{names[player]}: {best[0]}", *best[1:]])
    add_caption(canvas, analysis, names, groups, fill)


def arrow(canvas: Canvas, start: Point, end: Point, width: float, **style: str | float | None) -> None:
    """An arrow as one outline: a shaft of this width and a head that ends in the second point."""
    length = math.dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    head = min(2.2 * width + 4, 0.7 * length)
    half, wing = width / 2, width + 2
    outline = [
        (0.0, half),
        (length - head, half),
        (length - head, wing),
        (length, 0.0),
        (length - head, -wing),
        (length - head, -half),
        (0.0, -half),
    ]
    points = [(start[0] + a * along[0] - b * along[1], start[1] + a * along[1] + b * along[0]) for a, b in outline]
    canvas.polygon(points, stroke_linejoin="round", **style)
