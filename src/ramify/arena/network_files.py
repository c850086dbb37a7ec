"""Network files of players: finding them, reading their description, and opening their evaluator."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from ramify.games import Game

ROWS = 8  # every batch on a CPU has so many: ONNX Runtime rounds by the size of the batch, and games would differ
LONGEST = 1 << 26  # bytes of a header that is worth reading


def network_file(name: str) -> Path:
    """The file of a network given by a path, with or without its suffix, or by the name of a shipped network."""
    path = Path(name)
    for candidate in (path, path.with_name(path.name + ".safetensors")):
        if candidate.is_file():
            return candidate
    try:
        from ramify.networks.pretrained import find
    except ImportError:
        raise ValueError(f"network {name!r} not found: no such file") from None
    try:
        return find(name).file
    except ValueError as error:
        raise ValueError(f"network {name!r} not found: no such file, and {error}") from None


def network_facts(path: Path) -> dict[str, Any]:
    """The description in a file of ``ramify.networks.save``, read without torch; it is verified when it is loaded."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, LONGEST)))
        facts: dict[str, Any] = json.loads(header["__metadata__"]["ramify"])
    except (struct.error, ValueError, KeyError, TypeError):
        facts = {}
    if not {"game", "network_id"} <= facts.keys():
        raise ValueError(f"{path} is damaged, or was not written by ramify.networks.save")
    return facts


def open_evaluator(game: Game, name: str, *, device: str, cache: int, exact: bool) -> Any:
    """The evaluator of a network for a game, with one thread.

    If ``exact``, and on a CPU, batches have a fixed size and no row's result depends on the others. Otherwise torch
    runs batches of any size, which is about four times faster with many parallel games.
    """
    from importlib.util import find_spec

    import ramify.networks as networks
    from ramify.evaluators import Cached, Network, Onnx

    path = network_file(name)
    facts = network_facts(path)
    if facts["game"] != game.name:
        raise ValueError(f"{path} is a network for {facts['game']}, not for {game.name}")
    module = networks.load(path, game)
    evaluator: Any
    if device == "cpu" and exact and all(find_spec(package) for package in ("onnxruntime", "onnx", "onnxscript")):
        evaluator = Onnx(module, threads=1, buckets=(ROWS,))
    else:
        settings = {"buckets": (ROWS,)} if exact and device == "cpu" else {}
        evaluator = Network(module, device, threads=1, **settings)
    return Cached(evaluator, cache) if cache else evaluator
