"""Learned models (MuZero): representation, dynamics and prediction of latent states."""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from ramify.networks.blocks import ConvNorm, activation, pool
from ramify.networks.categorical import expanded, mean_of
from ramify.networks.config import LearnedConfig, MuZeroConfig, MuZeroMLPConfig, Registry
from ramify.networks.heads import POLICIES, per_player, scaled
from ramify.networks.layouts import Spec
from ramify.networks.modules import GameNetwork, residual_blocks


def rescaled(latents: Tensor) -> Tensor:
    """Latent states with the least number 0 and the greatest 1 in each, so that all of them are on one scale."""
    flat = latents.flatten(1)
    low, high = flat.amin(dim=1, keepdim=True), flat.amax(dim=1, keepdim=True)
    return ((flat - low) / (high - low).clamp(min=1e-5)).view_as(latents)


class NumberHead(nn.Module):
    """A value or a reward, of each player that the model speaks of, from one vector per row.

    Gives the numbers, [B] or [B, 2], and with ``support`` the logits of their distributions, [B, bins] or [B, 2, bins];
    with ``value: wdl`` these are the logits of the chances of 1, 0 and -1 (times ``value_scale``).
    """

    full_precision = True  # small, and values near 1 need more digits than bfloat16 has

    def __init__(self, inputs: int, spec: Spec, config: LearnedConfig) -> None:
        super().__init__()
        self.players, self.config, self.wdl = spec.players, config, config.value == "wdl"
        self.bins = 3 if self.wdl else 2 * config.support + 1
        self.hidden = nn.Linear(inputs, config.value_hidden)
        self.act = activation(config.activation)
        self.out = nn.Linear(config.value_hidden, spec.players * self.bins)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        raw = per_player(self.out(self.act(self.hidden(x.to(self.hidden.weight.dtype)))), self.players)
        if self.wdl:
            chances = raw.softmax(dim=-1)
            return (chances[..., 0] - chances[..., 2]) * self.config.value_scale, raw
        if self.bins > 1:
            return mean_of(raw), raw
        return scaled(raw.squeeze(-1), self.config), None


