"""Symmetries of games written in Python."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class PythonSymmetry:
    """A symmetry of a game: action a becomes actions[a]; new.ravel()[i] = old.ravel()[observation[i]].

    If the players are exchanged, the observation maps from player 0's view to that of player 1 of the image.
    """

    name: str
    actions: NDArray[np.int32] = field(repr=False)
    observation: NDArray[np.int32] = field(repr=False)
    swaps_players: bool = False

    def __post_init__(self) -> None:
        for name in ("actions", "observation"):
            array = np.array(getattr(self, name), dtype=np.int32)
            array.setflags(write=False)  # shared by every state of the game
            object.__setattr__(self, name, array)


def identity_symmetry(num_actions: int, observation_size: int) -> PythonSymmetry:
    """The identity."""
    return PythonSymmetry(
        "identity", np.arange(num_actions, dtype=np.int32), np.arange(observation_size, dtype=np.int32)
    )


def cell_symmetry(name: str, cells: ArrayLike, planes: int, others: int = 0) -> PythonSymmetry:
    """The symmetry that maps cell c to cells[c], for actions that are cells and observations of planes.

    ``others``: the number of actions after the cells, such as a pass, which stay what they are.
    """
    forward = np.asarray(cells, dtype=np.int32).ravel()
    actions = np.concatenate([forward, np.arange(forward.size, forward.size + others, dtype=np.int32)])
    back = np.argsort(forward).astype(np.int32)  # the cell that comes to lie here
    observation = np.concatenate([back + plane * forward.size for plane in range(planes)])
    return PythonSymmetry(name, actions, observation)


def square_symmetries(side: int, planes: int, others: int = 0) -> tuple[PythonSymmetry, ...]:
    """The eight symmetries of a square board whose actions are its cells, row by row; the identity first.

    ``others``: the number of actions after the cells, such as a pass, which stay what they are.
    """
    grid = np.arange(side * side, dtype=np.int32).reshape(side, side)
    # A turned grid tells for each place the cell that comes there; its inverse tells where each cell goes.
    images = {
        "identity": grid,
        "rotate 90": np.rot90(grid, -1),
        "rotate 180": np.rot90(grid, 2),
        "rotate 270": np.rot90(grid),
        "flip rows": np.flipud(grid),
        "flip columns": np.fliplr(grid),
        "transpose": grid.T,
        "antitranspose": np.rot90(grid, 2).T,
    }
    return tuple(cell_symmetry(name, np.argsort(image.ravel()), planes, others) for name, image in images.items())
