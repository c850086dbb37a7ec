"""A network of attention between the cells of a board."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ramify.networks.attention import AttentionLayer, OffsetBias
from ramify.networks.blocks import ConvNorm, activation, pool_value
from ramify.networks.config import AttentionConfig, Registry
from ramify.networks.heads import POLICIES, ValueHeads, check_heads
from ramify.networks.layouts import Spec
from ramify.networks.modules import GameNetwork, value_inputs


class AttentionNetwork(GameNetwork):
    """Cells are encoded with a learnt vector for their place, attend to each other in several layers, and then feed the
    same heads as a residual tower. Fits one board size.

    In every layer the attention has a learnt bias for how two cells lie to each other, so that the network does not
    have to find lines, diagonals and knight's moves by itself.
    """

    config: AttentionConfig
    decides_by_values = False

    def __init__(self, config: AttentionConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        check_heads(config, spec, ("ownership", "cheese"))
        if len(spec.observation_shape) != 3:
            raise ValueError(
                f"a network of kind {config.kind!r} needs observations of planes, but {spec.game} has "
                f"{list(spec.observation_shape)}: use an mlp, such as mlp:2x256"
            )
        planes, height, width = spec.observation_shape
        self.stem = nn.Linear(planes, config.width)
        self.place = nn.Parameter(torch.randn(height * width, config.width) / math.sqrt(config.width))
        self.biases = nn.ModuleList(OffsetBias(config.attention_heads, height, width) for _ in range(config.layers))
        self.layers = nn.ModuleList(AttentionLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        channels = config.policy_channels or config.width
        self.policy = POLICIES[spec.layout.kind](config.width, channels, spec, config.activation)
        self.value_planes = ConvNorm(config.width, config.value_channels, 1)
        self.value = ValueHeads(value_inputs(config, spec), spec, config)
        self.act = activation(config.activation)

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        height, width = self.spec.observation_shape[1:]
        x = self.stem(observations.flatten(2).transpose(1, 2)) + self.place
        for layer, bias in zip(self.layers, self.biases, strict=True):
            x = layer(x, bias())
        encoded = self.norm(x).transpose(1, 2).reshape(-1, self.config.width, height, width)
        planes = self.act(self.value_planes(encoded))
        seen = planes.flatten(1) if self.config.value_cells else pool_value(planes)
        return {"logits": self.policy(encoded), **self.value(seen, heads)}


Registry.add(AttentionConfig, AttentionNetwork)
