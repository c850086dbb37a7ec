"""The network modules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn

from ramify._core import EvaluatorError
from ramify.networks.blocks import Block, ConvNorm, PoolBlock, SqueezeBlock, activation, pool_value
from ramify.networks.config import (
    AttentionConfig,
    DestinationsConfig,
    MLPConfig,
    MuZeroConfig,
    NetworkConfig,
    Registry,
    ResNetConfig,
)
from ramify.networks.heads import CHEESE_CLASSES, POLICIES, ValueHeads, check_heads, per_player
from ramify.networks.layouts import Spec


class GameNetwork(nn.Module, ABC):
    """A network with its config and the spec of its game.

    ``forward(observations)`` returns a dict: ``logits`` and ``values``, for the viewer alone or for the viewer and the
    other player (``spec.players``), and the auxiliary heads of the config by name, for training. ``heads=False`` omits
    the auxiliary heads.
    """

    decides_by_values = True  # whether forward may take another path for other observations: then it is not traced

    def __init__(self, config: NetworkConfig, spec: Spec) -> None:
        super().__init__()
        self.config, self.spec = config, spec

    @property
    def any_size(self) -> bool:
        """Whether the same weights fit every board size."""
        return False

    @property
    def policy_kind(self) -> str:
        """What the policy head is called in descriptions."""
        return self.spec.layout.kind

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise an EvaluatorError unless observations of this shape can be evaluated."""
        wanted = self.spec.observation_shape
        if shape != wanted and not (self.any_size and shape[:1] == wanted[:1] and len(shape) == len(wanted)):
            raise EvaluatorError(
                f"the network for {self.spec.game} needs observations of shape {list(wanted)}, not {list(shape)}"
            )

    @abstractmethod
    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        """Logits, values and, with ``heads``, the auxiliary heads."""


