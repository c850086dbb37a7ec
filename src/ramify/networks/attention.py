"""Attention between the cells of a maze, with the maze as a bias."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ramify.networks.blocks import activation
from ramify.networks.config import AttentionConfig, CellsAttentionConfig
from ramify.networks.mazes import BLOCKED, MUD

OPEN_BIAS = 3.0  # of the head that looks most at cells one step away, before training; others have less, down to 0


def offsets(cells: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Differences of x and of y of every pair of cells, target minus source, [n, n] each; n is that of ``cells``."""
    index = torch.arange(height * width, device=cells.device)
    x, y = index % width, index.div(width, rounding_mode="floor")
    return x.unsqueeze(0) - x.unsqueeze(1), y.unsqueeze(0) - y.unsqueeze(1)


class MazeBias(nn.Module):
    """The bias of attention from a cell to another, per attention head; all layers share it.

    It is the sum of a weight for how the two cells lie to each other, the same for all rotations and reflections, and,
    where a step leads from one to the other, a weight for the step and one for its mud.
    """

    def __init__(self, heads: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.geometry = nn.Parameter(torch.zeros((reach + 1) * (reach + 2) // 2, heads))
        self.open = nn.Parameter(torch.linspace(OPEN_BIAS, 0, heads))
        self.mud = nn.Parameter(torch.zeros(heads))

    def forward(self, observations: Tensor) -> Tensor:
        """[B, 24, H, W] -> [2 B, heads, n, n], the same for both views."""
        height, width = observations.shape[2], observations.shape[3]
        x, y = offsets(observations, height, width)
        near, far = torch.minimum(x.abs(), y.abs()), torch.maximum(x.abs(), y.abs())
        near, far = near.clamp(max=self.reach), far.clamp(max=self.reach)
        geometry = self.geometry[far * (far + 1) // 2 + near].permute(2, 0, 1)
        ways = [(x == 0) & (y == 1), (x == 1) & (y == 0), (x == 0) & (y == -1), (x == -1) & (y == 0)]
        steps = torch.stack(ways).to(observations.dtype)  # [4, n, n]: the target lies in this direction
        # At most one direction leads from a cell to another, so these sums only select.
        is_open = self._edges(1 - observations[:, BLOCKED], steps)
        mud = self._edges(observations[:, MUD], steps)
        bias = geometry + is_open * self.open.view(-1, 1, 1) + mud * self.mud.view(-1, 1, 1)
        return bias.unsqueeze(1).expand(-1, 2, -1, -1, -1).flatten(0, 1)

    @staticmethod
    def _edges(values: Tensor, steps: Tensor) -> Tensor:
        """Values of every cell and direction, [B, 4, H, W], at pairs of neighbours, [B, 1, n, n]."""
        ways = values.flatten(2).unsqueeze(3).unbind(1)
        up, right, down, left = (way * step for way, step in zip(ways, steps.unbind(0), strict=True))
        return (up + right + down + left).unsqueeze(1)


class OffsetBias(nn.Module):
    """A learnt bias of attention for every attention head and every way in which two cells of a board lie to each
    other, such as a knight's move."""

    places: Tensor

    def __init__(self, heads: int, height: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros((2 * height - 1) * (2 * width - 1), heads))
        x, y = offsets(self.table, height, width)
        self.register_buffer("places", (y + height - 1) * (2 * width - 1) + x + width - 1, persistent=False)

    def forward(self) -> Tensor:
        """[1, heads, n, n]."""
        return self.table[self.places].permute(2, 0, 1).unsqueeze(0)


class AttentionLayer(nn.Module):
    """Attention and a perceptron for each cell, each behind a normalisation and added to what was there."""

    def __init__(self, config: AttentionConfig | CellsAttentionConfig) -> None:
        super().__init__()
        width, self.num_heads = config.width, config.attention_heads
        if width % self.num_heads:
            raise ValueError(f"attention_heads={self.num_heads} must divide width={width}")
        self.size = width // self.num_heads
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.second_norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, config.expansion * width)
        self.second = nn.Linear(config.expansion * width, width)
        self.act = activation(config.activation)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Cells [R, n, width], bias [R, heads, n, n] or [1, heads, n, n]."""
        projected = self.project(self.norm(x))
        split = projected.reshape(-1, x.shape[1], 3, self.num_heads, self.size).permute(2, 0, 3, 1, 4)
        query, key, value = split.unbind(0)
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = x + self.attended(found.transpose(1, 2).flatten(2))
        return cast(Tensor, x + self.second(self.act(self.first(self.second_norm(x)))))
