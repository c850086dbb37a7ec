"""Values of searches in the terms of chess: centipawns, chances to win, draw and lose, moves to mate."""

from __future__ import annotations

import math

from ramify.engine.result import SearchResult

PAWN, STEEPNESS = 90.0, 1.5637541897  # centipawns = PAWN * tan(STEEPNESS * value), as lc0 converts its values
DRAWISH = 1.0  # how far apart, in units of the logistic curves, winning and losing begin: 46 % draws at value 0


def centipawns(value: float) -> int:
    """The value of a position, from -1 to 1, in hundredths of a pawn."""
    return round(PAWN * math.tan(STEEPNESS * max(-1.0, min(1.0, value))))


def win_draw_loss(value: float) -> tuple[float, float, float]:
    """The chances to win, draw and lose that make up an expected result, from -1 to 1.

    A search keeps only their difference. The share of draws is that of a model in which winning and losing are logistic
    curves over the same advantage: win = s(x - d), loss = s(-x - d) with d = ``DRAWISH`` and x such that win - loss is
    the value.
    """
    value = max(-1.0, min(1.0, value))
    if abs(value) == 1.0:
        return max(0.0, value), 0.0, max(0.0, -value)
    far = math.exp(DRAWISH)
    # With t = exp(-x): 1 / (1 + far t) - t / (t + far) = value, a quadratic equation in t.
    a, b, c = far * (1 + value), value * (1 + far * far), -far * (1 - value)
    t = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    win, loss = 1 / (1 + far * t), t / (t + far)
    return win, max(0.0, 1 - win - loss), loss


def moves_to_mate(plies: int, wins: bool) -> int:
    """The number of moves to a forced mate in so many plies: of the player to move, negative if it loses."""
    return (plies + 1) // 2 if wins else -(plies // 2)


def proven_mate(result: SearchResult, outcome: int) -> int | None:
    """Moves to the mate that the solver has proven for one move of the root (see ``moves_to_mate``), or None."""
    if result.proof is None:
        return None
    player = result.acting[0]
    plies, low = int(result.proof.plies.ravel()[outcome]), float(result.proof.edges[0, player].ravel()[outcome])
    return moves_to_mate(plies, low > 0) if plies >= 0 and abs(low) == 1.0 else None


def proven_draw(result: SearchResult, outcome: int) -> bool:
    """Whether the solver has proven that a move of the root leads to a draw."""
    if result.proof is None:
        return False
    player = result.acting[0]
    return (
        int(result.proof.plies.ravel()[outcome]) >= 0 and float(result.proof.edges[0, player].ravel()[outcome]) == 0.0
    )
