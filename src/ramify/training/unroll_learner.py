"""Training steps of learned models (MuZero): losses along the unrolled model."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from ramify.networks import GameNetwork, LearnedModel
from ramify.networks.categorical import contracted, two_hot
from ramify.training.captured import CapturedSteps, cuda_graphs
from ramify.training.config import LossConfig, OptimizerConfig, UnrollConfig
from ramify.training.learner import Learner
from ramify.training.losses import wdl_loss_rows
from ramify.training.outcomes import merged
from ramify.training.unroll import UnrollBatch

logger = logging.getLogger("ramify")

ROUNDING = 1e-4  # how far, relative to it, a number may be beyond what the network can say


@dataclass(frozen=True)
class Unrolled:
    """What a model says along a batch: K actions from B positions. ``P`` is 1 or 2 players."""

    logits: Tensor  # [B, K + 1, P, num_actions]: log-probabilities
    values: dict[str, Tensor]  # numbers [B, K + 1, P], and logits of their distributions
    rewards: dict[str, Tensor]  # numbers [B, K, P], and logits of their distributions
    latents: list[Tensor]  # K + 1


def scaled_gradient(x: Tensor, factor: float) -> Tensor:
    """The same numbers, with the gradient multiplied by ``factor``."""
    return x if factor == 1 else x * factor + x.detach() * (1 - factor)


def unrolled(module: LearnedModel, batch: UnrollBatch, gradient: float) -> Unrolled:
    """Unroll a model along the actions of a batch."""
    latents, rewards = [module.representation(batch.observations)], list[dict[str, Tensor]]()
    for step in range(batch.actions.shape[1]):
        after, reward = module.dynamics(scaled_gradient(latents[-1], gradient), batch.actions[:, step])
        latents.append(after)
        rewards.append(reward)
    found = module.prediction(torch.cat(latents))  # of all steps in one call
    rows, players = len(batch.observations), module.spec.players

    def by_step(name: str, tail: int) -> Tensor:
        x = found[name].float()
        shape = (len(latents), rows, players, *x.shape[x.dim() - tail :]) if tail else (len(latents), rows, players)
        return x.reshape(shape).transpose(0, 1)

    logits = by_step("logits", 1).log_softmax(dim=3)
    values = {"values": by_step("values", 0)}
    if "value_logits" in found:
        values["logits"] = by_step("value_logits", 1)
    paid = {"rewards": torch.stack([one["rewards"].float() for one in rewards], 1).view(rows, len(rewards), players)}
    if "reward_logits" in rewards[0]:
        joined = torch.stack([one["reward_logits"].float() for one in rewards], 1)
        paid["logits"] = joined.view(rows, len(rewards), players, -1)
    return Unrolled(logits, values, paid, latents)


def number_loss(numbers: Tensor, logits: Tensor | None, target: Tensor, module: LearnedModel) -> Tensor:
    """The loss of values or rewards, of every row, step and player."""
    if logits is None:
        return (numbers - target) ** 2
    if logits.shape[-1] == 3 and module.config.value == "wdl":
        return wdl_loss_rows(logits, target / module.config.value_scale)
    return -(two_hot(target, module.config.support) * logits.log_softmax(dim=-1)).sum(dim=-1)


def unroll_losses(module: LearnedModel, batch: UnrollBatch, found: Unrolled, weights: LossConfig) -> dict[str, Tensor]:
    """All losses, unweighted, and their weighted sum ``total``.

    A loss is the mean of the first positions, plus the mean of all later ones: the actions of an unroll count together
    as much as the position from which it starts.
    """
    row = batch.weights.unsqueeze(1)
    log_chances = merged(found.logits.flatten(0, 1), batch.groups).view_as(batch.policies)
    cross = -(batch.policies * log_chances).sum(dim=3).mean(dim=2)
    chosen = (batch.policies.sum(dim=(2, 3)) > 0).float()
    known = batch.known.float()
    values = number_loss(found.values["values"], found.values.get("logits"), batch.values, module).mean(dim=2)
    rewards = number_loss(found.rewards["rewards"], found.rewards.get("logits"), batch.rewards, module).mean(dim=2)
    made = {
        "policy": start_and_rest(cross, chosen * row),
        "value": start_and_rest(values, known * row),
        "reward": mean(rewards, known[:, :-1] * row),
    }
    if module.config.projection:
        made["consistency"] = consistency(module, batch, found)
    made["total"] = sum(
        (getattr(weights, name) * loss for name, loss in made.items()), torch.zeros((), device=row.device)
    )
    return made


def mean(x: Tensor, weights: Tensor) -> Tensor:
    return (x * weights).sum() / weights.sum().clamp(min=1e-6)


def start_and_rest(x: Tensor, weights: Tensor) -> Tensor:
    """The mean of the first step and that of all others, added: [B, K + 1] -> a number."""
    return mean(x[:, :1], weights[:, :1]) + mean(x[:, 1:], weights[:, 1:])


def consistency(module: LearnedModel, batch: UnrollBatch, found: Unrolled) -> Tensor:
    """One minus the cosine between latent states of the dynamics and those of the real positions (EfficientZero)."""
    steps = batch.actions.shape[1]
    with torch.no_grad():
        real = module.projected(module.representation(batch.following.flatten(0, 1)), predicted=False)
    ours = torch.stack([module.projected(latents, predicted=True) for latents in found.latents[1:]], dim=1)
    cosines = functional.cosine_similarity(ours.float(), real.float().view(-1, steps, real.shape[1]), dim=2)
    return mean(1 - cosines, batch.real[:, 1:].float() * batch.weights.unsqueeze(1))


@torch.no_grad()
def unroll_measures(batch: UnrollBatch, found: Unrolled) -> dict[str, float]:
    """Metrics of a model: of the first positions as for other networks, and after the last action of the unroll."""
    log_chances = merged(found.logits.flatten(0, 1), batch.groups).view_as(batch.policies)
    policies, chances = batch.policies[:, 0].flatten(0, 1), log_chances[:, 0].flatten(0, 1)
    chosen = policies.sum(dim=1) > 0
    wanted, given = batch.values[:, 0].flatten().double(), found.values["values"][:, 0].flatten().double()
    spread = wanted.var(unbiased=False)
    masses = (found.logits.exp() * batch.legal).sum(dim=3)
    errors = (found.values["values"] - batch.values).abs().mean(dim=2)
    known = batch.known.float()
    paid = (found.rewards["rewards"] - batch.rewards).abs().mean(dim=2)
    best = chances[chosen].argmax(dim=1) == policies[chosen].argmax(dim=1)
    both = torch.stack([given, wanted])
    varies = bool(spread > 0) and bool(given.var(unbiased=False) > 0)
    legal = batch.legal.any(dim=3)
    return {
        "top1": float(best.double().mean()) if len(best) else 0.0,
        "entropy": float(-(chances.exp() * chances).sum(dim=1).mean()),
        "target_entropy": float(-(policies[chosen] * policies[chosen].clamp(min=1e-12).log()).sum(dim=1).mean())
        if bool(chosen.any())
        else 0.0,
        "value_correlation": float(torch.corrcoef(both)[0, 1]) if varies else 0.0,
        "explained_variance": float(1 - (wanted - given).var(unbiased=False) / spread) if spread > 0 else 0.0,
        "legal_mass": float(mean(masses[:, 0], legal[:, 0].float())),
        # No game may have so many actions left that there are legal ones after the unroll.
        **({"legal_mass_last": float(mean(masses[:, -1], legal[:, -1].float()))} if legal[:, -1].any() else {}),
        "value_error": float(mean(errors[:, 0], known[:, 0])),
        "value_error_last": float(mean(errors[:, -1], known[:, -1])),
        "reward_error": float(mean(paid, known[:, :-1])),
    }


class UnrollLearner(Learner):
    """Trains one learned model."""

    def __init__(
        self,
        module: LearnedModel,
        optimizer: OptimizerConfig,
        weights: LossConfig,
        unroll: UnrollConfig,
        device: torch.device,
        graphs: bool = True,
    ) -> None:
        """``graphs``: on CUDA, launch forward and backward pass as one graph."""
        super().__init__(module, optimizer, weights, device)
        self.unroll = unroll
        self.beyond = False  # whether it was said that numbers are beyond those of the network
        self.captured: CapturedSteps | None = None  # steps as CUDA graphs
        if graphs and device.type == "cuda":
            self.captured = CapturedSteps(self.module, super()._gradients, cuda_graphs(device))

    def _gradients(self, batch: Any) -> dict[str, Tensor]:
        alone = self.group is None  # a graph does not wait for other processes
        found = self.captured(batch) if self.captured is not None and alone else None
        return super()._gradients(batch) if found is None else found

    def _losses(self, batch: Any) -> dict[str, Tensor]:
        module, fast = cast(LearnedModel, self.module), self.device.type == "cuda"
        # Copies of weights in bfloat16 that were kept from one use to the next could outlive a captured graph. Without
        # them, gradients of weights that are used at every step are also added up in float32.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=fast, cache_enabled=False):
            found = unrolled(module, batch, self.unroll.gradient)
            return unroll_losses(module, batch, found, self.weights)

    def _measures(self, module: GameNetwork, batch: Any) -> dict[str, float]:
        model = cast(LearnedModel, module)
        self._check_reach(model, batch)
        found = unrolled(model, batch, 1.0)
        losses = unroll_losses(model, batch, found, self.weights)
        return {**{name: float(loss) for name, loss in losses.items()}, **unroll_measures(batch, found)}

    def _check_reach(self, model: LearnedModel, batch: UnrollBatch) -> None:
        """Log a warning, once, where the network cannot say the numbers that it is trained on."""
        largest = max(float(batch.values.abs().max()), float(batch.rewards.abs().max()))
        if self.beyond or largest <= model.reach * (1 + ROUNDING):
            return
        self.beyond = True
        support = math.ceil(float(contracted(torch.tensor(largest))))
        way = "" if model.config.support else "network.value=linear or "
        logger.warning(
            "values or rewards of up to %.6g are cut off: the network's go up to %.6g. Use %snetwork.support=%d",
            largest,
            model.reach,
            way,
            support,
        )