class LearnedModel(GameNetwork):
    """A network that can be searched in place of the rules of its game.

    ``forward`` is the evaluation of real positions: the prediction of what they are encoded to. Latent states belong to
    the player to act: in games in turn the dynamics also turns the view. Values and rewards are those of the acting
    player, and of the player who acted; where both act, of player 0 and player 1.
    """

    config: LearnedConfig
    decides_by_values = False

    def __init__(self, config: LearnedConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        if config.value == "wdl" and config.support:
            raise ValueError("value='wdl' needs support=0: both say how values are distributed")
        if config.value == "wdl" and not spec.unit_returns:
            raise ValueError(
                f"value='wdl' needs returns between -1 and 1, which {spec.game} does not say it has: a game says so by "
                "returns_range = (-1, 1)"
            )

    @property
    def acting(self) -> str:
        """Who acts inside the model: alternating, single or both."""
        return self.config.acting

    @property
    def reach(self) -> float:
        """The largest value or reward that the model can say."""
        if self.config.support:
            return float(expanded(torch.tensor(float(self.config.support))))
        return math.inf if self.config.value == "linear" else self.config.value_scale

    @property
    @abstractmethod
    def latent_shape(self) -> tuple[int, ...]:
        """The shape of a latent state."""

    @abstractmethod
    def representation(self, observations: Tensor) -> Tensor:
        """Latent states of real positions."""

    @abstractmethod
    def dynamics(self, latents: Tensor, actions: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The next latent states after actions [B, players], with ``rewards`` and, if there are any, their
        ``reward_logits``."""

    @abstractmethod
    def prediction(self, latents: Tensor) -> dict[str, Tensor]:
        """``logits``, ``values`` and, if there are any, ``value_logits`` of latent states."""

    def forward(self, observations: Tensor, heads: bool = True) -> dict[str, Tensor]:
        found = self.prediction(self.representation(observations))
        return found if heads else {name: found[name] for name in ("logits", "values")}

    def projected(self, latents: Tensor, predicted: bool) -> Tensor:
        """Latent states as the consistency loss compares them; ``predicted``: those that came from the dynamics."""
        found: Tensor = self.project(latents.flatten(1))
        return cast(Tensor, self.predict(found)) if predicted else found

    def _make_projections(self) -> None:
        width, size = self.config.projection, math.prod(self.latent_shape)
        if width:
            self.project, self.predict = projection(size, width), projection(width, width)


def projection(inputs: int, width: int) -> nn.Sequential:
    """Two layers, as the consistency loss has them."""
    return nn.Sequential(nn.Linear(inputs, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width))


def number_outputs(name: str, found: tuple[Tensor, Tensor | None]) -> dict[str, Tensor]:
    """What a NumberHead gives, by name."""
    numbers, logits = found
    return {f"{name}s": numbers} if logits is None else {f"{name}s": numbers, f"{name}_logits": logits}


class ActionPlanes(nn.Module):
    """Actions as planes of the board: [B, players] -> [B, channels, H, W]."""

    def __init__(self, spec: Spec, channels: int) -> None:
        super().__init__()
        self.spec, layout = spec, spec.layout
        _, self.height, self.width = spec.observation_shape
        self.cells, self.extra = self.height * self.width, layout.extra or 0
        self.kind = layout.kind
        each = 1
        if self.kind == "cells" and layout.planes > 1:  # the kind of action at its cell, and a map of its own
            self.embed = nn.Embedding(spec.players * layout.planes, channels)
            self.map = nn.Embedding(spec.players * spec.num_actions, self.cells)
            nn.init.normal_(self.map.weight, std=0.1)
            each = channels + 1
        elif self.kind in ("pooled", "dense"):
            self.embed = nn.Embedding(spec.players * spec.num_actions, channels)
            each = channels
        self.channels = spec.players * (each + (self.extra if self.kind == "cells" else 0))

    def forward(self, actions: Tensor, like: Tensor) -> Tensor:
        planes = [self._player(actions[:, player].long(), player, like) for player in range(self.spec.players)]
        return torch.cat(planes, dim=1)

    def _player(self, actions: Tensor, player: int, like: Tensor) -> Tensor:
        rows, board = len(actions), (self.height, self.width)
        if self.kind == "columns":
            return _one_hot(actions, self.width, like).view(rows, 1, 1, self.width).expand(rows, 1, *board)
        if self.kind != "cells":
            found = self.embed(actions + player * self.spec.num_actions).to(like.dtype)
            return cast(Tensor, found[:, :, None, None].expand(*found.shape, *board))
        per_cell = self.spec.layout.planes
        at = _one_hot(actions // per_cell, self.cells + self.extra, like)
        on_board = at[:, : self.cells].view(rows, 1, *board)
        parts = [on_board]
        if per_cell > 1:
            kinds = self.embed(actions % per_cell + player * per_cell).to(like.dtype)
            mapped = self.map(actions + player * self.spec.num_actions).to(like.dtype)
            parts = [on_board * kinds[:, :, None, None], mapped.view(rows, 1, *board)]
        if self.extra:
            parts.append(at[:, self.cells :, None, None].expand(rows, self.extra, *board))
        return torch.cat(parts, dim=1)


def _one_hot(index: Tensor, size: int, like: Tensor) -> Tensor:
    return torch.zeros((len(index), size), dtype=like.dtype, device=index.device).scatter_(1, index[:, None], 1.0)


class MuZero(LearnedModel):
    """A learned model for boards: latent states are planes of the board, [channels, H, W]."""

    config: MuZeroConfig

    def __init__(self, config: MuZeroConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        if len(spec.observation_shape) != 3:
            raise ValueError(
                f"a muzero network needs observations of planes, but {spec.game} has {list(spec.observation_shape)}: "
                "use a muzero-mlp, such as muzero-mlp:1x128"
            )
        channels, act = config.channels, config.activation
        self.stem = ConvNorm(spec.observation_shape[0], channels, 3)
        self.blocks = residual_blocks(config)
        self.actions = ActionPlanes(spec, config.action_channels)
        self.enter = ConvNorm(channels + self.actions.channels, channels, 3, by_row=True)
        steps = config.blocks if config.dynamics_blocks is None else config.dynamics_blocks
        self.dynamics_blocks = residual_blocks(config, steps, by_row=True)
        self.reward_planes = ConvNorm(channels, config.value_channels, 1)
        self.reward = NumberHead(3 * config.value_channels, spec, config)
        self.policy = POLICIES[spec.layout.kind](channels, config.policy_channels or channels, spec, act)
        self.value_planes = ConvNorm(channels, config.value_channels, 1)
        self.value = NumberHead(3 * config.value_channels, spec, config)
        self.act = activation(act)
        self._make_projections()

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return (self.config.channels, *self.spec.observation_shape[1:])

    def representation(self, observations: Tensor) -> Tensor:
        x = self.act(self.stem(observations))
        for block in self.blocks:
            x = block(x)
        return rescaled(x)

    def dynamics(self, latents: Tensor, actions: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        planes = self.actions(actions, latents)
        x = self.act(latents + self.enter(torch.cat([latents, planes], dim=1)))
        for block in self.dynamics_blocks:
            x = block(x)
        x = rescaled(x)
        return x, number_outputs("reward", self.reward(pool(self.act(self.reward_planes(x)))))

    def prediction(self, latents: Tensor) -> dict[str, Tensor]:
        values = number_outputs("value", self.value(pool(self.act(self.value_planes(latents)))))
        return {"logits": self.policy(latents), **values}


class MuZeroMLP(LearnedModel):
    """A learned model of vectors: latent states have ``config.latent`` numbers."""

    config: MuZeroMLPConfig

    def __init__(self, config: MuZeroMLPConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.encode = self._layers(math.prod(spec.observation_shape), config.latent)
        self.step = self._layers(config.latent + spec.players * spec.num_actions, config.latent)
        self.reward = NumberHead(config.latent, spec, config)
        self.body = self._layers(config.latent, config.width)
        self.policy = nn.Linear(config.width, spec.players * spec.num_actions)
        self.value = NumberHead(config.width, spec, config)
        self.act = activation(config.activation)
        self._make_projections()

    def _layers(self, inputs: int, outputs: int) -> nn.Sequential:
        widths, parts = [inputs, *[self.config.width] * self.config.layers], list[nn.Module]()
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), activation(self.config.activation)]
        return nn.Sequential(*parts, nn.Linear(self.config.width, outputs))

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return (self.config.latent,)

    def representation(self, observations: Tensor) -> Tensor:
        return rescaled(self.encode(observations.flatten(1)))

    def dynamics(self, latents: Tensor, actions: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        chosen = [_one_hot(actions[:, p].long(), self.spec.num_actions, latents) for p in range(self.spec.players)]
        after = rescaled(latents + self.step(torch.cat([latents, *chosen], dim=1)))
        return after, number_outputs("reward", self.reward(after))

    def prediction(self, latents: Tensor) -> dict[str, Tensor]:
        x = self.act(self.body(latents))
        logits = per_player(self.policy(x), self.spec.players)
        return {"logits": logits, **number_outputs("value", self.value(x))}


Registry.add(MuZeroConfig, MuZero)
Registry.add(MuZeroMLPConfig, MuZeroMLP)
