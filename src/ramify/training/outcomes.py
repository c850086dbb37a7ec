"""Outcomes in training batches: actions with the same effect count as one, as in the search.

The search adds up the probabilities of an outcome's actions. An outcome is therefore written at the place of the action
that stands for it: ``groups`` names that action for every action, and has no actions in games that merge none.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ramify.training.replay import TrainingBatch

FORBIDDEN = -1e4  # logit of an action that is not legal, and of the place of an action that stands for no outcome


def merged(logits: Tensor, groups: Tensor) -> Tensor:
    """Log-probabilities of outcomes from those of actions, [B, players, num_actions] both.

    The logarithm of a sum of probabilities, relative to the largest, so that none is lost however small it is.
    """
    if groups.shape[2] == 0:
        return logits
    index = groups.long()
    places = torch.full_like(logits, FORBIDDEN)
    top = places.scatter_reduce(2, index, logits.detach(), "amax", include_self=False)
    sums = torch.zeros_like(logits).scatter_add(2, index, (logits - top.gather(2, index)).exp())
    return torch.where(sums > 0, sums.clamp(min=torch.finfo(sums.dtype).tiny).log() + top, places)


def members(batch: TrainingBatch) -> Tensor:
    """Which actions make up each outcome, [B, players, num_actions, num_actions].

    The row of the action that stands for an outcome has 1 / n at each of its n legal actions; other rows are zeros.
    """
    count = batch.legal.shape[2]
    if batch.groups.shape[2] == 0:
        index = torch.arange(count, device=batch.legal.device).expand(batch.legal.shape)
    else:
        index = batch.groups.long()
    of = functional.one_hot(index, count).transpose(2, 3).float() * batch.legal.unsqueeze(2)
    return of / of.sum(dim=3, keepdim=True).clamp(min=1)


def average_payoffs(payoffs: Tensor, of: Tensor) -> Tensor:
    """Payoffs of pairs of outcomes, [B, 2, A, A]: the mean over the pairs of their actions; ``of`` as in members."""
    return of[:, :1] @ payoffs.float() @ of[:, 1:].transpose(2, 3)
