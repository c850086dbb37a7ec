"""Networks in files: weights as safetensors, with everything needed to build the network again inside.

Beside ``NAME.safetensors`` lies ``NAME.json`` with the same description, for people and other programs. The file with
the weights is complete without it, and is replaced in one go: a crash leaves the old network or the new one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from ramify.games import Game
from ramify.games import make as make_game
from ramify.networks.build import make, network_id
from ramify.networks.config import config_of
from ramify.networks.modules import GameNetwork
from ramify.search.files import write_atomically

FORMAT = 1
KEY = "ramify"  # in the file's metadata: the description, as JSON


def description(module: GameNetwork) -> dict[str, Any]:
    """The network as plain data, less its weights."""
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
    """The file of the weights: the path, with its ending where it has none."""
    path = Path(path)
    return path if path.suffix == ".safetensors" else path.with_name(path.name + ".safetensors")


def save(path: str | os.PathLike[str], module: GameNetwork) -> Path:
    """Write a network; returns the file of its weights. An existing one is replaced."""
    if not isinstance(module, GameNetwork):
        raise TypeError(f"only networks made by ramify.networks can be saved, not {type(module).__name__}")
    facts = description(module)
    try:
        text = json.dumps(facts, indent=2, sort_keys=True)
    except TypeError as error:
        raise ValueError(f"the parameters of {module.spec.game} cannot be written as JSON: {error}") from None
    state = {name: weight.detach().cpu().contiguous() for name, weight in module.state_dict().items()}
    file = weights_path(path)
    write_atomically(file, to_bytes(state, {KEY: text}))
    write_atomically(file.with_suffix(".json"), (text + "\n").encode())
    return file


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Description and weights of a file."""
    file = Path(path) if Path(path).is_file() else weights_path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no network {file}")
    try:
        with safe_open(file, framework="pt", device="cpu") as content:
            text = (content.metadata() or {}).get(KEY)
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{file} is damaged, or no network: {error}") from None
    if text is None:
        raise ValueError(f"{file} was not written by ramify.networks.save: it does not say what network it is")
    facts: dict[str, Any] = json.loads(text)
    if facts.get("format") != FORMAT:
        raise ValueError(f"{file} has format {facts.get('format')}; this version of ramify reads {FORMAT}")
    return facts, weights


def load(path: str | os.PathLike[str], game: Game | None = None) -> GameNetwork:
    """The network of a file, in evaluation mode.

    ``game``: the same game with other parameters (another size of board), where the weights fit it.
    """
    facts, weights = read(path)
    if game is None:
        game = make_game(facts["game"], **facts["params"])
    elif game.name != facts["game"]:
        raise ValueError(f"{weights_path(path)} is a network for {facts['game']}, not for {game.name}")
    module = make(game, config_of(facts["network"]))
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{weights_path(path)} does not fit {game}: {error}") from None
    if network_id(module) != facts["network_id"]:
        raise ValueError(f"{weights_path(path)} is damaged: its checksum is not that of its weights")
    return module.eval()
