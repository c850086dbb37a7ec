"""Where the engine rounds: with the same rounding points a transcription can be compared bit for bit.

Statistics are kept in float32. A sum is accumulated in double and rounded once; a score is float32 arithmetic
throughout, as the inner loop of selection does it.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

f32 = np.float32


def edge_value(reward: float, discount: float, child_value: float) -> np.float32:
    """q = r + γ · Q(child)."""
    return f32(float(reward) + discount * float(child_value))


def node_value(evaluation: float, edges: Iterable[tuple[int, np.float32]]) -> np.float32:
    """Q = (U + Σ N · q) / (1 + Σ N) over (N, q) of the visited edges."""
    total, visits = float(evaluation), 0
    for n, q in edges:
        total += int(n) * float(q)
        visits += int(n)
    return f32(total / (1 + visits))


def evaluation_weight(errors: Sequence[np.float32], scale: float) -> np.float32:
    """scale / (scale + e), with e the root of the mean of both players' expected squared errors."""
    return f32(scale / (scale + math.sqrt(sum(float(error) for error in errors) / len(errors))))


def weighted_value(
    evaluation: float, weight: np.float32, edges: Iterable[tuple[int, np.float32, np.float32]]
) -> np.float32:
    """Q = (w · U + Σ N · m · q) / (w + Σ N · m) over (N, m, q) of the visited edges, m the mean weight of the child."""
    total, weights = float(weight) * float(evaluation), float(weight)
    for n, mean, q in edges:
        total += int(n) * float(mean) * float(q)
        weights += int(n) * float(mean)
    return f32(total / weights)


def weighted_mean(weighted: Iterable[tuple[float, np.float32]]) -> np.float32:
    """Σ w · q / Σ w over (w, q): an outcome's marginal value, the weights renormalised over what is given."""
    total, weights = 0.0, 0.0
    for w, q in weighted:
        total += float(w) * float(q)
        weights += float(w)
    return f32(total / weights)


def exploration(c_init: float, c_base: float | None, visits: int) -> np.float32:
    """u = c(N) · √N with c(N) = c_init + ln((N + c_base + 1) / c_base); constant without c_base."""
    c = c_init if c_base is None else c_init + math.log((visits + c_base + 1) / c_base)
    return f32(c * math.sqrt(visits))


def score(q: np.float32, u: np.float32, prior: np.float32, visits: int) -> np.float32:
    """q + u · P / (1 + M), every operation rounded."""
    return f32(q) + (f32(u) * f32(prior)) / f32(1 + int(visits))


def best(scores: Sequence[np.float32], priors: Sequence[np.float32]) -> int:
    """The highest score; ties go to the higher prior, then to the lower index."""
    return max(range(len(scores)), key=lambda i: (scores[i], priors[i], -i))


def normalized(q: np.float32, low: np.float32, high: np.float32) -> np.float32:
    """(q - low) / (high - low) where there is a range; q itself before that."""
    if not high > low:
        return f32(q)
    return f32((float(q) - float(low)) / (float(high) - float(low)))


_FIRST_CODE = 3 << 28  # the bits of 2^-31: the smallest prior that is kept


def round_prior(prior: float) -> np.float32:
    """The prior as the engine keeps it: 16 bits, five of the exponent and eleven of the mantissa, rounded."""
    bits = int(np.asarray(prior, dtype=np.float32).view(np.uint32)) + (1 << 11)
    code = min((bits - _FIRST_CODE) >> 12, 65535) if bits >= _FIRST_CODE else 0
    return np.uint32(code << 12 | _FIRST_CODE).view(np.float32)
