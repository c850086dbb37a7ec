"""What the environments of Gymnasium and PettingZoo have in common."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import State

RENDER_MODES = ["ansi", "human"]


def checked_render_mode(mode: str | None) -> str | None:
    """A render mode that there is, or None."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be None, {' or '.join(map(repr, RENDER_MODES))}, not {mode!r}")
    return mode


def rendered(state: State | None, mode: str | None) -> str | None:
    """The text of a position in mode "ansi"; "human" prints it."""
    if state is None or mode is None:
        return None
    if mode == "human":
        print(state)
        return None
    return str(state)


def mask_of(state: State, player: int) -> NDArray[np.int8]:
    """1 for legal actions, in the type that the spaces of Gymnasium take."""
    return state.legal_mask(player).astype(np.int8)


def legal(state: State, player: int, action: Any) -> bool:
    """Whether a player may choose this action, which may be anything."""
    try:
        return operator.index(action) in state.legal_actions(player)
    except TypeError:
        return False


def refuse_action(state: State, player: int, action: Any) -> None:
    """Raise IllegalAction with the legal actions, by playing the action."""
    trial = state.copy()
    trial.apply(*(action if other == player else int(state.legal_actions(other)[0]) for other in state.acting))
