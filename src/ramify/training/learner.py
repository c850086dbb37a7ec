"""Training steps of a network: weights, optimizer and averaged weights."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from ramify.base.imports import imported
from ramify.evaluators.torch_threads import run_calls
from ramify.networks import GameNetwork
from ramify.training.captured import SAME_GRADIENT, gradient_length, put_back
from ramify.training.config import LossConfig, OptimizerConfig
from ramify.training.losses import losses, measures
from ramify.training.parallel import Group, Replicas, mean_over_processes, share_batches, whole_batch
from ramify.training.replay import TrainingBatch

T = TypeVar("T")

logger = logging.getLogger("ramify")


class Learner:
    """Trains one network. Its state can be saved as tensors and restored; later steps are then identical."""

    def __init__(
        self,
        module: GameNetwork,
        optimizer: OptimizerConfig,
        weights: LossConfig,
        device: torch.device,
        compiled: bool = False,
    ) -> None:
        self.config, self.weights, self.device = optimizer, weights, device
        self.module = copy.deepcopy(module).to(device).train()
        if device.type == "cuda":
            self.module = self.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._forward: Callable[[Tensor], dict[str, Tensor]] = self.module
        if compiled and device.type == "cuda":
            self._forward = torch.compile(self.module, dynamic=False)
        self._compared = self._forward is self.module  # whether gradients of the compiled network have been looked at
        self.optimizer = _optimizer(self.module, optimizer)
        self.averaged = None
        if optimizer.average != "none":
            ema = self._move_average if optimizer.average == "ema" else None
            self.averaged = AveragedModel(self.module, multi_avg_fn=ema, use_buffers=True)
        self.steps = 0
        self.group: Group | None = None  # of processes that train this network together

    def join(self, group: Group) -> None:
        """Train together with the other processes of the group from now on: ``learn`` takes a part of the batch."""
        self.group = group
        self._forward, self._compared = share_batches(self.module, self.device), True

    def close(self) -> None:
        """End what was started for training."""

    def _update_average(self, averaged: AveragedModel) -> None:
        """What ``update_parameters`` does, which would also copy the number of steps to the device for a moving average
        that has no use for it, and so wait until the device has done all of them."""
        if self.config.average != "ema" or int(averaged.n_averaged) == 0:
            averaged.update_parameters(self.module)
            return
        groups: dict[torch.dtype, tuple[list[Tensor], list[Tensor]]] = {}
        for mean, tensor in zip(_tensors(averaged.module), _tensors(self.module), strict=True):
            means, tensors = groups.setdefault(mean.dtype, ([], []))
            means.append(mean.detach())
            tensors.append(tensor.detach())
        for means, tensors in groups.values():
            self._move_average(means, tensors, averaged.n_averaged)
        averaged.n_averaged += 1

    def _move_average(self, averaged: Any, weights: Any, count: Any) -> None:
        """One step of the moving average. Early on it is shorter, or a short run would end near its first weights.

        Integers, such as a network's tables of places, are copied: averages of them would be rounded down every time.
        """
        if not averaged[0].is_floating_point():
            torch._foreach_copy_(averaged, weights)
            return
        decay = min(self.config.ema_decay, (1 + self.steps) / (10 + self.steps))
        get_ema_multi_avg_fn(decay)(averaged, weights, count)  # type: ignore[no-untyped-call]

    def rate(self, progress: float) -> float:
        """The learning rate of the next step; ``progress`` is the completed fraction of the run."""
        config = self.config
        left = 1.0
        if config.schedule == "cosine":
            left = (1 + math.cos(math.pi * min(progress, 1.0))) / 2
        elif config.schedule == "linear":
            left = 1 - min(progress, 1.0)
        warm = min(1.0, (self.steps + 1) / config.warmup_steps) if config.warmup_steps else 1.0
        return config.learning_rate * warm * (config.final_share + (1 - config.final_share) * left)

    def learn(self, batch: TrainingBatch, progress: float) -> dict[str, Tensor]:
        """Run one training step; returns the losses before it, still on the device."""
        return self._run(lambda: self._learn(batch, progress))

    def _run(self, call: Callable[[], T]) -> T:
        """On a CPU, run in one thread, as evaluators do: threads within a call stall on a busy machine."""
        return run_calls([call], 1)[0] if self.device.type == "cpu" else call()

    def _learn(self, batch: TrainingBatch, progress: float) -> dict[str, Tensor]:
        if not self._compared:
            self._compare(batch)
        rate = self.rate(progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        known = self._gradients(batch)
        length = nn.utils.clip_grad_norm_(self.module.parameters(), self.config.clip or math.inf)
        self.optimizer.step()
        self.steps += 1
        if self.averaged is not None and (self.config.average == "ema" or progress >= self.config.swa_from):
            self._update_average(self.averaged)
        if self.group is not None:
            means = mean_over_processes(torch.stack(list(known.values())), self.group)
            known = dict(zip(known, means, strict=True))
        return {**known, "gradient": length.detach()}

    def _gradients(self, batch: Any) -> dict[str, Tensor]:
        """Give the weights the gradients of a batch; returns its losses."""
        self.optimizer.zero_grad(set_to_none=True)
        with whole_batch(self.group):
            found = self._losses(batch)
            found["total"].backward()  # type: ignore[no-untyped-call]
        return {name: loss.detach() for name, loss in found.items()}

    def _compare(self, batch: TrainingBatch) -> None:
        """Give the compiled network up, with a warning, if its gradient on the first batch is not that of the plain
        one: compilers have bugs, and a run would end as if it had diverged."""
        compiled, lengths = self._forward, list[float]()
        before = [buffer.clone() for buffer in self.module.buffers()]
        for forward in (compiled, self.module):
            self._forward = forward
            self._losses(batch)["total"].backward()  # type: ignore[no-untyped-call]
            lengths.append(gradient_length(self.module))
            put_back(self.module, before)
        if math.isclose(*lengths, rel_tol=SAME_GRADIENT):
            self._forward = compiled
        else:
            logger.warning(
                "torch.compile is not used: the gradient of the compiled network has length %.4g instead of %.4g",
                *lengths,
            )
        self._compared = True

    def _losses(self, batch: Any) -> dict[str, Tensor]:
        """The losses of the network on a batch."""
        return losses(self._outputs(batch.observations), batch, self.module, self.weights)

    def _outputs(self, observations: Tensor) -> dict[str, Tensor]:
        fast = self.device.type == "cuda"
        if fast and observations.dim() == 4:
            observations = observations.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=fast):
            return self._forward(observations)

    @property
    def playing(self) -> GameNetwork:
        """The network used for self-play: with averaged weights, once there are any."""
        if self.averaged is not None and int(self.averaged.n_averaged) > 0:
            return cast(GameNetwork, self.averaged.module)
        return self.module

    def judge(self, batch: TrainingBatch) -> dict[str, float]:
        """Losses and metrics of the self-play network on a batch."""
        return self._run(lambda: self._judge(batch))

    @torch.no_grad()
    def _judge(self, batch: TrainingBatch) -> dict[str, float]:
        module = self.playing
        training = module.training
        module.eval()
        try:
            return self._measures(module, batch)
        finally:
            module.train(training)

    def _measures(self, module: GameNetwork, batch: Any) -> dict[str, float]:
        """Losses and metrics of a network in evaluation mode on a batch."""
        outputs = module(batch.observations)
        found = losses(outputs, batch, module, self.weights)
        return {**{name: float(loss) for name, loss in found.items()}, **measures(outputs, batch)}

    def tensors(self) -> dict[str, Tensor]:
        """The complete training state."""
        found = {f"module.{name}": tensor for name, tensor in self.module.state_dict().items()}
        if self.averaged is not None:
            found |= {f"averaged.{name}": tensor for name, tensor in self.averaged.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            found |= {
                f"optimizer.{index}.{name}": torch.as_tensor(value)
                for name, value in state.items()
                if value is not None
            }
        return {name: tensor.detach().cpu().contiguous() for name, tensor in found.items()}

    def restore(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Restore the training state from ``tensors()``, saved after ``steps`` steps."""
        self.module.load_state_dict(_below(tensors, "module."))
        if self.averaged is not None:
            self.averaged.load_state_dict(_below(tensors, "averaged."))
        states: dict[int, dict[str, Any]] = {}
        for name, tensor in _below(tensors, "optimizer.").items():
            index, _, part = name.partition(".")
            states.setdefault(int(index), {})[part] = tensor
        known = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**known, "state": states})
        self.steps = steps


