"""Network files: finding them, reading their description, and opening their evaluator.

All options that take a network (``--network``, ``network=`` of players) resolve it with :func:`network_file`.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.base.shipped import named, shipped_networks
from ramify.engine.batch import Evaluator
from ramify.evaluators.kept import runs_on_cpu
from ramify.games import Game

if TYPE_CHECKING:
    from ramify.evaluators import Network

ROWS = 8  # fixed batch size on a CPU: rounding in ONNX Runtime depends on it, and games have to be reproducible
LONGEST = 1 << 26  # maximum size of a header in bytes
ENDINGS = (".safetensors", ".onnx")
# File names used by training, repeated here because importing them would import torch.
CHECKPOINTS, NETWORK, RATINGS = "checkpoints", "network.safetensors", "ratings.json"
RUN = "ramify-run.json"
TRAINED = ("discount", "normalize", "fpu", "fpu_offset", "c_puct", "c_base")  # what values and priors are learned with
RUNS = "runs"  # where `ramify train` puts runs
LEARNED = "muzero"  # what the kinds of learned networks begin with


def network_file(name: str) -> Path:
    """The file of a network: ``.safetensors`` or ``.onnx``.

    ``name`` is the path of such a file, with or without its suffix, the folder of a training run (its best checkpoint
    if the run was rated, otherwise its newest), the folder of a checkpoint, or the name of a shipped network.
    """
    path = Path(name)
    endless = [path.with_name(path.name + ending) for ending in ENDINGS if path.name]
    if path.is_dir() and (found := _network_in(path)) is not None:
        return found  # also where a file has the folder's name and a suffix
    for candidate in (path, *endless):
        if candidate.is_file():
            _check_kind(candidate)
            return candidate
    try:
        if find_spec("torch") is not None:
            return named(name, shipped_networks()).file
        shipped = "shipped networks need torch"
    except ValueError as error:
        shipped = str(error)
    files = " or ".join(map(str, endless)) or name
    if path.suffix in ENDINGS:
        looked = "no such file"
    elif path.is_dir():
        looked = f"no training run or checkpoint in the folder {path}, no such file {files}"
    else:
        looked = f"no such file ({files}), no folder of a training run or a checkpoint"
    run = Path(RUNS) / name
    hint = f"; did you mean {str(run)!r}?" if run.is_dir() and _network_in(run) is not None else ""
    raise ValueError(f"there is no network {name!r}: {looked}; {shipped}{hint}")


def _check_kind(path: Path) -> None:
    """Raise a ValueError if a file is no network, judged by its name and the beginning of its content."""
    if path.suffix == ".onnx":
        return
    try:
        network_facts(path)
    except ValueError:
        if path.suffix in ENDINGS:
            raise
        raise ValueError(
            f"{path} is not a network: give a .safetensors or .onnx file, the folder of a training run or of a "
            "checkpoint, or the name of a shipped network"
        ) from None


def _network_in(folder: Path) -> Path | None:
    """The network of a checkpoint, or of the best or newest checkpoint of a run."""
    if (folder / NETWORK).is_file():
        return folder / NETWORK
    kept = folder if folder.name == CHECKPOINTS else folder / CHECKPOINTS
    networks = {int(path.parent.name): path for path in kept.glob(f"*/{NETWORK}") if path.parent.name.isdigit()}
    if not networks:
        return None
    return networks[_best(kept.parent / RATINGS, networks)]


def _best(ratings: Path, networks: dict[int, Path]) -> int:
    """The number of the checkpoint with the highest rating, the newest of equal ones, or of the newest without ratings.

    The untrained network, iteration 0, is chosen only where there is no other.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        players = json.loads(ratings.read_text(encoding="utf-8"))["players"]
        rated = {player["iteration"]: round(player["elo"]) for player in players if player["iteration"] in networks}
        if trained := [(elo, number) for number, elo in rated.items() if number]:
            return int(max(trained)[1])
    return max(networks)


