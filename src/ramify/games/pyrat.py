"""PyRat: presets, and attributes of its states."""

from __future__ import annotations

from ramify import _core
from ramify.games.native import state_attribute
from ramify.games.registry import register_presets

register_presets(
    "pyrat",
    {
        "tiny": {"width": 11, "height": 9, "cheese": 13, "max_turns": 150},
        "small": {"width": 15, "height": 13, "cheese": 21, "max_turns": 200},
        "medium": {"width": 21, "height": 15, "cheese": 41, "max_turns": 300},
        "large": {"width": 31, "height": 21, "cheese": 85, "max_turns": 400},
        "huge": {"width": 41, "height": 31, "cheese": 165, "max_turns": 500},
        "open": {
            "width": 21,
            "height": 15,
            "cheese": 41,
            "max_turns": 300,
            "wall_density": 0.0,
            "mud_density": 0.0,
        },
        "asymmetric": {"width": 21, "height": 15, "cheese": 41, "max_turns": 300, "symmetric": False},
    },
)

STAY = 4
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # UP, RIGHT, DOWN, LEFT; y grows upward


def effective(state: _core.State, player: int) -> list[int]:
    """The effective action of every action: itself, or STAY (in mud, at a wall, at the border).

    Unlike ``state.outcomes``, this is also available for a finished game.
    """
    fields = state.fields
    x, y = fields[f"p{player + 1}"]
    if fields[f"mud{player + 1}"]:
        return [STAY] * 5
    walls = {frozenset(map(tuple, wall)) for wall in fields["walls"]}
    actions = [STAY] * 5
    for action, (dx, dy) in enumerate(OFFSETS):
        cell = (x + dx, y + dy)
        inside = 0 <= cell[0] < fields["width"] and 0 <= cell[1] < fields["height"]
        if inside and frozenset([(x, y), cell]) not in walls:
            actions[action] = action
    return actions


def end(state: _core.State) -> str | None:
    """Why the game is over: ``"majority"``, ``"no_cheese"`` or ``"max_turns"``; ``None`` while it is not."""
    if not state.is_over:
        return None
    fields = state.fields
    if 2 * max(fields["score1"], fields["score2"]) > fields["total"]:
        return "majority"
    return "no_cheese" if fields["total"] and not fields["cheese"] else "max_turns"


state_attribute("pyrat", "eff1")(lambda state: effective(state, 0))
state_attribute("pyrat", "eff2")(lambda state: effective(state, 1))
state_attribute("pyrat", "end")(end)
