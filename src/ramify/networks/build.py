"""Creating and describing networks."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from ramify.games import Game
from ramify.games.registry import checked_game
from ramify.networks.attention import AttentionLayer
from ramify.networks.blocks import Block, PoolBlock, SqueezeBlock
from ramify.networks.config import MLPConfig, NetworkConfig, Registry, ResNetConfig, config_of
from ramify.networks.flops import flops
from ramify.networks.layouts import Spec, spec_of
from ramify.networks.modules import GameNetwork, PlainNetwork

FINAL_SCALE = 0.1  # of the layers whose outputs are logits and values: a fresh network has hardly an opinion

FINAL = ("policy", "policy.out", "policy.others", "payoffs.out", "ownership", "cheese", "value.out", "reward.out")


def default_config(game: Game) -> NetworkConfig:
    """A small default network: a residual tower for observations of planes, an MLP for everything else."""
    shape = game.observation_shape
    return ResNetConfig(blocks=4) if len(shape) == 3 and min(shape[1:]) >= 3 else MLPConfig()


def make(game: Game, config: str | Mapping[str, Any] | NetworkConfig | None = None, seed: int = 0) -> GameNetwork:
    """Create a network for a game; its initial weights depend only on the seed.

    ``config``: a shorthand ("6x64", "mlp:2x256"), a config, or a mapping of settings. Settings that depend on the game
    are resolved; ``module.config`` has the result.
    """
    checked_game(game, "a network")
    chosen, spec = settled(default_config(game) if config is None else config_of(config), game)
    builder = Registry.get(chosen.kind)[1]
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(seed)
        module = builder(chosen, spec)
        if isinstance(module, GameNetwork):
            initialise(module)  # a plain module keeps the weights that its author gave it
    return complete(module, chosen, spec)


def complete(module: Any, config: NetworkConfig, spec: Spec) -> GameNetwork:
    """What a builder made, with config and spec: a plain torch module is wrapped."""
    if isinstance(module, GameNetwork):
        return module
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        raise TypeError(f"the builder of networks of kind {config.kind!r} has to give a torch module, not {kind}")
    return PlainNetwork(config, spec, module)


def shapes(game: Game, config: NetworkConfig) -> dict[str, tuple[int, ...]] | None:
    """The shape of every weight of such a network, without allocating it.

    None for a custom network that cannot be built without its weights.
    """
    chosen, spec = settled(config, game)
    builder = Registry.get(chosen.kind)[1]
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            module = complete(builder(chosen, spec), chosen, spec)
    except (RuntimeError, NotImplementedError):  # what torch raises where a value is needed that is not there
        return None
    return {name: tuple(weight.shape) for name, weight in module.state_dict().items()}


def settled(config: NetworkConfig, game: Game) -> tuple[NetworkConfig, Spec]:
    """Config and spec with all game-dependent settings resolved."""
    spec, config = spec_of(game), config.settled(game)
    if config.per_player is not None:
        if game.simultaneous and not config.per_player:
            raise ValueError(f"per_player must be True for {game.name}, in which both players act at once")
        spec = dataclasses.replace(spec, players=1 + config.per_player)
    value = ("tanh" if spec.unit_returns else "linear") if config.value == "auto" else config.value
    return config.replace(value=value, per_player=spec.players == 2), spec


@torch.no_grad()
def initialise(module: nn.Module) -> None:
    """Initialise the weights, in the order of the parameters' names."""
    for _, part in sorted(module.named_modules()):
        if isinstance(part, nn.Conv1d | nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    blocks = [part for part in module.modules() if isinstance(part, Block | PoolBlock | SqueezeBlock)]
    for block in blocks:  # what blocks add up to stays of the size of what goes in, however many they are
        block.second.norm.weight.fill_(len(blocks) ** -0.5)
    for block in blocks:
        if isinstance(block, SqueezeBlock):  # starts as a plain block with half the effect
            block.excite.weight.mul_(FINAL_SCALE)
    layers = [part for part in module.modules() if isinstance(part, AttentionLayer)]
    for layer in layers:  # likewise; and attention starts without sharp preferences
        layer.project.weight.mul_(0.5**0.5)
        for part in (layer.attended, layer.second):
            part.weight.mul_((2 * len(layers)) ** -0.5)
    for full_name, part in module.named_modules():
        name = full_name.removeprefix("heads.")
        if name in FINAL or name.startswith("value.outs."):
            for weight in part.parameters(recurse=False):
                weight.mul_(FINAL_SCALE)


def parameter_counts(module: nn.Module) -> dict[str, int]:
    """Number of trainable parameters of each part of a network, by name."""
    counts = {}
    for name, part in module.named_children():
        children = [(f"{name}.{inner}", block) for inner, block in part.named_children()]
        for label, one in children if isinstance(part, nn.ModuleList) else [(name, part)]:
            if count := sum(weight.numel() for weight in one.parameters()):
                counts[label] = count
    return counts


def describe(module: nn.Module) -> str:
    """A printable description of a network with the number of parameters of each part."""
    counts = parameter_counts(module)
    lines = []
    if isinstance(module, GameNetwork):
        spec, config = module.spec, module.config
        size = "any size" if module.any_size else "this size only"
        lines.append(f"{config.kind} for {spec.game} {list(spec.observation_shape)}, {size}")
        lines.append(f"policy {module.policy_kind}, value {config.value}, heads {', '.join(config.heads) or 'none'}")
        lines.append(f"{flops(module) / 1e6:,.3g} million floating-point operations per evaluation")
    width = max([len(name) for name in counts] + [len("parameters")])
    lines += [f"{name:<{width}}  {count:>12,}" for name, count in counts.items()]
    lines.append(f"{'parameters':<{width}}  {sum(weight.numel() for weight in module.parameters()):>12,}")
    return "\n".join(lines)


def network_id(module: nn.Module) -> str:
    """A checksum of everything that determines the network's outputs: its kind, settings and weights."""
    digest = hashlib.sha256()
    if isinstance(module, GameNetwork):
        digest.update(json.dumps([module.spec.game, module.config.identity()], sort_keys=True).encode())
    digest_weights(digest, module.state_dict())
    return digest.hexdigest()[:16]


def digest_weights(digest: hashlib._Hash, weights: Mapping[str, torch.Tensor]) -> None:
    """Add weights to a checksum: names, types, shapes and every byte."""
    for name, weight in sorted(weights.items()):
        array = weight.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {list(array.shape)}\n".encode())
        digest.update(array.reshape(-1).view(torch.uint8).numpy().tobytes())
