"""Heads over encoded cells: an action is encoded by what it does, so that equal outcomes have equal outputs.

Rows are views: an observation, then the same position as the other player sees it (``mazes.views``). Each player's
outputs come from its own view by the same weights, so exchanging the players exchanges the outputs.
"""

from __future__ import annotations

import dataclasses
from typing import cast

import torch
from torch import Tensor, nn

from ramify.networks.blocks import activation, pool
from ramify.networks.config import CellsConfig, NetworkConfig
from ramify.networks.heads import CHEESE_CLASSES, ValueHeads, check_heads, scaled
from ramify.networks.layouts import Spec
from ramify.networks.mazes import EDGE, OTHER, OWN, Mover, at_cells, both, cheese_left, mover


def joined_views(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """Outputs of views, [2 B, ...], as outputs in the viewer's order.

    Outputs of a player become [B, 2, ...]. What describes both players in one is averaged over the two views, with
    the players exchanged in the second.
    """
    outputs = {}
    for name, x in found.items():
        pair = both(x)
        if name == "score":  # classes of a difference, which changes its sign
            outputs[name] = (pair[:, 0] + pair[:, 1].flip(1)) / 2
        elif name == "payoffs":  # the viewer's action first
            outputs[name] = torch.stack([pair[:, 0], pair[:, 1].transpose(1, 2)], dim=1)
        elif name == "cheese":
            own, other, shared, stays = pair[:, 1].unbind(1)
            outputs[name] = (pair[:, 0] + torch.stack([other, own, shared, stays], dim=1)) / 2
        else:
            outputs[name] = pair
    return outputs


def view_values(inputs: int, spec: Spec, config: NetworkConfig, payoffs: bool = True) -> ValueHeads:
    """Value heads for one view: they predict for its viewer alone."""
    return ValueHeads(inputs, dataclasses.replace(spec, players=1), config, payoffs)


class Actions(nn.Module):
    """Encodings of a player's actions: of the destination and, unless ``transition`` is none, of the way there."""

    def __init__(self, channels: int, transition: str) -> None:
        super().__init__()
        self.transition = transition
        self.size = {"none": channels, "concat": 2 * channels + EDGE}.get(transition, channels + EDGE)

    def forward(self, encoded: Tensor, moving: Mover, token: Tensor) -> Tensor:
        """[R, C, H, W] and the player's token [R, C] -> [R, 5, size]."""
        there = at_cells(encoded, moving.destinations)
        origin = token.unsqueeze(1).expand_as(there)
        if self.transition == "none":
            return there
        if self.transition == "concat":
            return torch.cat([there, origin, moving.edges], dim=2)
        return torch.cat([there + origin if self.transition == "add" else there - origin, moving.edges], dim=2)


class ActionPolicy(nn.Module):
    """Logits of encoded actions. The probability of an outcome does not grow with the number of its actions."""

    def __init__(self, actions: int, context: int, config: CellsConfig) -> None:
        super().__init__()
        self.action = nn.Linear(actions, config.policy_hidden, bias=False)
        self.context = nn.Linear(context, config.policy_hidden)
        self.out = nn.Linear(config.policy_hidden, 1)
        self.act = activation(config.activation)

    def forward(self, actions: Tensor, context: Tensor, log_count: Tensor) -> Tensor:
        hidden = self.act(self.action(actions) + self.context(context).unsqueeze(1))
        return cast(Tensor, self.out(hidden).squeeze(2) - log_count)


class PayoffHead(nn.Module):
    """Expected returns of the viewer for every pair of actions, its own first, from their encodings."""

    def __init__(self, actions: int, context: int, config: CellsConfig) -> None:
        super().__init__()
        self.config = config
        self.own = nn.Linear(actions, config.policy_hidden, bias=False)
        self.other = nn.Linear(actions, config.policy_hidden, bias=False)
        self.context = nn.Linear(context, config.policy_hidden)
        self.out = nn.Linear(config.policy_hidden, 1)
        self.act = activation(config.activation)

    def forward(self, own: Tensor, other: Tensor, context: Tensor) -> Tensor:
        rows = (self.own(own) + self.context(context).unsqueeze(1)).unsqueeze(2)
        hidden = self.act(rows + self.other(other).unsqueeze(1))
        return scaled(self.out(hidden).squeeze(3), self.config)


class CellHeads(nn.Module):
    """Policy, values and auxiliary heads of a network that encodes cells."""

    def __init__(self, channels: int, spec: Spec, config: CellsConfig) -> None:
        super().__init__()
        check_heads(config, spec, ("ownership",))
        pooled = 3 * config.value_channels
        context = pooled + 2 * channels
        self.planes = nn.Conv2d(channels, config.value_channels, 1)
        self.token = nn.Linear(channels + pooled + 2, channels) if config.player_tokens == "decoupled" else None
        self.actions = Actions(channels, config.transition)
        self.policy = ActionPolicy(self.actions.size, context, config)
        self.value = view_values(context, spec, config, payoffs=False)
        self.payoffs = PayoffHead(self.actions.size, context, config) if "payoffs" in config.heads else None
        self.cheese = nn.Conv2d(channels, CHEESE_CLASSES, 1) if "cheese" in config.heads else None
        self.remaining = config.value_unit == "remaining"
        self.act = activation(config.activation)

    def forward(self, encoded: Tensor, planes: Tensor, heads: bool) -> dict[str, Tensor]:
        """Encoded cells [2 B, C, H, W] and the views' planes -> the outputs of a network."""
        own, other = mover(planes, OWN), mover(planes, OTHER)
        pooled = pool(self.act(self.planes(encoded)))
        token, other_token = self._token(encoded, own, pooled), self._token(encoded, other, pooled)
        context = torch.cat([pooled, token, other_token], dim=1)
        actions = self.actions(encoded, own, token)
        found = {"logits": self.policy(actions, context, own.log_count), **self.value(context, heads)}
        if heads and self.payoffs is not None:
            found["payoffs"] = self.payoffs(actions, self.actions(encoded, other, other_token), context)
        if heads and self.cheese is not None:
            found["cheese"] = self.cheese(encoded).flatten(2)
        if self.remaining:
            left = cheese_left(planes)
            _in_points(found, left)
            if heads:
                found["value_unit"] = left.flatten().clamp(min=1)
        return joined_views(found)

    def _token(self, encoded: Tensor, moving: Mover, pooled: Tensor) -> Tensor:
        """What represents a player, [R, C]."""
        here = at_cells(encoded, moving.cell).squeeze(1)
        if self.token is None:
            return here
        return cast(Tensor, self.act(self.token(torch.cat([here, pooled, moving.numbers], dim=1))))


def _in_points(found: dict[str, Tensor], left: Tensor) -> None:
    """Turn values, payoffs and the squares of errors, in units of the cheese that is left, [R, 1], into points."""
    for name, factor in (("values", left), ("payoffs", left), ("value_error", left.square())):
        if name in found:
            found[name] = found[name] * factor.reshape(-1, *[1] * (found[name].dim() - 1))
