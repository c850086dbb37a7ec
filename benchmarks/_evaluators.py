"""Hand-written evaluators: quick, deterministic, symmetric, and their values say something about the game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine import Batch

FAR = 1e6  # a distance nobody has


def windows() -> NDArray[np.float32]:
    """[69, 42]: the lines of four cells on a connect-four board."""
    lines = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for r in range(6):
            for c in range(7):
                cells = [(r + k * down, c + k * right) for k in range(4)]
                if all(0 <= y < 6 and 0 <= x < 7 for y, x in cells):
                    line = np.zeros((6, 7), np.float32)
                    for cell in cells:
                        line[cell] = 1
                    lines.append(line.ravel())
    return np.array(lines)


WINDOWS = windows()


def judge_lines(batch: Batch) -> tuple[Any, Any]:
    """Connect four: lines of four that only one player can still fill, the fuller the better."""
    stones = batch.observations.reshape(len(batch), 2, 42)
    own, other = stones[:, 0] @ WINDOWS.T, stones[:, 1] @ WINDOWS.T
    worth = ((own**2) * (other == 0) - (other**2) * (own == 0)).sum(axis=1)
    return np.zeros((len(batch), 7), np.float32), np.tanh(worth / 16)


def distances(stones: NDArray[np.float32], blocked: NDArray[np.float32]) -> NDArray[np.float32]:
    """[B]: stones that are missing for a chain from the first row to the last."""
    rows, size = len(stones), stones.shape[1]
    cost = np.where(blocked > 0, FAR, 1 - stones)
    far = np.full((rows, size + 2, size + 2), FAR)
    inner = far[:, 1:-1, 1:-1]
    inner[:, 0] = cost[:, 0]
    for _ in range(size * size):
        before = inner.copy()
        near = [
            far[:, 1 + y : 1 + y + size, 1 + x : 1 + x + size]
            for y, x in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
        ]
        np.minimum(inner, cost + np.minimum.reduce(near), out=inner)
        if np.array_equal(inner, before):
            break
    return inner[:, -1].min(axis=1).astype(np.float32)


def judge_distances(batch: Batch) -> tuple[Any, Any]:
    """Hex: how many more stones the other player needs than the viewer."""
    own, other, first = (batch.observations[:, plane] for plane in range(3))
    down, across = np.where(first > 0, own, other), np.where(first > 0, other, own).swapaxes(1, 2)
    missing = distances(
        np.concatenate([down, across]), np.concatenate([across.swapaxes(1, 2), down.swapaxes(1, 2)])
    ).reshape(2, -1)
    lead = np.where(first[:, 0, 0] > 0, missing[1] - missing[0], missing[0] - missing[1])
    return np.zeros((len(batch), batch.legal.shape[2]), np.float32), np.tanh(lead / 2)
