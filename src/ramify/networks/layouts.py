"""Action layouts: how a game's actions map to its board, which determines the policy head."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ramify.games import Game

LayoutKind = Literal["cells", "columns", "pooled", "dense"]


@dataclass(frozen=True)
class Layout:
    """Cells: action = cell * planes + plane, then ``extra`` actions that belong to no cell. Columns: one action each.

    Pooled: few actions that belong to no place. Dense: nothing is known; weights then fit one size of board.
    """

    kind: LayoutKind
    planes: int = 1
    extra: int | None = 0

    @property
    def any_size(self) -> bool:
        """Whether the same weights fit every board size."""
        return self.kind != "dense"


@dataclass(frozen=True)
class Spec:
    """The properties of a game that a network depends on."""

    game: str
    params: dict[str, Any] = field(hash=False)
    observation_shape: tuple[int, ...]
    num_actions: int
    players: int  # 1: outputs are the viewer's alone; 2: the viewer's and the other player's
    layout: Layout
    unit_returns: bool  # returns lie between -1 and 1


# Per game: where its actions lie. ``extra=None``: whatever is left behind the cells.
_LAYOUTS: dict[str, Layout] = {
    "tictactoe": Layout("cells"),
    "hex": Layout("cells", extra=None),  # swap, where it is allowed
    "goofspiel": Layout("cells"),  # a cell per card
    "chess": Layout("cells", planes=73),  # AlphaZero's: from-square * 73 + kind of move
    "connect_four": Layout("columns"),
    "pyrat": Layout("pooled"),
}
# Games whose returns lie between -1 and 1, with the parameters that make it so.
_UNIT: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "hex": {},
    "chess": {},
    "connect_four": {},
    "goofspiel": {"returns": "win"},
    "pig": {},
    "pyrat": {"reward": "win"},
}


def register_layout(game: str, layout: Layout, unit_returns: bool = False) -> None:
    """Register the action layout of a game, and whether its returns are between -1 and 1."""
    _LAYOUTS[game] = layout
    if unit_returns:
        _UNIT[game] = {}


def policy_layout(game: Game) -> Layout:
    """The action layout of a game; dense if none is registered."""
    layout, shape = _LAYOUTS.get(game.name, Layout("dense")), game.observation_shape
    if layout.kind in ("cells", "columns"):
        places = math.prod(shape[1:]) if layout.kind == "cells" else shape[-1]
        left = game.num_actions - places * layout.planes
        if len(shape) != 3 or left < 0 or layout.extra not in (None, left):
            raise ValueError(
                f"{game.name}: {layout} does not have {game.num_actions} actions on a board of {list(shape)}"
            )
        layout = replace(layout, extra=left)
    return layout


def unit_returns(game: Game) -> bool:
    """Whether returns are known to be between -1 and 1, by the table above or because the game says so."""
    needed = _UNIT.get(game.name)
    if needed is not None and all(game.params.get(name) == value for name, value in needed.items()):
        return True
    least, most = getattr(game, "returns_range", None) or (-math.inf, math.inf)
    return bool(least >= -1 and most <= 1)


def spec_of(game: Game) -> Spec:
    """The spec of a game."""
    return Spec(
        game.name,
        dict(game.params),
        tuple(game.observation_shape),
        game.num_actions,
        2 if game.simultaneous else 1,
        policy_layout(game),
        unit_returns(game),
    )
