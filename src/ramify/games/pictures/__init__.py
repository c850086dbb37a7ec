"""Positions as SVG pictures. ``pictures/NAME.py`` with a function ``draw(state)`` draws the game NAME."""

from __future__ import annotations

import importlib
import importlib.util

from ramify.games.pictures.svg import Canvas
from ramify.games.protocol import State


def draw(state: State) -> str:
    """The picture of a position: the game's own, or its text on paper where it has none."""
    module = f"{__name__}.{state.game.name}"
    if state.game.name.isidentifier() and importlib.util.find_spec(module):
        return str(importlib.import_module(module).draw(state))
    return draw_text(str(state))


def draw_text(text: str) -> str:
    """Any text as a picture, in a fixed-width font."""
    lines = text.splitlines() or [""]
    canvas = Canvas(20 + 9 * max(len(line) for line in lines), 20 + 18 * len(lines), background="#fbf7ec")
    for row, line in enumerate(lines):
        canvas.text(10, 24 + 18 * row, line, size=15, anchor="start", family="monospace")
    return canvas.render()
