"""Shares in whole percent that add up."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentages(shares: Sequence[float]) -> list[int]:
    """Shares of a whole in percent, by the method of largest remainders: they add up to 100.

    Any numbers from 0 on will do, such as counts; where all of them are 0, so are the percentages.
    """
    total = sum(shares)
    if total <= 0:
        return [0] * len(shares)
    exact = [100 * share / total for share in shares]
    whole = [math.floor(part) for part in exact]
    rest = sorted(range(len(shares)), key=lambda i: (whole[i] - exact[i], i))
    for i in rest[: 100 - sum(whole)]:
        whole[i] += 1
    return whole
