"""Building blocks of the networks."""

from __future__ import annotations

import copy
import math
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

# The second part of the pooled features tells boards of other sizes apart from this one (KataGo's constants).
TYPICAL_SIDE = 14.0
Module = TypeVar("Module", bound=nn.Module)


def activation(name: str) -> nn.Module:
    """An activation function by its name in the config."""
    return {"relu": nn.ReLU, "mish": nn.Mish, "silu": nn.SiLU}[name]()


class BatchRenorm(nn.BatchNorm2d):
    """Batch normalisation that computes the same in training as in evaluation (Ioffe 2017, batch renormalisation).

    It is needed where batches come from different boards in turn: each batch would be normalised by the statistics of
    its own board in training, and by those of all boards in evaluation. Outputs are corrected to the running
    statistics, by constants without a gradient; their limits widen after the first batches.
    """

    FIRST, WIDENING = 100, 400  # batches with plain batch normalisation, then until the limits are reached
    MOST_SCALE, MOST_SHIFT = 4.0, 6.0

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        super().__init__(norm.num_features, norm.eps, momentum=0.02)
        self.load_state_dict(norm.state_dict())

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        wide = x.float()
        variance, mean = self.moments(wide)
        deviation = torch.sqrt(variance + self.eps)
        with torch.no_grad():
            usual = torch.sqrt(self.running_var + self.eps)
            share = ((self.num_batches_tracked - self.FIRST) / self.WIDENING).clamp(0, 1)
            most = 1 + share * (self.MOST_SCALE - 1)
            scale = (deviation / usual).clamp(1 / most, most)
            shift = ((mean - self.running_mean) / usual).clamp(-share * self.MOST_SHIFT, share * self.MOST_SHIFT)
            self.running_mean.lerp_(mean, self.momentum or 0.0)
            self.running_var.lerp_(variance, self.momentum or 0.0)
            self.num_batches_tracked += 1
        factor = self.weight * scale / deviation
        offset = self.bias + self.weight * shift - mean * factor
        return torch.addcmul(offset[:, None, None], wide, factor[:, None, None]).to(x.dtype)

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Variance and mean of a batch, by channel."""
        return torch.var_mean(x, dim=(0, 2, 3), correction=0)


def renormalized(module: Module) -> Module:
    """The network, with batch renormalisation in place of batch normalisation. Weights and outputs are the same."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.BatchNorm2d:
                setattr(parent, name, BatchRenorm(child).train(child.training))
    return module


class ConvNorm(nn.Module):
    """A convolution followed by batch normalisation, which is folded into it for evaluation.

    ``by_row``: each row is normalised by itself, as it has to be where a network is applied to its own output: the
    statistics of a batch would be others after every application. This is not folded.
    """

    def __init__(self, inputs: int, outputs: int, size: int, by_row: bool = False) -> None:
        super().__init__()
        self.size = size
        self.conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        self.norm: nn.GroupNorm | nn.BatchNorm2d = nn.GroupNorm(1, outputs) if by_row else nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.norm(self.conv(x)))

    def folded(self) -> nn.Conv2d:
        """The equivalent convolution for evaluation."""
        conv, norm = self.conv, self.norm
        assert isinstance(norm, nn.BatchNorm2d)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        result = nn.Conv2d(conv.in_channels, conv.out_channels, self.size, padding=self.size // 2)
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        assert result.bias is not None
        result.weight.data = (conv.weight.double() * scale[:, None, None, None]).to(conv.weight)
        result.bias.data = (norm.bias.double() - norm.running_mean.double() * scale).to(conv.weight)
        return result


@torch.no_grad()
def folded(module: Module) -> Module:
    """A copy for evaluation: batch normalisations folded into the convolutions before them."""
    module = copy.deepcopy(module).eval().requires_grad_(False)
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if isinstance(child, ConvNorm) and isinstance(child.norm, nn.BatchNorm2d):
                setattr(parent, name, child.folded().eval().requires_grad_(False))
    return module


def side_offset(x: Tensor) -> float:
    """Difference of the board's side from the usual one, in tens of cells."""
    return (math.sqrt(x.shape[2] * x.shape[3]) - TYPICAL_SIDE) / 10


def pool(x: Tensor) -> Tensor:
    """[B, C, H, W] -> [B, 3 C]: the mean, the mean by the size of the board, the maximum."""
    mean = x.mean(dim=(2, 3))
    return torch.cat([mean, mean * side_offset(x), largest(x.flatten(2), dim=2)], dim=1)


def largest(x: Tensor, dim: int) -> Tensor:
    """The maximum along one dimension.

    In training its gradient goes to the place of the maximum. That of amax goes to the places with the same value, and
    torch.compile computes these values again in float32 while the maximum was rounded to bfloat16: then no place has
    it, and the gradient is not a number.
    """
    return x.max(dim=dim).values if x.requires_grad else x.amax(dim=dim)


def pool_value(x: Tensor) -> Tensor:
    """[B, C, H, W] -> [B, 3 C]: the mean, and by the size of the board to the first and second power."""
    mean, offset = x.mean(dim=(2, 3)), side_offset(x)
    return torch.cat([mean, mean * offset, mean * (offset * offset - 0.1)], dim=1)


class Block(nn.Module):
    """A residual block of two convolutions; ``by_row`` as in ConvNorm."""

    def __init__(self, channels: int, act: str, by_row: bool = False) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels, 3, by_row)
        self.second = ConvNorm(channels, channels, 3, by_row)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.act(x + self.second(self.act(self.first(x)))))


class SqueezeBlock(nn.Module):
    """A residual block with squeeze-and-excitation: the mean of the board scales and biases what the block adds."""

    def __init__(self, channels: int, hidden: int, act: str) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels, 3)
        self.second = ConvNorm(channels, channels, 3)
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, 2 * channels)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second(self.act(self.first(x)))
        scale, bias = self.excite(self.act(self.squeeze(inner.mean(dim=(2, 3))))).chunk(2, dim=1)
        inner = inner * scale.sigmoid()[:, :, None, None] + bias[:, :, None, None]
        return cast(Tensor, self.act(x + inner))


class PoolBlock(nn.Module):
    """A residual block with global pooling: some channels are pooled over the board and bias the others."""

    def __init__(self, channels: int, pooled: int, act: str, by_row: bool = False) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels - pooled, 3, by_row)
        self.pooled = ConvNorm(channels, pooled, 3, by_row)
        self.tell = nn.Linear(3 * pooled, channels - pooled, bias=False)
        self.second = ConvNorm(channels - pooled, channels, 3, by_row)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        bias = self.tell(pool(self.act(self.pooled(x))))
        inner = self.act(self.first(x) + bias[:, :, None, None])
        return cast(Tensor, self.act(x + self.second(inner)))
