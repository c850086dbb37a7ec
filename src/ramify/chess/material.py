"""Chess positions valued by their pieces: an evaluator that needs no network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import Batch, Evaluation

PIECES = np.array([1.0, 3.0, 3.3, 5.0, 9.5, 0.0], np.float32)  # pawn, knight, bishop, rook, queen, king
CENTRE = np.array([0.02, 0.08, 0.05, 0.0, 0.02, -0.05], np.float32)  # more, per row or file nearer to the centre
FORWARD = np.array([0.03, 0.0, 0.0, 0.0, 0.0, -0.05], np.float32)  # more, per rank forward
HALF = 4.0  # pawns of lead that are worth half a win
CAPTURE = 0.35  # logit of a capture, per pawn of what is taken
RISK = 0.06  # taken off, per pawn of the piece that captures
QUEENING = 2.0  # logit of a pawn that becomes a queen

# How a kind of move changes file and rank, in the layout of the actions: queen-like moves by direction and distance,
# knight moves, underpromotions (three pieces, each to the left, straight, to the right).
_LINES = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
MOVES = (
    *((file * far, rank * far) for file, rank in _LINES for far in range(1, 8)),
    *_JUMPS,
    *((side, 1) for _ in range(3) for side in (-1, 0, 1)),
)


def _squares() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every action the square it leaves and the one it goes to (the former again where that is off the board)."""
    squares = np.arange(64)
    to = np.empty((64, len(MOVES)), np.int64)
    for number, (file, rank) in enumerate(MOVES):
        files, ranks = squares % 8 + file, squares // 8 + rank
        inside = (files >= 0) & (files < 8) & (ranks >= 0) & (ranks < 8)
        to[:, number] = np.where(inside, 8 * ranks + files, squares)
    return np.repeat(squares, len(MOVES)), to.ravel()


def _worth() -> NDArray[np.float32]:
    """What each kind of piece is worth on each square, for the player at the bottom: [6, 64]."""
    ranks, files = np.divmod(np.arange(64), 8)
    inward = np.minimum(ranks, 7 - ranks) + np.minimum(files, 7 - files)
    worth = PIECES[:, None] + CENTRE[:, None] * inward + FORWARD[:, None] * ranks
    return np.asarray(worth, np.float32)


FROM, TO = _squares()
WORTH = _worth()
MIRRORED = WORTH.reshape(6, 8, 8)[:, ::-1].reshape(6, 64)  # for the player at the top
PLAIN = np.tile(np.arange(len(MOVES)) < 64, 64)  # no underpromotion


class MaterialEvaluator:
    """Values positions by material and where the pieces stand, and prefers captures of much by little."""

    needs_legal = False
    c_puct = 1.5

    def evaluate(self, batch: Batch) -> Evaluation:
        """Values by material and squares, priors that prefer captures."""
        planes = batch.observations.reshape(len(batch), -1, 64)  # as the player to move sees the board
        mine = np.einsum("bps,p->bs", planes[:, :6], PIECES)
        theirs = np.einsum("bps,p->bs", planes[:, 6:12], PIECES)
        lead = np.einsum("bps,ps->b", planes[:, :6], WORTH) - np.einsum("bps,ps->b", planes[:, 6:12], MIRRORED)
        captures = CAPTURE * theirs[:, TO] - RISK * mine[:, FROM] * (theirs[:, TO] > 0)
        queening = planes[:, 0, FROM] * (FROM // 8 == 6) * (TO // 8 == 7) * PLAIN
        values = lead / (np.abs(lead) + HALF)
        return Evaluation((captures + QUEENING * queening).astype(np.float32), values.astype(np.float32))

    def __repr__(self) -> str:
        return "MaterialEvaluator()"
