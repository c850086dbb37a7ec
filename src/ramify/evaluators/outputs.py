"""Conversion of network outputs to an Evaluation.

A network gets one observation, from the view of the acting player (player 0 where both act). Its outputs are for the
viewer alone, [B, num_actions] and [B], or for the viewer and the other player, [B, 2, num_actions] and [B, 2]. Values
with expected squared errors are [B, 1, 2] or [B, 2, 2]: each value is followed by its error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.engine.batch import Evaluation, exchanged

Outputs = tuple[NDArray[np.float32], NDArray[np.float32]]  # logits, values
LEAST_SHARE = 16  # rows: two calls with half of that each take a small network as long as one with all of them


def by_player(outputs: Outputs, acting: NDArray[np.bool_]) -> Evaluation:
    """Outputs reordered from (viewer, other player) to (player 0, player 1)."""
    logits, values = outputs
    seconds = acting[:, 1] & ~acting[:, 0]  # the viewer is player 1
    if seconds.any():
        logits = exchanged(logits, seconds, 3)
        values = exchanged(values, seconds, max(2, values.ndim))
    if values.ndim < 3:
        return Evaluation(logits, values)
    pairs = values if values.shape[1] == 2 else values[:, 0]
    return Evaluation(logits, pairs[..., 0], pairs[..., 1])


def check_shapes(logits: Sequence[int], values: Sequence[int], rows: int) -> None:
    """Raise an EvaluatorError unless these are valid shapes of outputs for that many rows."""
    good_logits = len(logits) in (2, 3) and logits[0] == rows and (len(logits) == 2 or logits[1] == 2)
    if not good_logits:
        raise EvaluatorError(
            f"the network's logits must have shape [{rows}, num_actions] or [{rows}, 2, num_actions], "
            f"not {list(logits)}"
        )
    if tuple(values) not in ((rows,), (rows, 2), (rows, 1, 2), (rows, 2, 2)):
        raise EvaluatorError(f"the network's values must have shape [{rows}] or [{rows}, 2], not {list(values)}")


def padded_size(rows: int, buckets: Sequence[int] | None) -> int:
    """The smallest bucket for that many rows; ``rows`` without buckets."""
    return rows if buckets is None else next(size for size in buckets if size >= rows)


def parts(rows: int, buckets: Sequence[int] | None) -> Iterator[slice]:
    """Slices of at most the largest bucket."""
    largest = rows if buckets is None else buckets[-1]
    for start in range(0, rows, max(1, largest)):
        yield slice(start, min(rows, start + largest))


def shares(rows: int, threads: int) -> Iterator[slice]:
    """Slices of nearly equal size: one per thread, unless they would be too small to be worthwhile."""
    count = max(1, min(threads, rows // LEAST_SHARE))
    for number in range(count):
        yield slice(rows * number // count, rows * (number + 1) // count)


def padded(observations: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """The observations padded with zeros."""
    if len(observations) == size:
        return observations
    filled = np.zeros((size, *observations.shape[1:]), np.float32)
    filled[: len(observations)] = observations
    return filled


def joined(pieces: list[Outputs]) -> Outputs:
    """Concatenate the outputs of several parts."""
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])


def checked_buckets(buckets: Any) -> tuple[int, ...] | None:
    """Batch sizes in ascending order, or None."""
    if buckets is None:
        return None
    sizes = tuple(sorted({int(size) for size in buckets}))
    if not sizes or sizes[0] < 1:
        raise ValueError(f"buckets must be batch sizes of at least 1, not {buckets!r}")
    return sizes
