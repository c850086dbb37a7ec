"""Data-parallel training: several processes, each with a part of every batch. Gradients are averaged by torch's
DistributedDataParallel, and statistics of a batch (normalisation, rows that count) are those of the whole batch."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ramify.base.processes import end_with_parent
from ramify.networks.blocks import BatchRenorm

PATIENCE = timedelta(minutes=10)  # for the other processes, at every step
END_SECONDS = 10.0

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Group:
    """This process among those that train one network together."""

    rank: int
    size: int


_learning: ContextVar[Group | None] = ContextVar("_learning", default=None)


@contextmanager
def whole_batch(group: Group | None) -> Iterator[None]:
    """Within this context, ``rows_that_count`` counts in the batch of all processes."""
    token = _learning.set(group)
    try:
        yield
    finally:
        _learning.reset(token)


def rows_that_count(mask: Tensor) -> Tensor:
    """The number of true entries, by which a sum over them is divided; at least one in a whole batch.

    In data-parallel training this is the mean over all processes, so that the mean of their quotients is that of the
    whole batch.
    """
    group, count = _learning.get(), mask.sum()
    if group is None:
        return count.clamp(min=1)
    return mean_over_processes(count.float(), group).clamp(min=1 / group.size)


def sum_over_processes(tensor: Tensor) -> Tensor:
    """The sum of a tensor over all processes; autograd does not follow it."""
    found = tensor.clone()
    dist.all_reduce(found)
    return found


def mean_over_processes(tensor: Tensor, group: Group) -> Tensor:
    """The mean of a tensor over all processes, without a gradient."""
    return sum_over_processes(tensor.detach()) / group.size


class _Sum(torch.autograd.Function):
    """The sum of a tensor over all processes. Each of them uses the sum, so its gradient is the sum of theirs."""

    @staticmethod
    def forward(context: Any, tensor: Tensor) -> Tensor:
        del context
        return sum_over_processes(tensor)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        del context
        return sum_over_processes(gradient)


def mean_with_gradient(tensor: Tensor) -> Tensor:
    """The mean of a tensor over all processes."""
    found: Tensor = _Sum.apply(tensor)  # type: ignore[no-untyped-call]
    return found / dist.get_world_size()


def shared_moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Variance and mean of the whole batch, by channel."""
    mean = mean_with_gradient(x.mean(dim=(0, 2, 3)))
    return mean_with_gradient((x - mean[:, None, None]).square().mean(dim=(0, 2, 3))), mean


class SharedBatchNorm(nn.BatchNorm2d):
    """Batch normalisation with the statistics of the whole batch while it is trained on. (torch's SyncBatchNorm needs
    CUDA, and is not folded into convolutions.)"""

    def forward(self, x: Tensor) -> Tensor:
        if _learning.get() is None or not self.training:
            return super().forward(x)
        wide = x.float()
        variance, mean = shared_moments(wide)
        self._remember(mean.detach(), variance.detach(), dist.get_world_size() * x.numel() // x.shape[1])
        scale = torch.rsqrt(variance + self.eps) * self.weight
        return ((wide - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked += 1
        share = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean.to(self.running_mean), share)
        self.running_var.lerp_((variance * count / max(count - 1, 1)).to(self.running_var), share)


class SharedBatchRenorm(BatchRenorm):
    """Batch renormalisation with the statistics of the whole batch while it is trained on."""

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return super().moments(x) if _learning.get() is None else shared_moments(x)


SHARED: dict[type[nn.Module], type[nn.Module]] = {nn.BatchNorm2d: SharedBatchNorm, BatchRenorm: SharedBatchRenorm}


def share_batches(module: nn.Module, device: torch.device) -> DistributedDataParallel:
    """The module as one of several that train together; batch normalisations are changed in place."""
    for child in module.modules():
        child.__class__ = SHARED.get(type(child), type(child))
    return DistributedDataParallel(module, device_ids=None if device.type == "cpu" else [device])


def part_of(batch: Batch, number: int, parts: int) -> dict[str, np.ndarray[Any, Any]]:
    """One of several equal parts of a batch, as arrays."""
    columns = {field.name: getattr(batch, field.name) for field in fields(batch)}  # type: ignore[arg-type]
    rows = len(next(iter(columns.values()))) // parts
    return {name: column[number * rows : (number + 1) * rows].cpu().numpy() for name, column in columns.items()}


def join(group: Group, device: torch.device, file: Path) -> None:
    """Join the group of processes that meet at this file."""
    if device.type == "cpu":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if Path("/sys/class/net/lo").exists() else "lo0")
    else:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "gloo" if device.type == "cpu" else "nccl",
        init_method=f"file://{file}",
        rank=group.rank,
        world_size=group.size,
        timeout=PATIENCE,
    )


def device_of(device: torch.device, rank: int) -> torch.device:
    """The device of one of the processes: on CUDA, each has a GPU."""
    return device if device.type == "cpu" else torch.device("cuda", (device.index or 0) + rank)


class Replicas:
    """The other processes of a learner. They get its state when they start, and their part of every batch."""

    def __init__(self, count: int, learner: Any, modules: tuple[str, ...]) -> None:
        self.count, self._folder = count, tempfile.TemporaryDirectory()
        file, device = Path(self._folder.name) / "meet", learner.device
        state = (learner.module, learner.config, learner.weights, learner.tensors(), learner.steps)
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(1, count):
            here, there = context.Pipe()
            arguments = (Group(rank, count), device_of(device, rank), file, modules, pickle.dumps(state), there)
            process = context.Process(target=learn_part, args=arguments, name="ramify-learner", daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)
        join(Group(0, count), device, file)

    def send(self, batch: Any, progress: float) -> None:
        """Give the other processes their parts of a batch."""
        for number, pipe in enumerate(self.pipes, 1):
            pipe.send((type(batch), part_of(batch, number, self.count), progress))

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(END_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
        dist.destroy_process_group()
        self._folder.cleanup()


def learn_part(
    group: Group, device: torch.device, file: Path, modules: tuple[str, ...], state: bytes, pipe: Any
) -> None:
    """One of the other processes: learns its part of every batch until the pipe is closed."""
    from ramify.base.imports import import_modules
    from ramify.training.learner import Learner

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is sent to all processes; only the trainer handles it
    end_with_parent()
    import_modules(modules)
    module, optimizer, weights, tensors, steps = pickle.loads(state)
    join(group, device, file)
    learner = Learner(module, optimizer, weights, device)
    learner.restore(tensors, steps)
    learner.join(group)
    while True:
        try:
            kind, columns, progress = pipe.recv()
        except EOFError:
            break
        learner.learn(kind(**{name: torch.from_numpy(column).to(device) for name, column in columns.items()}), progress)
    dist.destroy_process_group()
