"""Networks that evaluate chess positions: built, loaded and saved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ramify.arena.network_files import check_game, network_file, open_onnx, run_network
from ramify.base.shipped import shipped_for
from ramify.chess.game import ChessGame
from ramify.chess.keras_model import load_keras
from ramify.chess.material import MaterialEvaluator
from ramify.engine.batch import Evaluator, NativeEvaluator, batch_of, split
from ramify.evaluators import Rollout
from ramify.games import make

if TYPE_CHECKING:
    from ramify.evaluators import Network

SIZE = "6x64"  # of a new network: blocks x channels
MATERIAL, ROLLOUT = "material", "rollout"  # evaluators without a network
NOT_BUILT = "this ChessNN has no network yet: call build_model(), or load_model(path) with a trained one"


class ChessNN:
    """A network for chess. ``ChessNN()`` is a new, untrained one; ``load_model`` replaces it by a trained one.

    ``network``: the size of a new network, such as "6x64", or settings as for ``ramify.networks.make``. It is built
    when it is first needed, so that loading another one costs nothing; with ``build=False`` only by ``build_model``.
    """

    def __init__(
        self,
        network: str | Mapping[str, Any] = SIZE,
        *,
        device: str | None = None,
        seed: int = 0,
        build: bool = True,
    ) -> None:
        self.network, self.device, self.seed = network, device, seed
        self._build = build
        self._network: Network | None = None  # of torch; None for models of other libraries
        self._evaluator: Evaluator | None = None

    @property
    def is_built(self) -> bool:
        """Whether there is a network."""
        return self._evaluator is not None

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator for searches. Raises a ValueError if there is no network."""
        if self._evaluator is None:
            if not self._build:
                raise ValueError(NOT_BUILT)
            self.build_model()
        assert self._evaluator is not None
        return self._evaluator

    def build_model(self) -> None:
        """Make a new, untrained network. Needs torch."""
        from ramify import networks
        from ramify.evaluators import Network

        self._use(Network(networks.make(make("chess"), self.network, seed=self.seed), self.device))

    def load_model(self, path: str | os.PathLike[str]) -> None:
        """Load a network: a ``.safetensors``, ``.onnx`` or ``.keras`` file, the folder of a training run or of a
        checkpoint, or the name of a shipped network. See ``ramify.chess.keras_model`` for Keras models."""
        name = os.fspath(path)
        if name.endswith(".keras"):
            self._network, self._evaluator = None, load_keras(Path(name))
            return
        game, file = make("chess"), network_file(name)
        if file.suffix == ".onnx":
            self._network, self._evaluator = None, open_onnx(game, file, device=self.device)
        else:
            self._use(run_network(game, file, self.device))

    def save_model(self, path: str | os.PathLike[str]) -> Path:
        """Save the network as ``.safetensors`` (also without a suffix) or export it as ``.onnx``; returns the file."""
        file = Path(path)
        if file.suffix not in ("", ".safetensors", ".onnx"):
            raise ValueError(f"networks are saved as .safetensors or .onnx files, not as {file.name}")
        _ = self.evaluator  # built if need be
        if self._network is None:
            raise ValueError("only torch networks can be saved; this one was loaded from an ONNX or Keras file")
        from ramify import networks

        module = cast(networks.GameNetwork, self._network.module)
        return networks.export_onnx(file, module) if file.suffix == ".onnx" else networks.save(file, module)

    def predict(self, game: ChessGame) -> tuple[NDArray[np.float64], float]:
        """The prior of every move, float64[4672], and the value for the player to move."""
        state = game.state
        if state.is_over:
            raise ValueError(f"the game is over: there is nothing to evaluate\n{game}")
        batch, player = batch_of([state]), state.acting[0]
        logits, values = split(self.evaluator.evaluate(batch), batch)
        legal = state.legal_actions()
        powers = np.exp(logits[0, player, legal].astype(np.float64) - logits[0, player, legal].max())
        policy = np.zeros(state.game.num_actions)
        policy[legal] = powers / powers.sum()
        return policy, float(values[0, player])

    def _use(self, network: Network) -> None:
        self._network = self._evaluator = network


def chess_evaluator(network: str | None = None) -> tuple[Evaluator | NativeEvaluator, str]:
    """An evaluator of chess positions by its name, and what it goes by.

    ``network``: as for ``ChessNN.load_model``, or ``material`` or ``rollout``. By default it is the shipped network for
    chess, if there is one and torch is installed, else material.
    """
    name = network or shipped_network() or MATERIAL
    if name == MATERIAL:
        return MaterialEvaluator(), MATERIAL
    if name == ROLLOUT:
        return Rollout(), "random games"
    loaded = ChessNN()
    loaded.load_model(name)
    return loaded.evaluator, Path(name).resolve().stem


def check_network(network: str) -> None:
    """Raise a ValueError if there is no such network as for ``chess_evaluator``, or if it is one for another game."""
    if network in ("", MATERIAL, ROLLOUT) or network.endswith(".keras"):
        return
    game, file = make("chess"), network_file(network)
    if file.suffix == ".onnx":
        open_onnx(game, file)
    else:
        check_game(game, file)


def shipped_network() -> str | None:
    """The name of the network for chess that comes with the package, if torch can run it; found without torch."""
    found = shipped_for(make("chess")) if find_spec("torch") is not None else None
    return None if found is None else found.name
