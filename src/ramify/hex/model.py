"""Models of Hex positions: one interface to files, shipped networks, torch modules and evaluators."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.arena.network_files import network_file, open_onnx, run_network
from ramify.base.shipped import shipped_for
from ramify.engine.batch import Evaluator, NativeEvaluator, batch_of, split
from ramify.engine.native import ROLLOUTS
from ramify.evaluators.simple import best_native
from ramify.games import Game, State, make


class SimpleModelInference:
    """A Hex model from a network as for ``--network`` (a file, the folder of a run, the name of a shipped network), a
    torch module or an evaluator."""

    def __init__(self, model: Any, device: str | None = None) -> None:
        self.evaluator: Evaluator | NativeEvaluator = _evaluator_of(model, device)

    def simple_infer(self, board_tensor: Any) -> tuple[NDArray[np.float32], float]:
        """(policy_logits [size * size], value) of one position, from the view of the tensor's player."""
        if not isinstance(self.evaluator, Evaluator):
            raise TypeError(
                f"{type(self.evaluator).__name__} runs only inside a search and cannot evaluate a single position"
            )
        state = state_of_tensor(board_tensor)
        if state.is_over:
            raise ValueError("cannot evaluate a finished game")
        batch, player = batch_of([state]), state.acting[0]
        logits, values = split(self.evaluator.evaluate(batch), batch)
        return logits[0, player].copy(), float(values[0, player])


def _evaluator_of(model: Any, device: str | None) -> Evaluator | NativeEvaluator:
    if isinstance(model, SimpleModelInference):
        return model.evaluator
    if isinstance(model, NativeEvaluator) or hasattr(model, "evaluate"):
        evaluator: Evaluator | NativeEvaluator = model
        return evaluator
    if isinstance(model, str | os.PathLike):
        return _from_file(model, None, device)
    if hasattr(model, "state_dict"):
        from ramify.evaluators import Network

        return Network(model, device)
    raise TypeError(
        f"model must be a network file, the name of a shipped network, a torch module or an evaluator, "
        f"not {type(model).__name__}"
    )


def _from_file(name: str | os.PathLike[str], game: Game | None, device: str | None) -> Evaluator:
    path = network_file(os.fspath(name))
    if path.suffix == ".onnx":
        from ramify.evaluators import Onnx

        model: Evaluator = Onnx(path) if game is None else open_onnx(game, path, device=device)
        return model
    if game is not None:
        return run_network(game, path, device)
    from ramify.evaluators import Network
    from ramify.networks import load

    return Network(load(path), device)


def evaluator_for(game: Game, network: str | None = None) -> tuple[Evaluator | NativeEvaluator, str]:
    """The evaluator for this game, and its name.

    ``network`` is a ``.safetensors`` or ``.onnx`` file, the folder of a training run or a checkpoint, the name of a
    shipped network, ``rollout`` or, in PyRat, ``planner`` or ``greedy``. By default it is the shipped network for this
    game, if there is one and torch is installed, else plans in PyRat and rollouts in other games.
    """
    if network in ROLLOUTS:
        return (rollouts := ROLLOUTS[network]()), rollouts.knowledge
    if network is not None:
        return _from_file(network, game, None), Path(network).resolve().stem
    if find_spec("torch") is not None and (found := shipped_for(game)) is not None:
        return _from_file(found.file, game, None), found.name
    return (rollouts := best_native(game)), rollouts.knowledge


def state_of_tensor(board_tensor: Any) -> State:
    """The position of a tensor of ``HexGameState.get_board_tensor``."""
    planes = np.asarray(board_tensor, np.float32)
    if planes.ndim != 3 or planes.shape[0] != 3 or planes.shape[1] != planes.shape[2]:
        raise ValueError(f"a board tensor must have shape [3, size, size], not {list(planes.shape)}")
    first = bool(planes[2].all())
    mine, other = ("x", "o") if first else ("o", "x")
    symbols = np.where(planes[0] > 0, mine, np.where(planes[1] > 0, other, "."))
    game: Any = make("hex", size=planes.shape[1])
    state: State = game.state(board=["".join(row) for row in symbols], to_move=mine)
    return state
