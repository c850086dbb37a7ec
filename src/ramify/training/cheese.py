"""Targets of PyRat's heads: who collects each piece of cheese, and the final scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import State
from ramify.selfplay.records import GameRecord

VIEWER, OTHER, SHARED, UNCOLLECTED = range(4)  # classes of the cheese head
UNKNOWN = -1  # no cheese there, or the game was not played to its end

# Planes of an observation of player 0; see cpp/games/pyrat/pyrat.hpp.
CHEESE = 2
MUD = (11, 12)  # turns in mud of players 0 and 1, whose cells are planes 0 and 1


def collectors(states: Sequence[State], record: GameRecord) -> NDArray[np.int8]:
    """Who collected the cheese of each cell, with player 0 as the viewer; [cells].

    Cheese that is left in a game that was cut or resigned is UNKNOWN: the game might have gone on.
    """
    seen = [planes.reshape(len(planes), -1) for planes in (state.observation(0) for state in states)]
    left = UNKNOWN if record.cut or record.resigned else UNCOLLECTED
    found = np.where(seen[0][CHEESE] > 0, left, UNKNOWN).astype(np.int8)
    for before, after in pairwise(seen):
        for cell in np.flatnonzero(before[CHEESE] > after[CHEESE]):
            takers = [player for player in (0, 1) if after[player, cell] > 0 and after[MUD[player], 0] == 0]
            found[cell] = SHARED if len(takers) == 2 else takers[0]
    return found


def cheese_row(state: State, owners: NDArray[np.int8], viewer: int) -> NDArray[np.int8]:
    """The classes of the cells with cheese in this position, UNKNOWN elsewhere; [cells]."""
    there = state.observation(viewer)[CHEESE].ravel() > 0
    if viewer == 1:
        owners = np.where((owners == VIEWER) | (owners == OTHER), OTHER - owners, owners)
    return np.where(there, owners, UNKNOWN).astype(np.int8)


def final_scores(state: Any, record: GameRecord) -> NDArray[np.int16]:
    """The scores of players 0 and 1 at the end in half points; UNKNOWN if the game was cut or resigned."""
    if record.cut or record.resigned:
        return np.full(2, UNKNOWN, np.int16)
    return np.array([round(2 * state.fields[f"score{player}"]) for player in (1, 2)], np.int16)
