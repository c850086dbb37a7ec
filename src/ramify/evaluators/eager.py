"""Runs a network on a device without graphs and pinned memory, such as Apple's mps: in float32, one batch at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ramify.evaluators.cuda import Device
from ramify.evaluators.outputs import Outputs, check_shapes, joined, parts
from ramify.evaluators.run_config import RunConfig

LARGEST = 1024  # rows of a call; larger batches are split


class EagerRunner:
    """New weights are a new network: batches that were submitted keep the old one."""

    used = ("torch",)

    def __init__(self, live: nn.Module, device: torch.device, settings: RunConfig) -> None:
        if settings.precision == "bf16" or settings.compile:
            raise ValueError(f"on {device} precision must be auto or fp32, and compile must be False")
        self.version = 0
        self._device, self._settings = device, settings
        self._network = self._opened(live)

    def _opened(self, live: nn.Module) -> Device:
        return Device(live, self._device, torch.float32, self._settings.errors).eval().requires_grad_(False)

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        network, device = self._network, self._device
        with torch.inference_mode():
            pieces = [observations[part] for part in parts(len(observations), (LARGEST,))]
            outputs = [network(torch.from_numpy(np.ascontiguousarray(piece)).to(device)) for piece in pieces]
        for piece, (logits, values) in zip(pieces, outputs, strict=True):
            check_shapes(logits.shape, values.shape, len(piece))
        return lambda: joined([(logits.cpu().numpy(), values.cpu().numpy()) for logits, values in outputs])

    def swap(self, live: nn.Module) -> None:
        self._network = self._opened(live)
        self.version += 1
