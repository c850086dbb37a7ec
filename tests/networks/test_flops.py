"""The cost of an evaluation, against sums by hand."""

from __future__ import annotations

import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.networks import CellsAttentionConfig, ResNetConfig


def test_a_perceptron() -> None:
    game = rf.make("hex", size=5)
    module = networks.make(game, {"kind": "mlp", "layers": 2, "width": 30, "value_hidden": 8, "heads": ["score"]})
    weights = 75 * 30 + 30 * 30 + 30 * 25 + 30 * 8 + 8  # the score head is for training only
    assert networks.flops(module) == 2 * weights
    assert networks.flops(torch.nn.Sequential(torch.nn.Flatten(1), Both()), game) == 2 * 75 * 26


class Both(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.policy, self.value = torch.nn.Linear(75, 25), torch.nn.Linear(75, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.policy(x), self.value(x).squeeze(1)


def test_blocks_cost_as_much_as_the_board_is_large() -> None:
    """Padding counts: a convolution is computed at every cell."""
    cost = {}
    for size, blocks in ((5, 0), (5, 1), (9, 0), (9, 1)):
        config = ResNetConfig(blocks=blocks, channels=16, pool_every=0)
        cost[size, blocks] = networks.flops(networks.make(rf.make("hex", size=size), config))
    for size in (5, 9):
        assert cost[size, 1] - cost[size, 0] == 2 * 2 * size * size * 9 * 16 * 16


def test_attention_is_counted() -> None:
    game, cost = rf.make("pyrat", width=6, height=5, cheese=4), []
    for layers in (1, 2):
        config = CellsAttentionConfig(layers=layers, width=16, attention_heads=2, expansion=3)
        cost.append(networks.flops(networks.make(game, config)))
    cells, width = 30, 16
    linear = cells * (3 + 1 + 3 + 3) * width * width  # projections, what was attended, and the perceptron
    attention = 2 * cells * cells * width  # products of queries and keys, and sums of values
    assert cost[1] - cost[0] == 2 * 2 * (linear + attention)  # of two views


def test_other_sizes() -> None:
    module = networks.make(rf.make("hex", size=5), "1x8")
    other = rf.make("hex", size=7)
    assert networks.flops(module, other) == networks.flops(networks.make(other, "1x8")) > networks.flops(module)
    with pytest.raises(rf.EvaluatorError, match="needs observations of shape"):
        networks.flops(networks.make(rf.make("hex", size=5), "mlp:1x8"), other)
    with pytest.raises(ValueError, match="game is required"):
        networks.flops(torch.nn.Linear(3, 3))


def test_descriptions_show_it() -> None:
    module = networks.make(rf.make("hex", size=7), "6x64")
    assert networks.flops(module) == 42_771_072
    assert "42.8 million floating-point operations per evaluation" in networks.describe(module)
