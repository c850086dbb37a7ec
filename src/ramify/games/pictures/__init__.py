"""Positions as SVG pictures. ``pictures/NAME.py`` with ``draw(state, analysis=None)`` draws the game NAME."""

from __future__ import annotations

import importlib
import importlib.util
import re
from dataclasses import replace
from types import ModuleType
from xml.etree import ElementTree

from ramify import _core
from ramify.games.pictures.analysis import LISTED, Analysis, Choice, add_list
from ramify.games.pictures.svg import Canvas, Point
from ramify.games.protocol import State

PAPER = "#fdfaf3"
UNSIZED = (300.0, 150.0)  # of a picture that does not say how large it is, as browsers have it

ElementTree.register_namespace("", "http://www.w3.org/2000/svg")  # written without a prefix

__all__ = [
    "LISTED",
    "Analysis",
    "Canvas",
    "Choice",
    "areas",
    "draw",
    "draw_analysis",
    "draw_seen",
    "draw_text",
    "places",
]


def draw(state: State) -> str:
    """The picture of a position: the game's own, or its text on paper where it has none."""
    module = _module(state)
    return draw_text(str(state)) if module is None else str(module.draw(state))


def draw_analysis(state: State, analysis: Analysis) -> str:
    """The picture of a position with what a search found: drawn on the board, or listed below any other picture."""
    module = _module(state) if isinstance(state, _core.State) else None
    if module is not None:
        return str(module.draw(state, analysis))
    picture = _parsed(state.svg())
    if picture is None:
        picture = ElementTree.fromstring(draw_text(str(state)))
    width, height = _size(picture)
    canvas = Canvas(width, height, background=PAPER)
    canvas.picture(ElementTree.tostring(picture, encoding="unicode"), width, height)
    add_list(canvas, analysis, ("player 0", "player 1"))
    return canvas.render()


def draw_seen(state: State, analysis: Analysis | None = None, viewer: int = 0) -> str:
    """The board alone, as this player sees it, without captions and lists; a board with an analysis is as large as one
    without. Where the game has no board, its own picture, or its text."""
    module = _module(state) if isinstance(state, _core.State) else None
    if module is None:
        return state.svg()
    bare = None if analysis is None else replace(analysis, captioned=False)
    flips = {"flipped": viewer == 1} if state.game.name == "chess" else {}
    return str(module.draw(state, bare, **flips))


def areas(state: State, viewer: int = 0) -> dict[str, list[Point]]:
    """The outlines of the places of a board, such as cells and squares, by name; {} where actions have no places."""
    find = getattr(_module(state), "areas", None) if isinstance(state, _core.State) else None
    if find is None:
        return {}
    found: dict[str, list[Point]] = find(state, viewer == 1) if state.game.name == "chess" else find(state)
    return found


def places(state: State, player: int, action: int) -> tuple[str, ...]:
    """The places of a board that an action names, in order: one cell, or the two squares of a chess move."""
    find = getattr(_module(state), "places", None)
    return (state.action_name(action, player),) if find is None else tuple(find(state, player, action))


def _module(state: State) -> ModuleType | None:
    """The module that draws this game, if there is one."""
    name = f"{__name__}.{state.game.name}"
    known = state.game.name.isidentifier() and importlib.util.find_spec(name)
    return importlib.import_module(name) if known else None


def _parsed(picture: str) -> ElementTree.Element | None:
    """A picture that a game's author drew; None where it is no sound XML, and so cannot be part of another."""
    try:
        return ElementTree.fromstring(picture)
    except ElementTree.ParseError:
        return None


def _size(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height of an SVG, from its attributes or its view box."""
    sides = [re.fullmatch(r"([\d.]+)(px)?", root.get(name, "")) for name in ("width", "height")]
    if sides[0] and sides[1]:
        return float(sides[0][1]), float(sides[1][1])
    box = root.get("viewBox", "").replace(",", " ").split()
    return (float(box[2]), float(box[3])) if len(box) == 4 else UNSIZED


def draw_text(text: str) -> str:
    """Any text as a picture, in a fixed-width font."""
    lines = text.splitlines() or [""]
    canvas = Canvas(20 + 9 * max(len(line) for line in lines), 20 + 18 * len(lines), background=PAPER)
    for row, line in enumerate(lines):
        canvas.text(10, 24 + 18 * row, line, size=15, anchor="start", family="monospace")
    return canvas.render()
