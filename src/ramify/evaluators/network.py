"""The evaluator that runs torch networks. It loads torch when it needs it."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.base.shipped import named, shipped_networks
from ramify.engine.batch import Batch, Evaluation
from ramify.engine.batching import BUCKETS
from ramify.evaluators.backends import installed
from ramify.evaluators.cpu import CpuRunner, kind_of, resolved
from ramify.evaluators.kept import Facts, Kept, Shape, kept_for, runs_on_cpu
from ramify.evaluators.onnx import as_array, check_finite
from ramify.evaluators.outputs import Outputs, by_player
from ramify.evaluators.pending import NETWORK_C_PUCT, Later, Pending, Submitting
from ramify.evaluators.run_config import RunConfig
from ramify.evaluators.weights import Weights
from ramify.games import Game
from ramify.games import make as make_game

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ramify.networks.modules import GameNetwork


class Runner(Protocol):
    """Runs one network on one device."""

    version: int

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the libraries that have evaluated batches."""
        ...

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        """Start a batch; returns a function that waits for the outputs and returns them."""
        ...

    def swap(self, live: nn.Module) -> None:
        """Change to the weights of this network between two batches."""
        ...


class Network(Submitting):
    """Evaluates positions with a torch network.

    The evaluator works on a copy of the module, which may continue training; ``load_weights`` copies new weights
    between two batches. Settings are those of ``RunConfig``. The module must map observations to (logits, values), or
    to a dict with these, in the viewer's order: the acting player (player 0 where both act) first.
    """

    needs_legal = False  # batches need no legal masks, so self-play leaves them out
    c_puct = NETWORK_C_PUCT
    reward: str | None = None  # the parameter of the game that values depend on; None: it has none, or was checked

    def __init__(self, module: nn.Module, device: str | torch.device | None = None, **settings: Any) -> None:
        from ramify.networks.devices import choose_device  # its error says what is missing if torch is

        if not is_module(module):
            raise TypeError(f"module must be a torch module, not {type(module).__name__}")
        config, chosen = RunConfig(**settings), str(choose_device(device))
        master = copy.deepcopy(module).cpu().eval().requires_grad_(False)
        self.reward = getattr(getattr(master, "spec", None), "params", {}).get("reward")
        self._begin(Weights(lambda: master), chosen, config)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], game: Game, device: str | torch.device | None = None, **settings: Any
    ) -> Network:
        """The evaluator of a network in a ``.safetensors`` file, for a game.

        On a CPU it starts without torch from the second time on, if another library is the fastest: what that library
        reads is kept in the user's cache folder.
        """
        config, file = RunConfig(**settings), Path(path)
        if not runs_on_cpu(device) or resolved(config.backend) == "torch" or len(installed()) < 2:
            return cls(_load(file, game), device, **settings)
        kept = kept_for(file, game, config.errors)
        facts = None if kept is None else kept.facts()
        if kept is None or facts is None:
            module = _load(file, game)
            if kept is None or not is_own(module, game):
                return cls(module, "cpu", **settings)
            check_use(module, config)
            facts = facts_of(module, tuple(game.observation_shape))
            evaluator = cls.__new__(cls)
            evaluator._begin(Weights(lambda: module, kept, facts), "cpu", config)
            kept.keep_facts(facts)
            return evaluator
        evaluator = cls.__new__(cls)
        evaluator._begin(Weights(lambda: _load_again(file, game, config, kept), kept, facts), "cpu", config)
        return evaluator

    def _begin(self, weights: Weights, device: str, settings: RunConfig) -> None:
        self.settings, self._device, self._weights = settings, device, weights
        self._swapping = threading.Lock()
        self.runner = self._make_runner()

    def _make_runner(self) -> Runner:
        if self._on("cpu"):
            return CpuRunner(self._weights.folded(), self.settings)
        from ramify.networks.blocks import folded

        live = folded(self.module)
        if self.settings.backend not in ("auto", "torch"):
            raise ValueError(
                f"backend={self.settings.backend!r} runs on a CPU; on {self.device} it must be torch or auto"
            )
        if not self._on("cuda"):
            from ramify.evaluators.eager import EagerRunner

            return EagerRunner(live, self.device, self.settings)
        from ramify.evaluators.cuda import CudaRunner

        buckets = self.settings.buckets or BUCKETS
        return CudaRunner(live, self.device, self.settings.model_copy(update={"buckets": buckets}))

    def _on(self, kind: str) -> bool:
        return self._device.partition(":")[0] == kind

    @property
    def module(self) -> nn.Module:
        """The torch network with its current weights, which must not be changed; loaded if it was not needed yet."""
        return self._weights.module

    @property
    def device(self) -> torch.device:
        """Where the network runs."""
        import torch

        return torch.device(self._device)

    @property
    def version(self) -> int:
        """Number of changes of the weights."""
        return self.runner.version

    @property
    def num_parameters(self) -> int:
        """Number of parameters and buffers of the network."""
        facts = self._weights.facts
        return num_parameters(self.module) if facts is None else facts.num_parameters

    @property
    def backend(self) -> str:
        """The library that evaluates: that of the settings, or with "auto" those of all batches so far."""
        chosen = self.settings.backend
        return chosen if chosen != "auto" else "+".join(self.runner.used) or chosen

    @property
    def network_id(self) -> str:
        """The checksum of the network with its current weights."""
        if self._weights.facts is not None:
            return self._weights.facts.network_id
        from ramify.networks.build import network_id

        return network_id(self.module)

    def submit(self, batch: Batch) -> Pending:
        self._check(batch)
        wait, acting = self.runner.submit(batch.observations), batch.acting.copy()

        def finish() -> Evaluation:
            return by_player(wait(), acting)

        return Later(finish)

    @property
    def asynchronous(self) -> bool:
        """Whether batches are evaluated on a separate device in the background; then ``submit_raw`` is available."""
        return self._on("cuda")

    @property
    def concurrent(self) -> bool:
        """Whether several batches may be evaluated at once, in threads of the caller."""
        return self._on("cpu")

    def prepare_arrays(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """The arrays of a batch with observations in pinned memory."""
        if not self.asynchronous:
            return arrays
        import torch

        pinned = torch.zeros(arrays["observations"].shape, dtype=torch.float32, pin_memory=True)
        return {**arrays, "observations": pinned.numpy()}

    def submit_raw(self, batch: Batch) -> Callable[[], tuple[NDArray[Any], NDArray[Any]]]:
        """On CUDA: returns a function that waits for logits and values and returns them uncopied, viewer first."""
        self._check(batch)
        waiting: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
        waiting = self.runner.submit_raw(batch.observations)  # type: ignore[attr-defined]  # on CUDA
        return waiting

    def _check(self, batch: Batch) -> None:
        if self._weights.facts_of(batch.observations.shape[1:]) is not None:
            return
        from ramify.networks.modules import GameNetwork

        if isinstance(self.module, GameNetwork):
            self.module.check_shape(batch.observations.shape[1:])

    def load_weights(self, weights: nn.Module | Mapping[str, Any]) -> None:
        """Load weights (a state dict or a module) between two batches.

        If the weights do not fit, an error is raised and nothing is changed.
        """
        from ramify.networks.blocks import folded

        given: Any = weights.state_dict() if is_module(weights) else weights  # type: ignore[union-attr]
        check_finite({name: as_array(value) for name, value in given.items()})
        with self._swapping:
            master = copy.deepcopy(self.module)
            try:
                master.load_state_dict(given)
            except RuntimeError as error:
                raise ValueError(f"the weights do not fit the network: {error}") from None
            self.runner.swap(folded(master))
            self._weights = Weights(lambda: master)


def is_module(given: object) -> bool:
    from torch import nn

    return isinstance(given, nn.Module)


def _load(file: Path, game: Game) -> GameNetwork:
    from ramify.networks import load

    return load(file, game)


def _load_again(file: Path, game: Game, config: RunConfig, kept: Kept) -> GameNetwork:
    """The network that was opened before; raises a ValueError if the file has another one by now."""
    if kept_for(file, game, config.errors) != kept:
        raise ValueError(f"{file} has changed since it was opened")
    return _load(file, game)


def check_use(module: nn.Module, config: RunConfig) -> None:
    """Raise a ValueError if the network cannot be used as wanted."""
    from ramify.networks.modules import Inference

    Inference(module, config.errors)


def is_own(module: nn.Module, game: Game) -> bool:
    """Whether a network is one of this package, and its game too: the code of others may change unseen."""
    return type(module).__module__.startswith("ramify.") and isinstance(game, _core.Game)


def facts_of(module: GameNetwork, shape: Shape) -> Facts:
    """What is asked of a network besides evaluations of observations of this shape."""
    from ramify.networks.blocks import folded
    from ramify.networks.build import network_id

    kind = kind_of(folded(module), shape)
    return Facts(kind.key, kind.recipe, shape, num_parameters(module), network_id(module))


def num_parameters(module: nn.Module) -> int:
    """Number of parameters and buffers."""
    return sum(tensor.numel() for tensor in module.state_dict().values())


def network_evaluator(
    module: nn.Module,
    device: str | torch.device | None = None,
    threads: int = 1,
    compile: bool = False,
    backend: str = "auto",
) -> Network:
    """The recommended evaluator of a network: on CUDA torch, optionally compiled (about a minute of start-up, then a
    third faster); on a CPU the library that is the fastest for each batch size."""
    from ramify.networks.devices import choose_device

    chosen = choose_device(device)
    return Network(module, chosen, threads=threads, compile=compile and chosen.type == "cuda", backend=backend)


def pretrained(name: str, device: str | None = None, **settings: Any) -> Network:
    """The evaluator of a network shipped with the package.

    It can evaluate every board size of its game, and is strongest at the size it was trained on. ``device`` and
    settings are those of ``Network``.
    """
    entry = named(name, shipped_networks())
    return Network.from_file(entry.file, make_game(entry.game, **entry.own_params), device, **settings)
