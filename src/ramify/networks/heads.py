"""Policy, value and auxiliary heads."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from ramify.networks.blocks import ConvNorm, activation, largest, pool
from ramify.networks.config import NetworkConfig
from ramify.networks.layouts import Spec

CHEESE_CLASSES = 4  # of the cheese head: the viewer collects it, the other player does, both do, it stays


def per_player(x: Tensor, players: int) -> Tensor:
    """[B, players * n] -> [B, n] of the viewer alone, or [B, 2, n]."""
    return x if players == 1 else x.view(x.shape[0], players, -1)


class CellsPolicy(nn.Module):
    """Logits of every cell, then of actions without a cell. Features pooled over the board bias all cells."""

    def __init__(self, channels: int, width: int, spec: Spec, act: str) -> None:
        super().__init__()
        self.players, self.planes, self.extra = spec.players, spec.layout.planes, spec.layout.extra or 0
        self.local = ConvNorm(channels, width, 1)
        self.pooled = ConvNorm(channels, width, 1)
        self.tell = nn.Linear(3 * width, width, bias=False)
        self.out = nn.Conv2d(width, self.players * self.planes, 1)
        self.others = nn.Linear(3 * width, self.players * self.extra) if self.extra else None
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        summary = pool(self.act(self.pooled(x)))
        cells = self.out(self.act(self.local(x) + self.tell(summary)[:, :, None, None]))
        # [B, players * planes, H, W] -> [B, players, H, W, planes]: planes of one cell lie side by side.
        logits = cells.unflatten(1, (self.players, self.planes)).permute(0, 1, 3, 4, 2).flatten(2)
        if self.others is not None:
            logits = torch.cat([logits, self.others(summary).unflatten(1, (self.players, self.extra))], dim=2)
        return cast(Tensor, logits.squeeze(1) if self.players == 1 else logits)


class ColumnsPolicy(nn.Module):
    """A logit per column, from the mean and the maximum of its cells."""

    def __init__(self, channels: int, width: int, spec: Spec, act: str) -> None:
        super().__init__()
        self.players = spec.players
        self.local = ConvNorm(channels, width, 1)
        self.out = nn.Conv1d(2 * width, self.players, 1)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        cells = self.act(self.local(x))
        logits = self.out(torch.cat([cells.mean(dim=2), largest(cells, dim=2)], dim=1))
        return cast(Tensor, logits.squeeze(1) if self.players == 1 else logits)


class PooledPolicy(nn.Module):
    """Logits of a few actions, from features pooled over the board."""

    def __init__(self, channels: int, width: int, spec: Spec, act: str) -> None:
        super().__init__()
        self.players = spec.players
        self.local = ConvNorm(channels, width, 1)
        self.hidden = nn.Linear(3 * width, width)
        self.out = nn.Linear(width, spec.players * spec.num_actions)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.act(self.hidden(pool(self.act(self.local(x)))))
        return per_player(self.out(hidden), self.players)


class DensePolicy(nn.Module):
    """A fully connected policy head, for actions without a known location. Fits one board size."""

    WIDTH = 4  # planes kept: the last layer has this times cells times actions weights

    def __init__(self, channels: int, width: int, spec: Spec, act: str) -> None:
        super().__init__()
        self.players = spec.players
        cells = spec.observation_shape[1] * spec.observation_shape[2]
        self.local = ConvNorm(channels, min(width, self.WIDTH), 1)
        self.out = nn.Linear(min(width, self.WIDTH) * cells, spec.players * spec.num_actions)
        self.act = activation(act)

    def forward(self, x: Tensor) -> Tensor:
        return per_player(self.out(self.act(self.local(x)).flatten(1)), self.players)


POLICIES: dict[str, type[nn.Module]] = {
    "cells": CellsPolicy,
    "columns": ColumnsPolicy,
    "pooled": PooledPolicy,
    "dense": DensePolicy,
}


def scaled(raw: Tensor, config: NetworkConfig) -> Tensor:
    """Expected returns from the output of a layer: within the value's range, if it has one."""
    return (raw if config.value == "linear" else raw.tanh()) * config.value_scale


def check_heads(config: NetworkConfig, spec: Spec, impossible: tuple[str, ...] = ()) -> None:
    """Raise a ValueError for a head that the network (``impossible``) or the game cannot have."""
    for name in config.heads:
        if name in impossible:
            others = ",".join(head for head in config.heads if head not in impossible)
            raise ValueError(
                f"a network of kind {config.kind!r} cannot have the head {name!r}: use network.heads=[{others}]"
            )
        if name in ("payoffs", "final_score") and spec.players == 1:
            raise ValueError(f"the head {name!r} needs a game in which both players act at once, not {spec.game}")
        if name == "cheese" and spec.game != "pyrat":
            raise ValueError(f"the head {name!r} is for pyrat, not for {spec.game}")


class ValueHeads(nn.Module):
    """Values and auxiliary outputs, from one feature vector per position.

    values [B] or [B, 2]; wdl: logits of win, draw, loss, [B, 3] or [B, 2, 3]; score: logits of the classes of (viewer's
    score - other's) at the end, [B, score_bins]; value_error: expected square of the value's error, as values;
    final_score: logits of the classes of each player's score at the end, [B, 2, final_score_bins]; payoffs: expected
    returns for each pair of actions, [B, 2, num_actions, num_actions], where ``payoffs`` is not computed elsewhere.
    """

    full_precision = True  # small, and values near 1 need more digits than bfloat16 has

    def __init__(self, inputs: int, spec: Spec, config: NetworkConfig, payoffs: bool = True) -> None:
        super().__init__()
        self.players, self.actions, self.config = spec.players, spec.num_actions, config
        self.hidden = nn.Linear(inputs, config.value_hidden)
        self.act = activation(config.activation)
        sizes: dict[str, int] = {
            "wdl": 3 * spec.players,
            "score": config.score_bins,
            "value_error": spec.players,
            "final_score": config.final_score_bins * spec.players,
            "payoffs": spec.num_actions**2 * spec.players,
        }
        here = {str(head) for head in config.heads if payoffs or head != "payoffs"}
        wanted = {head: size for head, size in sizes.items() if head in here}
        if config.value == "wdl":
            wanted["wdl"] = sizes["wdl"]
        else:
            wanted["value"] = spec.players
        self.outs = nn.ModuleDict({name: nn.Linear(config.value_hidden, size) for name, size in sorted(wanted.items())})

    def forward(self, x: Tensor, heads: bool) -> dict[str, Tensor]:
        hidden = self.act(self.hidden(x.to(self.hidden.weight.dtype)))
        source = "wdl" if self.config.value == "wdl" else "value"
        found = {name: self.outs[name](hidden) for name in self.outs if heads or name == source}
        for name in ("wdl", "final_score"):
            if name in found:
                found[name] = per_player(found[name], self.players)
        return {"values": self._values(found), **{name: self._shaped(name, found[name]) for name in found if heads}}

    def _values(self, found: dict[str, Tensor]) -> Tensor:
        if self.config.value == "wdl":
            chances = found["wdl"].softmax(dim=-1)
            return (chances[..., 0] - chances[..., 2]) * self.config.value_scale
        raw = found.pop("value")
        return scaled(raw.squeeze(1) if self.players == 1 else raw, self.config)

    def _shaped(self, name: str, x: Tensor) -> Tensor:
        if name == "payoffs":
            x = per_player(x, self.players)
            return scaled(x.reshape(*x.shape[:-1], self.actions, self.actions), self.config)
        if name != "value_error":
            return x
        return nn.functional.softplus(x.squeeze(1) if self.players == 1 else x)
