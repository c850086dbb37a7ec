"""The evaluator that runs torch networks."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ramify.engine.batch import Batch, Evaluation
from ramify.engine.batching import BUCKETS
from ramify.evaluators.cpu import CpuRunner
from ramify.evaluators.onnx import as_array, check_finite
from ramify.evaluators.outputs import Outputs, by_player
from ramify.evaluators.pending import NETWORK_C_PUCT, Later, Pending, Submitting
from ramify.evaluators.run_config import RunConfig
from ramify.networks.blocks import folded
from ramify.networks.build import network_id
from ramify.networks.devices import choose_device
from ramify.networks.modules import GameNetwork
from ramify.networks.pretrained import find


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

    def __init__(self, module: nn.Module, device: str | torch.device | None = None, **settings: Any) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"module must be a torch module, not {type(module).__name__}")
        self.settings = RunConfig(**settings)
        self.device = choose_device(device)
        self._swapping = threading.Lock()
        self._master = copy.deepcopy(module).cpu().eval().requires_grad_(False)
        self.runner = self._make_runner(folded(self._master))

    def _make_runner(self, live: nn.Module) -> Runner:
        if self.device.type == "cpu":
            return CpuRunner(live, self.settings)
        if self.settings.backend not in ("auto", "torch"):
            raise ValueError(
                f"backend={self.settings.backend!r} runs on a CPU; on {self.device} it must be torch or auto"
            )
        if self.device.type != "cuda":
            from ramify.evaluators.eager import EagerRunner

            return EagerRunner(live, self.device, self.settings)
        from ramify.evaluators.cuda import CudaRunner

        buckets = self.settings.buckets or BUCKETS
        return CudaRunner(live, self.device, self.settings.model_copy(update={"buckets": buckets}))

    @property
    def version(self) -> int:
        """Number of changes of the weights."""
        return self.runner.version

    @property
    def num_parameters(self) -> int:
        """Number of parameters and buffers of the network."""
        return sum(tensor.numel() for tensor in self._master.state_dict().values())

    @property
    def backend(self) -> str:
        """The library that evaluates: that of the settings, or with "auto" those of all batches so far."""
        chosen = self.settings.backend
        return chosen if chosen != "auto" else "+".join(self.runner.used) or chosen

    @property
    def network_id(self) -> str:
        """The checksum of the network with its current weights."""
        return network_id(self._master)

    def submit(self, batch: Batch) -> Pending:
        self._check(batch)
        wait, acting = self.runner.submit(batch.observations), batch.acting.copy()

        def finish() -> Evaluation:
            return by_player(wait(), acting)

        return Later(finish)

    @property
    def asynchronous(self) -> bool:
        """Whether batches are evaluated on a separate device in the background; then ``submit_raw`` is available."""
        return self.device.type == "cuda"

    @property
    def concurrent(self) -> bool:
        """Whether several batches may be evaluated at once, in threads of the caller."""
        return self.device.type == "cpu"

    def prepare_arrays(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """The arrays of a batch with observations in pinned memory."""
        if not self.asynchronous:
            return arrays
        pinned = torch.zeros(arrays["observations"].shape, dtype=torch.float32, pin_memory=True)
        return {**arrays, "observations": pinned.numpy()}

    def submit_raw(self, batch: Batch) -> Callable[[], tuple[NDArray[Any], NDArray[Any]]]:
        """On CUDA: returns a function that waits for logits and values and returns them uncopied, viewer first."""
        self._check(batch)
        waiting: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
        waiting = self.runner.submit_raw(batch.observations)  # type: ignore[attr-defined]  # on CUDA
        return waiting

    def _check(self, batch: Batch) -> None:
        if isinstance(self._master, GameNetwork):
            self._master.check_shape(batch.observations.shape[1:])

    def load_weights(self, weights: nn.Module | Mapping[str, Any]) -> None:
        """Load weights (a state dict or a module) between two batches.

        If the weights do not fit, an error is raised and nothing is changed.
        """
        given = weights.state_dict() if isinstance(weights, nn.Module) else weights
        check_finite({name: as_array(value) for name, value in given.items()})
        with self._swapping:
            master = copy.deepcopy(self._master)
            try:
                master.load_state_dict(given)
            except RuntimeError as error:
                raise ValueError(f"the weights do not fit the network: {error}") from None
            self.runner.swap(folded(master))
            self._master = master


def network_evaluator(
    module: nn.Module,
    device: str | torch.device | None = None,
    threads: int = 1,
    compile: bool = False,
    backend: str = "auto",
) -> Network:
    """The recommended evaluator of a network: on CUDA torch, optionally compiled (about a minute of start-up, then a
    third faster); on a CPU the library that is the fastest for each batch size."""
    chosen = choose_device(device)
    return Network(module, chosen, threads=threads, compile=compile and chosen.type == "cuda", backend=backend)


def pretrained(name: str, device: str | None = None, **settings: Any) -> Network:
    """The evaluator of a network shipped with the package.

    It can evaluate every board size of its game, and is strongest at the size it was trained on. ``device`` and
    settings are those of ``Network``.
    """
    return Network(find(name).module(), device, **settings)