def residual_blocks(
    config: ResNetConfig | DestinationsConfig | MuZeroConfig, count: int | None = None, by_row: bool = False
) -> nn.ModuleList:
    """The blocks of a residual tower, every ``pool_every``-th with global pooling; ``by_row`` as in ConvNorm."""

    def block(number: int) -> nn.Module:
        if config.pool_every and number % config.pool_every == 0:
            pooled = config.pool_channels or max(1, config.channels // 4)
            if pooled >= config.channels:
                raise ValueError(f"pool_channels={pooled} must be less than channels={config.channels}")
            return PoolBlock(config.channels, pooled, config.activation, by_row)
        if isinstance(config, ResNetConfig) and config.squeeze_channels:
            return SqueezeBlock(config.channels, config.squeeze_channels, config.activation)
        return Block(config.channels, config.activation, by_row)

    return nn.ModuleList(block(number) for number in range(1, (config.blocks if count is None else count) + 1))


def value_inputs(config: ResNetConfig | AttentionConfig, spec: Spec) -> int:
    """The number of inputs of the value head: every cell of its channels, or what ``pool_value`` makes of them."""
    return config.value_channels * (math.prod(spec.observation_shape[1:]) if config.value_cells else 3)


class ResNet(GameNetwork):
    """A residual tower. Blocks and heads pool over the board, so the weights do not depend on its size."""

    config: ResNetConfig
    decides_by_values = False

    def __init__(self, config: ResNetConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        check_heads(config, spec)
        if len(spec.observation_shape) != 3:
            raise ValueError(
                f"a resnet needs observations of planes, but {spec.game} has {list(spec.observation_shape)}: "
                "use an mlp, such as mlp:2x256"
            )
        if config.mirror and spec.layout.kind != "columns":
            raise ValueError(
                f"mirror=True needs a game with one action per column, such as connect_four: {spec.game} has none"
            )
        channels = config.channels
        self.stem = ConvNorm(spec.observation_shape[0], channels, 3)
        self.blocks = residual_blocks(config)
        self.policy = POLICIES[spec.layout.kind](channels, config.policy_channels or channels, spec, config.activation)
        self.value_planes = ConvNorm(channels, config.value_channels, 1)
        self.value = ValueHeads(value_inputs(config, spec), spec, config)
        self.ownership = nn.Conv2d(channels, 1, 1) if "ownership" in config.heads else None
        self.cheese = nn.Conv2d(channels, CHEESE_CLASSES, 1) if "cheese" in config.heads else None
        self.act = activation(config.activation)

    @property
    def any_size(self) -> bool:
        return self.spec.layout.any_size and not self.config.value_cells

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        if not self.config.mirror:
            return self._outputs(observations, heads)
        found = self._outputs(torch.cat([observations, observations.flip(-1)]), heads)
        return {name: self._mean(name, both) for name, both in found.items()}

    def _mean(self, name: str, both: Tensor) -> Tensor:
        """The mean of an output of boards and of their mirror images; what lies along the columns is turned back."""
        seen, mirrored = both.chunk(2)
        return (seen + (mirrored.flip(-1) if name in ("logits", "ownership") else mirrored)) / 2

    def _outputs(self, observations: Tensor, heads: bool) -> dict[str, Tensor]:
        x = self.act(self.stem(observations))
        for block in self.blocks:
            x = block(x)
        planes = self.act(self.value_planes(x))
        seen = planes.flatten(1) if self.config.value_cells else pool_value(planes)
        outputs = {"logits": self.policy(x), **self.value(seen, heads)}
        if heads and self.ownership is not None:  # [B, H, W]: above 0 where the viewer will own the cell
            outputs["ownership"] = self.ownership(x).squeeze(1)
        if heads and self.cheese is not None:
            outputs["cheese"] = self.cheese(x).flatten(2)
        return outputs


class MLP(GameNetwork):
    """A multi-layer perceptron over the flattened observation. Fits one board size."""

    config: MLPConfig
    decides_by_values = False

    def __init__(self, config: MLPConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        check_heads(config, spec, ("ownership", "cheese"))
        widths = [math.prod(spec.observation_shape), *[config.width] * config.layers]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs), activation(config.activation)]
        self.layers = nn.Sequential(*layers)
        self.policy = nn.Linear(config.width, spec.players * spec.num_actions)
        self.value = ValueHeads(config.width, spec, config)

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        x = self.layers(observations.flatten(1))
        logits = per_player(self.policy(x), self.spec.players)
        return {"logits": logits, **cast(dict[str, Tensor], self.value(x, heads))}


class PlainNetwork(GameNetwork):
    """Any torch module whose ``forward(observations)`` gives ``(logits, values)``, or a dict with at least these."""

    def __init__(self, config: NetworkConfig, spec: Spec, network: nn.Module) -> None:
        super().__init__(config, spec)
        self.network = network

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        del heads  # the module gives what it has; callers that want fewer heads leave the others
        return outputs_by_name(self.network, self.network(observations))


def outputs_by_name(network: nn.Module, found: Any) -> dict[str, Tensor]:
    """What any torch module gave, as a dict with at least logits and values; EvaluatorError if it has neither form."""
    if isinstance(found, tuple | list) and len(found) == 2:
        return {"logits": found[0], "values": found[1]}
    if not isinstance(found, dict) or not {"logits", "values"} <= found.keys():
        given = f"a dict with {', '.join(map(str, found))}" if isinstance(found, dict) else type(found).__name__
        raise EvaluatorError(
            f"{type(network).__name__}.forward has to give (logits, values), or a dict with both, not {given}"
        )
    return found


Registry.add(ResNetConfig, ResNet)
Registry.add(MLPConfig, MLP)


class Inference(nn.Module):
    """Logits and values as a tuple, from any network that returns (logits, values) or a dict with them.

    With ``errors``, values are [B, players, 2]: each is followed by its expected squared error, the head value_error.
    """

    def __init__(self, network: nn.Module, errors: bool = False) -> None:
        super().__init__()
        self.network, self.errors = network, errors
        if errors and not (isinstance(network, GameNetwork) and "value_error" in network.config.heads):
            raise ValueError("errors=True needs a network with the head value_error")

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        network = self.network
        own = isinstance(network, GameNetwork)
        found = outputs_by_name(network, network(observations, heads=self.errors) if own else network(observations))
        if not self.errors:
            return found["logits"], found["values"]
        both = torch.stack([found["values"], found["value_error"]], dim=-1)
        return found["logits"], both.unsqueeze(1) if both.dim() == 2 else both
