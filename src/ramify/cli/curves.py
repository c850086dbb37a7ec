"""Sparklines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

COLUMNS = "▁▂▃▄▅▆▇█"
WIDTH = 40  # characters at most


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """One character per value; neighbouring values are averaged if there are more than ``width``."""
    if len(values) > width:
        edges = [round(place * len(values) / width) for place in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(values), max(values)
    if high == low:
        return COLUMNS[0] * len(values)
    return "".join(COLUMNS[round((value - low) / (high - low) * (len(COLUMNS) - 1))] for value in values)