class ParallelLearner(Learner):
    """Trains one network with several processes, each with an equal part of every batch; they start with the first
    step. The steps are those of a single process but for rounding."""

    def __init__(
        self,
        module: GameNetwork,
        optimizer: OptimizerConfig,
        weights: LossConfig,
        device: torch.device,
        processes: int,
    ) -> None:
        super().__init__(module, optimizer, weights, device)
        self.processes = processes
        self._replicas: Replicas | None = None

    def learn(self, batch: TrainingBatch, progress: float) -> dict[str, Tensor]:
        if self._replicas is None:
            self._replicas = Replicas(self.processes, self, imported())
            self.join(Group(0, self.processes))
        self._replicas.send(batch, progress)
        rows = len(batch.observations) // self.processes
        own = {field.name: getattr(batch, field.name)[:rows] for field in fields(batch)}
        return super().learn(type(batch)(**own), progress)

    def close(self) -> None:
        if self._replicas is not None:
            self._replicas.close()
            self._replicas = None


def _tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _optimizer(module: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """The optimizer; biases and normalisation parameters have no weight decay."""
    groups = [
        {
            "params": [weight for weight in module.parameters() if weight.dim() >= 2],
            "weight_decay": config.weight_decay,
        },
        {"params": [weight for weight in module.parameters() if weight.dim() < 2], "weight_decay": 0.0},
    ]
    if config.kind == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate, momentum=config.momentum)
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(config.momentum, 0.999))
