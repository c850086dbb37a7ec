"""Training steps as CUDA graphs: the many kernels of a forward and backward pass are launched as one.

A graph reads its batch from tensors of its own and leaves losses and gradients in tensors of its own. Weights stay
where they are, also when a checkpoint is restored: optimizers change them in place.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

logger = logging.getLogger("ramify")

WARM_UP = 3  # runs before a graph is captured: libraries choose their kernels in them
MOST_SHAPES = 4  # of batches that have a graph: each keeps the memory of a step
SAME_GRADIENT = 0.1  # relative difference of lengths; bfloat16 alone makes one of about 0.01

Losses = dict[str, Tensor]
Step = Callable[[], Losses]
# Calls the second function some times, then captures the first: gives what replays it, and the losses it overwrites.
Capture = Callable[[Step, Callable[[], None]], tuple[Callable[[], object], Losses]]


def gradient_length(module: nn.Module) -> float:
    """The length of the gradient that the weights have."""
    return float(nn.utils.get_total_norm([weight.grad for weight in module.parameters() if weight.grad is not None]))


@torch.no_grad()
def put_back(module: nn.Module, buffers: list[Tensor]) -> None:
    """Give a module these buffers, such as running statistics, and no gradients: what was run was no step."""
    for weight in module.parameters():
        weight.grad = None
    for buffer, before in zip(module.buffers(), buffers, strict=True):
        buffer.copy_(before)


def cuda_graphs(device: torch.device) -> Capture:
    """Captures on this device."""

    def capture(step: Step, warm_up: Callable[[], None]) -> tuple[Callable[[], object], Losses]:
        with torch.cuda.device(device):
            present = torch.cuda.current_stream()
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(present)
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.stream(side):
                    for _ in range(WARM_UP):
                        warm_up()
                side.synchronize()
                # Other threads may use CUDA meanwhile: only this thread's mistakes are errors.
                with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
                    losses = step()
            finally:
                torch.cuda.set_stream(present)  # a capture that fails stays on the other stream
        return graph.replay, losses

    return capture


class StepGraph:
    """The step of batches of one shape."""

    def __init__(self, module: nn.Module, compute: Callable[[Any], Losses], capture: Capture, batch: Any) -> None:
        self._module, self._compute = module, compute
        self._names = [field.name for field in fields(batch)]
        self._batch = type(batch)(**{name: getattr(batch, name).clone() for name in self._names})
        self._before = [buffer.clone() for buffer in module.buffers()]
        self.plain_length = math.nan  # of the gradient of this batch without the graph
        self._replay, self._losses = capture(self._step, self._warm_up)
        self._gradients = [weight.grad for weight in module.parameters()]

    def _step(self) -> Losses:
        return self._compute(self._batch)

    def _warm_up(self) -> None:
        """One step without the graph, which leaves the module as it was."""
        self._step()
        self.plain_length = gradient_length(self._module)
        put_back(self._module, self._before)

    def run(self, batch: Any) -> Losses:
        """The step of a batch: its gradients are valid until the next one, its losses stay."""
        for name in self._names:
            getattr(self._batch, name).copy_(getattr(batch, name))
        self._replay()
        for weight, gradient in zip(self._module.parameters(), self._gradients, strict=True):
            weight.grad = gradient  # another graph, or a step without one, may have left others
        return {name: loss.clone() for name, loss in self._losses.items()}


class CapturedSteps:
    """Losses and gradients of batches, by a graph for each of the first few shapes.

    ``compute`` makes new gradients in place of those that the weights have, and returns losses without a graph of
    autograd. Where a graph cannot be captured, or its gradient is not that of ``compute``, none is used any more.
    """

    def __init__(self, module: nn.Module, compute: Callable[[Any], Losses], capture: Capture) -> None:
        self._module, self._compute, self._capture = module, compute, capture
        self._graphs: dict[tuple[Any, ...], StepGraph] = {}
        self.given_up = False

    def __call__(self, batch: Any) -> Losses | None:
        """Compute the gradients of a batch and return its losses; None, and nothing is done, without a graph."""
        if self.given_up:
            return None
        tensors = (getattr(batch, field.name) for field in fields(batch))
        shapes = tuple((tuple(tensor.shape), tensor.dtype) for tensor in tensors)
        if shapes in self._graphs:
            return self._graphs[shapes].run(batch)
        return self._first(shapes, batch) if len(self._graphs) < MOST_SHAPES else None

    def _first(self, shapes: tuple[Any, ...], batch: Any) -> Losses | None:
        """The first step of a shape: captured, run, and compared with the step without a graph."""
        buffers = [buffer.clone() for buffer in self._module.buffers()]
        try:
            graph = StepGraph(self._module, self._compute, self._capture, batch)
            found, length = graph.run(batch), gradient_length(self._module)
            if math.isclose(length, graph.plain_length, rel_tol=SAME_GRADIENT):
                self._graphs[shapes] = graph
                return found
            problem = f"the gradient of the graph has length {length:.4g} instead of {graph.plain_length:.4g}"
        except RuntimeError as error:
            problem = str(error).partition("\n")[0]
        self.given_up = True
        self._graphs.clear()
        put_back(self._module, buffers)
        logger.warning("CUDA graphs are not used for training: %s", problem)
        return None
