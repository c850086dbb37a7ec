"""Losses and metrics of a network."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ramify.networks import GameNetwork
from ramify.training.config import LossConfig
from ramify.training.outcomes import FORBIDDEN, merged
from ramify.training.parallel import rows_that_count
from ramify.training.pyrat_losses import pyrat_losses, pyrat_measures
from ramify.training.replay import TrainingBatch


def policy_logits(outputs: dict[str, Tensor], batch: TrainingBatch) -> Tensor:
    """Log-probabilities of outcomes, at the places of the legal actions that stand for them: [B, players, num_actions].

    As the search reads priors: a softmax over the legal actions, and then the sum over the actions of an outcome.
    """
    logits = outputs["logits"].float()
    logits = logits.unsqueeze(1) if logits.dim() == 2 else logits
    logits = torch.where(batch.legal, logits, torch.full_like(logits, FORBIDDEN)).log_softmax(dim=2)
    return merged(logits, batch.groups)


def per_player(values: Tensor) -> Tensor:
    """[B] or [B, players] -> [B, players]."""
    values = values.float()
    return values.unsqueeze(1) if values.dim() == 1 else values


def losses(
    outputs: dict[str, Tensor], batch: TrainingBatch, module: GameNetwork, weights: LossConfig
) -> dict[str, Tensor]:
    """All losses, unweighted, and their weighted sum ``total``."""
    config = module.config
    acts = batch.policies.sum(dim=2) > 0
    cross = -(batch.policies * policy_logits(outputs, batch)).sum(dim=2)
    values = per_player(outputs["values"])
    target = batch.values
    unit = outputs.get("value_unit", values.new_ones(()))  # so that large boards do not outweigh small ones
    found = {"policy": cross.sum() / rows_that_count(acts), "value": ((values - target) / unit).square().mean()}
    if config.value == "wdl":
        found["value"] = wdl_loss(outputs["wdl"], target / config.value_scale, batch.draws)
    elif "wdl" in outputs:
        found["value"] = found["value"] + wdl_loss(outputs["wdl"], target / config.value_scale, batch.draws)
    if "score" in outputs:
        place = (batch.scores / config.score_range + 1) / 2 * (config.score_bins - 1)
        classes = place.round().clamp(0, config.score_bins - 1).long()
        found["score"] = functional.cross_entropy(outputs["score"].float(), classes)
    if "value_error" in outputs:
        squared = (values.detach() - target) ** 2
        found["value_error"] = functional.smooth_l1_loss(per_player(outputs["value_error"]), squared)
    if "ownership" in outputs:
        owned = (batch.owners.float() + 1) / 2
        found["ownership"] = functional.binary_cross_entropy_with_logits(outputs["ownership"].float().flatten(1), owned)
    found |= pyrat_losses(outputs, batch)
    found["total"] = sum(
        (getattr(weights, name) * loss for name, loss in found.items()), torch.zeros((), device=values.device)
    )
    return found


def wdl_loss(logits: Tensor, values: Tensor, draws: Tensor | None = None) -> Tensor:
    """The mean of ``wdl_loss_rows``."""
    return wdl_loss_rows(logits, values, draws).mean()


def wdl_loss_rows(logits: Tensor, values: Tensor, draws: Tensor | None = None) -> Tensor:
    """Cross-entropy of win, draw and loss.

    ``draws`` [B] are chances of a draw. Where they are not known (-1), a fractional value is a mixture of win (or
    loss) and draw: the largest chance of a draw that the value allows.
    """
    values = values.clamp(-1, 1)
    most = 1 - values.abs()
    chances = torch.stack([values.clamp(min=0), most, (-values).clamp(min=0)], dim=-1)
    if draws is not None:
        known = draws.unsqueeze(-1)
        drawn = torch.minimum(known, most)
        told = torch.stack([(1 - drawn + values) / 2, drawn, (1 - drawn - values) / 2], dim=-1)
        chances = torch.where((known >= 0).unsqueeze(-1), told, chances)
    log_chances = logits.float().view(*values.shape, 3).log_softmax(dim=-1)
    return -(chances * log_chances).sum(dim=-1)


@torch.no_grad()
def measures(outputs: dict[str, Tensor], batch: TrainingBatch) -> dict[str, float]:
    """Metrics of a network's outputs on a batch of positions. Those of the policy are over outcomes, of rows with a
    policy target; 0 if no row has one."""
    values, wanted = per_player(outputs["values"]).flatten().double(), batch.values.flatten().double()
    spread = wanted.var(unbiased=False)
    explained = 1 - (wanted - values).var(unbiased=False) / spread if spread > 0 else torch.zeros(())
    both = torch.stack([values, wanted])
    varies = values.var(unbiased=False) > 0 and spread > 0
    return {
        **policy_measures(outputs, batch),
        "value_correlation": float(torch.corrcoef(both)[0, 1]) if varies else 0.0,
        "explained_variance": float(explained),
        **pyrat_measures(outputs, batch),
    }


def policy_measures(outputs: dict[str, Tensor], batch: TrainingBatch) -> dict[str, float]:
    """Entropies of policy and target, and how often the best action of the target is the first, or one of the first
    three, of the policy."""
    logits, acts = policy_logits(outputs, batch), batch.policies.sum(dim=2) > 0
    if not acts.any():
        return dict.fromkeys(("entropy", "target_entropy", "top1", "top3"), 0.0)
    logits, target = logits[acts], batch.policies[acts]
    best = target.argmax(dim=1, keepdim=True)
    ranks = logits.topk(min(3, logits.shape[1]), dim=1).indices
    return {
        "entropy": float(-(logits.exp() * logits).sum(dim=1).mean()),
        "target_entropy": float(-(target * target.clamp(min=1e-12).log()).sum(dim=1).mean()),
        "top1": float((ranks[:, :1] == best).any(dim=1).double().mean()),
        "top3": float((ranks == best).any(dim=1).double().mean()),
    }
