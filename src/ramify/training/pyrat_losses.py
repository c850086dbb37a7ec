"""Losses and metrics of the heads for simultaneous games: payoffs of pairs of actions, cheese and final scores."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ramify.training.cheese import UNKNOWN
from ramify.training.outcomes import average_payoffs, members
from ramify.training.parallel import rows_that_count
from ramify.training.replay import TrainingBatch

SUPPORT = 0.01  # outcomes with less probability in the policy target do not count as played


def trained_heads(outputs: dict[str, Tensor], batch: TrainingBatch) -> list[str]:
    """The heads of this module that the network has and the batch has targets for.

    A network may give more outputs than its config names as heads; there are no targets for those.
    """
    targets = {"cheese": batch.cheese, "final_score": batch.final_scores, "payoffs": batch.pair_visits}
    return [head for head, target in targets.items() if head in outputs and target.shape[1]]


def pyrat_losses(outputs: dict[str, Tensor], batch: TrainingBatch) -> dict[str, Tensor]:
    """The losses of those heads that the network has, unweighted, by name."""
    found: dict[str, Tensor] = {}
    heads = trained_heads(outputs, batch)
    if "cheese" in heads:
        found["cheese"] = class_loss(outputs["cheese"].flatten(2), batch.cheese)
    if "final_score" in heads:
        found["final_score"] = class_loss(outputs["final_score"].transpose(1, 2), score_classes(outputs, batch))
    if "payoffs" in heads:
        of = members(batch)
        payoffs = average_payoffs(outputs["payoffs"], of)
        found["payoffs"] = payoff_loss(payoffs, batch)
        found["nash"] = nash_loss(payoffs, of, batch.policies)
        found["constant_sum"] = constant_sum_loss(payoffs, of, batch.collected)
    return found


def class_loss(logits: Tensor, classes: Tensor) -> Tensor:
    """Cross-entropy of logits [B, classes, n] with classes [B, n], mean over those that are known."""
    count = rows_that_count(classes != UNKNOWN)
    return functional.cross_entropy(logits.float(), classes.long(), ignore_index=UNKNOWN, reduction="sum") / count


def score_classes(outputs: dict[str, Tensor], batch: TrainingBatch) -> Tensor:
    """The class of each player's final score, [B, 2]; the last class is for all scores from there on."""
    return batch.final_scores.clamp(max=outputs["final_score"].shape[2] - 1)


def mean_of_rows(losses: Tensor, counts: Tensor) -> Tensor:
    """Mean of the losses [B] of those rows that count; 0 if none does."""
    return torch.where(counts, losses, torch.zeros_like(losses)).sum() / rows_that_count(counts)


def payoff_loss(payoffs: Tensor, batch: TrainingBatch) -> Tensor:
    """Squared error against the payoffs of the search. Every position counts the same, its pairs by their visits."""
    visits = batch.pair_visits.sum(dim=(1, 2), keepdim=True)
    share = (batch.pair_visits / visits.clamp(min=1)).unsqueeze(1)
    errors = (share * (payoffs - batch.payoffs) ** 2).sum(dim=(2, 3)).mean(dim=1)
    return mean_of_rows(errors, visits.flatten() > 0)


def nash_loss(payoffs: Tensor, of: Tensor, policies: Tensor) -> Tensor:
    """How far the payoffs are from making the policy targets an equilibrium; 0 if they are one.

    Against the other player's target, every outcome in the support must be worth as much as the target as a whole, and
    no other outcome more. The mean over outcomes of the squared violations. ``payoffs`` are those of outcomes.
    """
    own = (payoffs[:, 0] * policies[:, None, 1]).sum(dim=2)
    other = (payoffs[:, 1] * policies[:, 0, :, None]).sum(dim=1)
    worth = torch.stack([own, other], dim=1)  # [B, 2, outcomes]
    gain = worth - (worth * policies).sum(dim=2, keepdim=True)
    violation = torch.where(policies > SUPPORT, gain, gain.clamp(min=0)) ** 2
    stands = of.sum(dim=3) > 0
    means = (violation * stands).sum(dim=2) / stands.sum(dim=2).clamp(min=1)
    return mean_of_rows(means.mean(dim=1), (policies.sum(dim=2) > 0).all(dim=1))


def constant_sum_loss(payoffs: Tensor, of: Tensor, collected: Tensor) -> Tensor:
    """Squared error of both players' payoffs together, for every pair of outcomes, against what both collected."""
    stands = (of.sum(dim=3) > 0).float()
    pairs = stands[:, 0, :, None] * stands[:, 1, None, :]
    errors = (payoffs.sum(dim=1) - collected[:, None, None]) ** 2 * pairs
    count = pairs.sum(dim=(1, 2))
    return mean_of_rows(errors.sum(dim=(1, 2)) / count.clamp(min=1), count > 0)


def win_probabilities(logits: Tensor) -> Tensor:
    """Probabilities that the viewer wins, draws and loses, [B, 3], from the logits of both final scores [B, 2, bins].

    The head predicts each score alone. They are combined so that the higher the one, the lower the other, which is
    exact where the two scores add up to a constant: as where all cheese is collected.
    """
    upto = logits.double().softmax(dim=2).cumsum(dim=2)
    upto = upto / upto[:, :, -1:]
    own, other = upto[:, 0], 1 - upto[:, 1]  # where the own score rises, and where the other's falls
    zero = torch.zeros_like(own[:, :1])
    edges = torch.cat([zero, own, other, zero + 1], dim=1).clamp(0, 1).sort(dim=1).values
    width, middle = edges.diff(dim=1), (edges[:, 1:] + edges[:, :-1]) / 2
    most = logits.shape[2] - 1
    mine = torch.searchsorted(own.contiguous(), middle.contiguous()).clamp(max=most)
    theirs = torch.searchsorted(upto[:, 1].contiguous(), (1 - middle).contiguous()).clamp(max=most)
    return torch.stack([(width * chosen).sum(dim=1) for chosen in (mine > theirs, mine == theirs, mine < theirs)], 1)


@torch.no_grad()
def pyrat_measures(outputs: dict[str, Tensor], batch: TrainingBatch) -> dict[str, float]:
    """Metrics of those heads that the network has: how often the most likely collector is the right one, the mean error
    of the expected final score in cheese, and the root of the payoff loss."""
    found: dict[str, float] = {}
    heads = trained_heads(outputs, batch)
    if "cheese" in heads:
        known = batch.cheese != UNKNOWN
        right = outputs["cheese"].flatten(2).argmax(dim=1) == batch.cheese
        found["cheese_accuracy"] = float((right & known).sum() / known.sum().clamp(min=1))
    if "final_score" in heads:
        classes = score_classes(outputs, batch)
        bins = torch.arange(outputs["final_score"].shape[2], device=classes.device)
        expected = (outputs["final_score"].float().softmax(dim=2) * bins).sum(dim=2)
        known = classes != UNKNOWN
        found["final_score_error"] = float(((expected - classes).abs() * known).sum() / 2 / known.sum().clamp(min=1))
    if "payoffs" in heads:
        found["payoff_error"] = float(payoff_loss(average_payoffs(outputs["payoffs"], members(batch)), batch).sqrt())
    return found
