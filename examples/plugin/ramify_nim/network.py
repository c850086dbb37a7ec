"""A network for Nim: one hidden layer."""

from __future__ import annotations

import math

import torch

from ramify.networks import NetworkConfig, Spec


class NimConfig(NetworkConfig):
    kind: str = "nim"
    width: int = 32


class NimNetwork(torch.nn.Module):
    def __init__(self, config: NimConfig, spec: Spec) -> None:
        super().__init__()
        self.body = torch.nn.Linear(math.prod(spec.observation_shape), config.width)
        self.policy = torch.nn.Linear(config.width, spec.num_actions)
        self.value = torch.nn.Linear(config.width, 1)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.body(observations.flatten(1)))
        return self.policy(hidden), torch.tanh(self.value(hidden)).squeeze(1)


KIND = (NimConfig, NimNetwork)
