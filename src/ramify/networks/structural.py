"""PyRat networks with the game's symmetries in their structure; docs/methods/networks.md derives them."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from ramify.networks import mazes
from ramify.networks.attention import AttentionLayer, MazeBias
from ramify.networks.blocks import ConvNorm, activation, side_offset
from ramify.networks.cell_heads import CellHeads, joined_views, view_values
from ramify.networks.config import (
    CellsAttentionConfig,
    CellsConfig,
    DestinationsConfig,
    Registry,
    SymmetricMLPConfig,
)
from ramify.networks.heads import check_heads
from ramify.networks.layouts import Spec
from ramify.networks.modules import GameNetwork, residual_blocks


class SymmetricMLP(GameNetwork):
    """A multi-layer perceptron over the flattened planes, with the same weights for both players. Fits one board size.

    The first layer is the sum of what is common to the views, what belongs to the viewer and what belongs to the other
    player, so that the largest part, the maze, is computed once for both.
    """

    config: SymmetricMLPConfig
    decides_by_values = False

    def __init__(self, config: SymmetricMLPConfig, spec: Spec) -> None:
        mazes.check_game(config.kind, spec)
        super().__init__(config, spec)
        check_heads(config, spec, ("ownership", "cheese"))
        cells = math.prod(spec.observation_shape[1:])
        self.maze = nn.Linear(11 * cells + 3, config.width)
        self.own = nn.Linear(3 * cells + 2, config.width, bias=False)
        self.other = nn.Linear(3 * cells + 2, config.width, bias=False)
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(config.layers - 1))
        self.policy = nn.Linear(config.width, spec.num_actions)
        self.value = view_values(config.width, spec, config)
        self.act = activation(config.activation)

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        cells, numbers = observations.flatten(2), mazes.cell_numbers(observations)
        maze = torch.cat([cells[:, 2:11].flatten(1), cells[:, 22:].flatten(1), numbers[:, 4:]], dim=1)
        ways = [cells[:, :2], cells[:, 18:20], cells[:, 20:22]]  # of each player
        players = torch.cat([*ways, numbers[:, :4].reshape(-1, 2, 2).transpose(1, 2)], dim=2)
        x = self.maze(maze).unsqueeze(1) + self.own(players) + self.other(players.flip(1))
        x = self.act(x).flatten(0, 1)
        for layer in self.layers:
            x = self.act(layer(x))
        return joined_views({"logits": self.policy(x), **self.value(x, heads)})


class CellNetwork(GameNetwork):
    """A network that encodes the cells of both players' views with the same weights. Any board size."""

    decides_by_values = False
    order: Tensor

    def __init__(self, config: CellsConfig, spec: Spec) -> None:
        mazes.check_game(config.kind, spec)
        super().__init__(config, spec)
        self.register_buffer("order", torch.tensor(mazes.EXCHANGED), persistent=False)

    @property
    def any_size(self) -> bool:
        return True

    @property
    def policy_kind(self) -> str:
        return "destinations"


class Destinations(CellNetwork):
    """A residual tower that encodes cells; actions are encoded by the cells that they lead to."""

    config: DestinationsConfig

    def __init__(self, config: DestinationsConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.stem = ConvNorm(spec.observation_shape[0], config.channels, 3)
        self.blocks = residual_blocks(config)
        self.heads = CellHeads(config.channels, spec, config)
        self.act = activation(config.activation)

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        planes = mazes.views(observations, self.order)
        x = self.act(self.stem(planes))
        for block in self.blocks:
            x = block(x)
        return cast(dict[str, Tensor], self.heads(x, planes, heads))


class CellsAttention(CellNetwork):
    """Attention over cells; the maze is a bias of the attention, and no direction is told apart.

    What a cell is told about itself and its pair with another cell stays the same when the board is rotated or
    reflected, so the outputs rotate with the board.
    """

    config: CellsAttentionConfig

    def __init__(self, config: CellsAttentionConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        # Per cell: viewer, other player, cheese, blocked ways, mud around and the ways to the cheese; then the numbers
        # and the size of the board.
        self.stem = nn.Linear(5 + mazes.NUM_PATHS + mazes.NUM_NUMBERS + 1, config.width)
        self.bias = MazeBias(config.attention_heads, config.reach)
        self.layers = nn.ModuleList(AttentionLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.heads = CellHeads(config.width, spec, config)

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        planes = mazes.views(observations, self.order)
        height, width = planes.shape[2], planes.shape[3]
        around = [planes[:, part].sum(dim=1, keepdim=True) for part in (mazes.BLOCKED, mazes.MUD)]
        size = torch.full_like(around[0], side_offset(planes))
        cells = torch.cat([planes[:, :3], *around, planes[:, mazes.PATHS], planes[:, mazes.NUMBERS], size], dim=1)
        x = self.stem(cells.flatten(2).transpose(1, 2))
        bias = self.bias(observations)
        for layer in self.layers:
            x = layer(x, bias)
        encoded = self.norm(x).transpose(1, 2).reshape(-1, self.config.width, height, width)
        return cast(dict[str, Tensor], self.heads(encoded, planes, heads))


Registry.add(SymmetricMLPConfig, SymmetricMLP)
Registry.add(DestinationsConfig, Destinations)
Registry.add(CellsAttentionConfig, CellsAttention)
