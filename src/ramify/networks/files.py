"""Network files: safetensors with the weights and a description of the network.

``NAME.json`` next to ``NAME.safetensors`` has the same description, for people and other programs; the file with the
weights is complete without it and is replaced atomically. It contains a checksum of description and weights; files of
earlier versions only have a checksum of the weights in the description.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from ramify.base.files import write_atomically
from ramify.base.settings import setting_text
from ramify.games import Game
from ramify.games import make as make_game
from ramify.games.registry import other_reward
from ramify.networks.build import digest_weights, make, network_id, shapes
from ramify.networks.config import config_of
from ramify.networks.modules import GameNetwork

FORMAT = 1
KEY = "ramify"  # in the file's metadata: the description, as JSON
CHECKSUM = "ramify.checksum"  # and the checksum, in hexadecimal digits
NEEDED = ("network", "game", "params", "network_id")  # of a description, to build the network
Weights = dict[str, torch.Tensor]


def description(module: GameNetwork) -> dict[str, Any]:
    """The description of a network as plain data, without its weights."""
    return {
        "format": FORMAT,
        "network": module.config.model_dump(mode="json"),
        "game": module.spec.game,
        "params": module.spec.params,
        "observation_shape": list(module.spec.observation_shape),
        "num_actions": module.spec.num_actions,
        "parameters": sum(weight.numel() for weight in module.parameters()),
        "network_id": network_id(module),
    }


def weights_path(path: str | os.PathLike[str]) -> Path:
    """The path of the weights, with the suffix added if it is missing."""
    path = Path(path)
    return path if path.suffix == ".safetensors" else path.with_name(path.name + ".safetensors")


def save(path: str | os.PathLike[str], module: GameNetwork, *, half: bool = False) -> Path:
    """Save a network; returns the file of its weights. An existing file is replaced.

    ``half``: weights of layers are rounded to 16 bits, which makes the file half as large. The network that is loaded
    is then another one, with a checksum of its own.
    """
    if not isinstance(module, GameNetwork):
        raise TypeError(f"module must be a network created by ramify.networks, not {type(module).__name__}")
    module = rounded(module) if half else module
    facts = description(module)
    try:
        text = json.dumps(facts, indent=2, sort_keys=True)
    except TypeError as error:
        raise ValueError(f"the parameters of {module.spec.game} cannot be written as JSON: {error}") from None
    state = {name: weight.detach().cpu().contiguous() for name, weight in module.state_dict().items()}
    if half:
        state = {name: weight.half() if is_rounded(weight) else weight for name, weight in state.items()}
    file = weights_path(path)
    write_atomically(file, to_bytes(state, {KEY: text, CHECKSUM: checksum(text, state)}))
    write_atomically(file.with_suffix(".json"), (text + "\n").encode())
    return file


def is_rounded(weight: torch.Tensor) -> bool:
    """Whether half precision rounds a weight: those of layers, but not biases and normalisations, which are few and may
    be beyond its range."""
    return weight.dtype == torch.float32 and weight.dim() >= 2


def rounded(module: GameNetwork) -> GameNetwork:
    """A copy with the weights that half precision can hold, in the types of the original."""
    copied = copy.deepcopy(module).cpu()
    state = {
        name: weight.half().float() if is_rounded(weight) else weight for name, weight in copied.state_dict().items()
    }
    if not all(bool(weight.isfinite().all()) for weight in state.values()):
        raise ValueError("a weight is too large for half precision: save the network without half")
    copied.load_state_dict(state)
    return copied


def checksum(text: str, weights: Weights) -> str:
    """Checksum of a description and the weights: names, types, shapes and every byte."""
    digest = hashlib.sha256(text.encode())
    digest_weights(digest, weights)
    return digest.hexdigest()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Weights]:
    """Description and weights of a file; raises a ValueError if it is damaged."""
    file = Path(path) if Path(path).is_file() else weights_path(path)
    if not file.exists():
        raise FileNotFoundError(f"network file {file} not found")
    metadata, weights = _content(file)
    text = metadata.get(KEY)
    if text is None:
        raise ValueError(f"{file} was not written by ramify.networks.save: it has no description of the network")
    if metadata.get(CHECKSUM) not in (None, checksum(text, weights)):
        raise ValueError(f"{file} is damaged: its checksum does not match its content")
    try:
        facts: dict[str, Any] = json.loads(text)
    except ValueError:
        facts = {}
    if not isinstance(facts, dict) or not {"format", *NEEDED} <= facts.keys():
        raise ValueError(f"{file} is damaged: its description cannot be read")
    if facts["format"] != FORMAT:
        raise ValueError(f"{file} has format {facts['format']}; this version of ramify reads format {FORMAT}")
    return facts, weights


def _content(file: Path) -> tuple[dict[str, str], Weights]:
    """Metadata and tensors of a file of safetensors."""
    try:
        with safe_open(file, framework="pt", device="cpu") as content:
            metadata = content.metadata() or {}
            return metadata, {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{file} is not a network written by ramify.networks.save, or it is damaged: {reason}"
        ) from None


def load(path: str | os.PathLike[str], game: Game | None = None) -> GameNetwork:
    """Load a network from a file, in evaluation mode.

    ``game``: the same game with other parameters, such as another board size, if the weights fit it.
    """
    facts, weights = read(path)
    file = weights_path(path)
    if game is None:
        game = _game_of(facts, file)
    elif game.name != facts["game"]:
        raise ValueError(f"{file} is a network for {facts['game']}, not for {game.name}")
    else:
        _check_reward(facts, game, file)
    try:
        config = config_of(facts["network"])
    except TypeError:
        raise ValueError(f"{file} is damaged: its description cannot be read") from None
    _check_fit(file, game, facts["params"], shapes(game, config), weights)
    module = make(game, config)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{file} does not fit {game}: {error}") from None
    if network_id(module) != facts["network_id"]:
        raise ValueError(f"{file} is damaged: its checksum does not match its weights")
    return module.eval()


def _game_of(facts: dict[str, Any], file: Path) -> Game:
    name, params = facts["game"], facts["params"]
    if not isinstance(name, str) or not isinstance(params, dict):
        raise ValueError(f"{file} is damaged: its description cannot be read")
    try:
        return make_game(name, **params)
    except (TypeError, ValueError) as error:
        way = (
            "" if "--import" in str(error) else "; if a module registers it, import that (--import on the command line)"
        )
        raise ValueError(f"{file} is a network for the game {name}, which is not available: {error}{way}") from None


def _check_reward(facts: dict[str, Any], game: Game, file: Path) -> None:
    """Raise a ValueError if the network was trained for another reward of the game: its values mean something else."""
    trained = facts["params"].get("reward") if isinstance(facts["params"], dict) else None
    if (given := other_reward(game, trained)) is not None:
        raise ValueError(
            f"{file} is a network for {game.name} with reward={trained}, not reward={given}: set this parameter of the "
            f"game (-p reward={trained})"
        )


def _check_fit(
    file: Path, game: Game, made_for: Any, wanted: Mapping[str, tuple[int, ...]] | None, weights: Weights
) -> None:
    """Compare shapes before the network is built, because a description may ask for far more weights than there are.

    ``made_for``: the parameters of the game that the network was made for.
    """
    if wanted is None:
        return
    given = {name: tuple(weight.shape) for name, weight in weights.items()}
    for name in sorted(wanted.keys() | given.keys()):
        if wanted.get(name) != given.get(name):
            there = f"has shape {list(given[name])}" if name in given else "is not there"
            needed = f"it needs {list(wanted[name])}" if name in wanted else "it needs none"
            other = _other_params(game, made_for)
            made = f"it is a network for {other}; " if other else ""
            raise ValueError(f"{file} does not fit {game}: {made}{name} {there}, and for this network {needed}")


def _other_params(game: Game, made_for: Any) -> str:
    """The parameters that a network was made for where the game has others, such as ``cards=5``."""
    if not isinstance(made_for, dict):
        return ""
    differing = [name for name, value in made_for.items() if name in game.params and game.params[name] != value]
    return ", ".join(setting_text(name, made_for[name]) for name in differing)
