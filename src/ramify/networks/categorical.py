"""Numbers as distributions over whole numbers, on a scale that grows like a root (MuZero, appendix F)."""

from __future__ import annotations

import torch
from torch import Tensor

SLOPE = 0.001  # of the scale far from 0, in addition to the root: it keeps the scale invertible in practice


def contracted(x: Tensor) -> Tensor:
    """h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x."""
    return x.sign() * ((x.abs() + 1).sqrt() - 1) + SLOPE * x


def expanded(x: Tensor) -> Tensor:
    """The inverse of ``contracted``."""
    root = (1 + 4 * SLOPE * (x.abs() + 1 + SLOPE)).sqrt() - 1
    return x.sign() * ((root / (2 * SLOPE)) ** 2 - 1)


def two_hot(x: Tensor, support: int) -> Tensor:
    """Distributions over -support .. support whose mean is h(x), on the two whole numbers next to it: [..., bins].

    Numbers beyond the support are those at its ends.
    """
    place = contracted(x).clamp(-support, support) + support
    low = place.floor().clamp(max=2 * support - 1)
    high_share = (place - low).unsqueeze(-1)
    low_at = low.long().unsqueeze(-1)
    zeros = torch.zeros((*x.shape, 2 * support + 1), dtype=x.dtype, device=x.device)
    return zeros.scatter(-1, low_at, 1 - high_share).scatter(-1, low_at + 1, high_share)


def mean_of(logits: Tensor) -> Tensor:
    """The number whose distribution has these logits: the inverse scale of the mean, [..., bins] -> [...]."""
    support = (logits.shape[-1] - 1) // 2
    places = torch.arange(-support, support + 1, dtype=logits.dtype, device=logits.device)
    return expanded((logits.softmax(dim=-1) * places).sum(dim=-1))