def _header(path: Path) -> Any:
    """The JSON at the beginning of a .safetensors file. Raises struct.error or ValueError if there is none."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(min(length, LONGEST)))


def network_facts(path: Path) -> dict[str, Any]:
    """The description in a file of ``ramify.networks.save``, read without torch; it is verified when it is loaded."""
    try:
        facts: dict[str, Any] = json.loads(_header(path)["__metadata__"]["ramify"])
    except (struct.error, ValueError, KeyError, TypeError):
        facts = {}
    if not {"game", "network_id"} <= facts.keys():
        raise ValueError(f"{path} is not a network written by ramify.networks.save, or it is damaged")
    return facts


def trained_reward(path: Path, game: str) -> str | None:
    """The parameter ``reward`` that a network for this game was trained with; None where the file has none."""
    facts = {} if path.suffix == ".onnx" else network_facts(path)
    params = facts.get("params")
    reward = params.get("reward") if isinstance(params, dict) and facts["game"] == game else None
    return reward if isinstance(reward, str) else None


def trained_search(name: str) -> dict[str, Any]:
    """The settings of the search that a learned network was trained with, as far as they say what its values and priors
    mean: not noise or numbers of simulations. They are known of shipped networks and in the folder of a run.
    """
    for entry in shipped_networks():
        if entry.name == name and not Path(name).exists():
            return dict(entry.search)
    with suppress(OSError, ValueError, LookupError, TypeError):
        run = network_file(name).resolve().parents[2]  # of RUN/checkpoints/NUMBER/NETWORK
        config = json.loads((run / RUN).read_text(encoding="utf-8"))["config"]
        search = config["search"]
        mixed = {"selection": search["selection"], "acting": config["play"]["acting"]}
        found = {key: search[key] for key in TRAINED if search[key] is not None}
        return found | (mixed if search["selection"] in ("regret", "exp3") else {})
    return {}


def is_learned(path: Path) -> bool:
    """Whether a file has a learned model (MuZero), by its description."""
    if path.suffix == ".onnx":
        return False
    network = network_facts(path).get("network")
    return isinstance(network, dict) and str(network.get("kind")).startswith(LEARNED)


def network_parameters(path: Path) -> int:
    """Number of parameters in a file of ``ramify.networks.save``, read without torch; 0 for other files."""
    with suppress(OSError, struct.error, ValueError, KeyError, TypeError, AttributeError):
        shapes = [entry["shape"] for name, entry in _header(path).items() if name != "__metadata__"]
        return sum(math.prod(shape) for shape in shapes)
    return 0


def network_identity(path: Path) -> str:
    """The checksum of a network file: of its weights, or of the whole ONNX model."""
    if path.suffix == ".onnx":
        return f"onnx-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    return str(network_facts(path)["network_id"])


def open_evaluator(
    game: Game, name: str, *, device: str, exact: bool, backend: str | None = None, errors: bool = False
) -> Evaluator:
    """The evaluator of a network for a player, with one thread per process; with ``errors``, also those of its values.

    If ``exact``, and on a CPU, batches have a fixed size and no row's result depends on the others: with ONNX Runtime,
    unless another ``backend`` is given. Otherwise the fastest library runs each batch size, several times faster.
    """
    from ramify.evaluators import Onnx

    path = network_file(name)
    fixed: dict[str, Any] = {"buckets": (ROWS,)} if exact and device == "cpu" else {}
    if path.suffix == ".onnx":
        if backend not in (None, "onnxruntime"):
            raise ValueError(f"ONNX models are run by onnxruntime: {path} cannot be run by {backend}")
        opened: Evaluator = open_onnx(game, path, device=device, **fixed)
        return opened
    if fixed and not errors and (backend == "onnxruntime" or (backend is None and exports())):
        return Onnx(load_module(game, path), threads=1, **fixed)
    chosen = backend or ("torch" if fixed else "auto")
    return run_network(game, path, device, threads=1, backend=chosen, errors=errors, **fixed)


def load_evaluator(
    game: Game, name: str, *, device: str | None = None, threads: int = 1, compile: bool = False
) -> tuple[Any, str]:
    """The usual evaluator of a network for a game, and the network's identity; see :func:`network_file` for names."""
    path = network_file(name)
    if path.suffix == ".onnx":
        return open_onnx(game, path, device=device, threads=threads), network_identity(path)
    if runs_on_cpu(device):
        return run_network(game, path, "cpu", threads=threads), network_identity(path)
    from ramify.evaluators import network_evaluator

    return network_evaluator(load_module(game, path), device, threads, compile), network_identity(path)


def load_module(game: Game, path: Path) -> Any:
    """The torch network in a file, for this game."""
    check_game(game, path)
    import ramify.networks as networks

    return networks.load(path, game)


def run_network(game: Game, path: Path, device: str | None = None, **settings: Any) -> Network:
    """The evaluator of a network in a ``.safetensors`` file, for this game. Torch is loaded if it is needed."""
    check_game(game, path)
    from ramify.evaluators import Network

    return Network.from_file(path, game, device, **settings)


def check_game(game: Game, path: Path) -> None:
    """Raise a ValueError if a ``.safetensors`` file is a network for another game."""
    facts = network_facts(path)
    if facts["game"] != game.name:
        raise ValueError(f"{path} is a network for {facts['game']}, not for {game.name}")


def open_onnx(game: Game, path: Path, *, device: str | None = None, **settings: Any) -> Any:
    """The evaluator of an ONNX model; raises a ValueError if its observations or actions do not fit the game."""
    from ramify.evaluators import Onnx

    if device not in (None, "cpu"):
        raise ValueError(f"ONNX models run on the CPU: {path} cannot run on {device}; give a .safetensors network")
    evaluator = Onnx(path, **settings)
    takes, actions = evaluator.shape
    if takes != tuple(game.observation_shape):
        raise ValueError(f"{path} takes observations of shape {list(takes)}, but {game} has {game.observation_shape}")
    if isinstance(actions, int) and actions != game.num_actions:
        raise ValueError(f"{path} is for {actions} actions, but {game} has {game.num_actions}")
    return evaluator


def exports() -> bool:
    """Whether torch networks can be run by ONNX Runtime in this environment."""
    return all(find_spec(package) for package in ("onnxruntime", "onnx", "onnxscript"))
