"""What PyRat's observation says about a maze: where the players are, and where each action leads them.

Everything is read from the planes with tensor operations of fixed shape, so that networks built on it can be exported
and captured in CUDA graphs. The planes are those of ``PyRat::observe``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ramify.networks.layouts import Spec

PLANES = 24
OWN, OTHER, CHEESE = 0, 1, 2  # planes
BLOCKED, MUD = slice(3, 7), slice(7, 11)  # UP, RIGHT, DOWN, LEFT
NUMBERS = slice(11, 18)  # constant planes: mud, scores, cheese and turns left
NUM_NUMBERS = 7
PATHS = slice(18, 24)  # turns to the pieces of cheese, and how close cells are to them
NUM_PATHS = 6
CHEESE_UNIT = 64  # of the plane that tells how much cheese is left
# The other player's view of the same position.
EXCHANGED = (1, 0, *range(2, 11), 12, 11, 14, 13, *range(15, 18), 19, 18, 21, 20, 22, 23)
ACTIONS = 5  # UP, RIGHT, DOWN, LEFT, STAY
EDGE = 2  # numbers that describe the edge of an action: whether it is crossed, and its mud


def check_game(kind: str, spec: Spec) -> None:
    """Raise a ValueError for a game whose observations are not PyRat's."""
    if spec.game != "pyrat":
        raise ValueError(
            f"a network of kind {kind!r} reads the observations of pyrat, not of {spec.game}: use a resnet"
        )


def views(observations: Tensor, order: Tensor) -> Tensor:
    """[B, 24, H, W] -> [2 B, 24, H, W]: each observation, and then the same position as the other player sees it.

    ``order`` is ``EXCHANGED`` as a tensor on the device of the observations.
    """
    return torch.stack([observations, observations.index_select(1, order)], dim=1).flatten(0, 1)


def both(x: Tensor) -> Tensor:
    """[2 B, ...] of views -> [B, 2, ...]."""
    return x.reshape(-1, 2, *x.shape[1:])  # rather than unflatten, whose rank the quick exporter does not know


@dataclass(frozen=True)
class Mover:
    """One player of each view: where it is and where its actions lead."""

    cell: Tensor  # [R, 1]: index of its cell
    destinations: Tensor  # [R, 5]: index of the cell that each action leads to
    edges: Tensor  # [R, 5, 2]: whether the action leaves the cell, and the mud on the way, 0 for an action that stays
    log_count: Tensor  # [R, 5]: logarithm of the number of actions with the same outcome
    numbers: Tensor  # [R, 2]: its turns in mud and its score


def cell_numbers(planes: Tensor) -> Tensor:
    """The numbers of constant planes, [R, 7]."""
    return planes[:, NUMBERS, 0, 0]


def cheese_left(planes: Tensor) -> Tensor:
    """The number of pieces of cheese left, [R, 1]."""
    return planes[:, 15, 0, :1] * CHEESE_UNIT


def mover(planes: Tensor, plane: int) -> Mover:
    """The viewer (``plane=OWN``) or the other player (``plane=OTHER``) of each view.

    Who is blocked or in mud stays: all such actions have the same destination and the same edge, that of staying.
    """
    cells, width = planes.flatten(2), planes.shape[3]
    cell = cells[:, plane].argmax(dim=1, keepdim=True)
    here = cells[:, 3:11].gather(2, cell.unsqueeze(1).expand(-1, 8, -1)).squeeze(2)
    numbers = cell_numbers(planes)[:, plane : plane + 3 : 2]
    moves = (here[:, :4] < 0.5) & (numbers[:, :1] <= 0)
    ways = torch.cat([cell + width, cell + 1, cell - width, cell - 1], dim=1)
    ways = torch.where(moves, ways, cell).clamp(0, cells.shape[2] - 1)  # within bounds whatever the observation is
    moved = moves.to(planes.dtype)
    edges = torch.stack([moved, here[:, 4:] * moved], dim=2)
    staying = torch.log(ACTIONS - moved.sum(dim=1, keepdim=True))
    return Mover(
        cell,
        torch.cat([ways, cell], dim=1),
        torch.cat([edges, torch.zeros_like(edges[:, :1])], dim=1),
        torch.cat([staying * (1 - moved), staying], dim=1),
        numbers,
    )


def at_cells(encoded: Tensor, cells: Tensor) -> Tensor:
    """Encodings [R, C, H, W] at the cells [R, k] -> [R, k, C]."""
    flat = encoded.flatten(2)
    return flat.gather(2, cells.unsqueeze(1).expand(-1, flat.shape[1], -1)).transpose(1, 2)
