"""The evaluator that runs torch networks."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, field_validator
from torch import Tensor, nn

from ramify.base.settings import Settings
from ramify.engine.batch import Batch, Evaluation
from ramify.evaluators.onnx import Onnx, as_array, check_finite
from ramify.evaluators.outputs import (
    Outputs,
    by_player,
    check_shapes,
    checked_buckets,
    joined,
    padded,
    padded_size,
    parts,
    shares,
)
from ramify.evaluators.pending import NETWORK_C_PUCT, Later, Pending, Submitting
from ramify.evaluators.torch_threads import run_calls
from ramify.networks.blocks import folded
from ramify.networks.build import network_id
from ramify.networks.devices import choose_device
from ramify.networks.modules import GameNetwork, Inference
from ramify.networks.pretrained import find

CUDA_BUCKETS = tuple(sorted({1, 2, 4} | {size * 2**k for size in (8, 12) for k in range(10)}))  # 1 to 6144


class RunConfig(Settings):
    """Settings of the evaluator of a torch network; frozen."""

    what = "evaluator"

    threads: int = Field(
        1, ge=1, description="Number of CPU threads that share a batch, each evaluating part of its rows."
    )
    buckets: tuple[int, ...] | None = Field(
        None,
        description=(
            "Batch sizes to run; other batches are padded to the next one. None: any size on a CPU, 1 to 6144 on CUDA."
        ),
    )
    precision: str = Field(
        "auto", pattern="^(auto|fp32|bf16)$", description="Numeric precision; auto: fp32 on a CPU, bf16 on CUDA."
    )
    compile: bool = Field(False, description="Compile the network with torch.compile (CUDA only).")
    graphs: bool = Field(True, description="Capture a CUDA graph for each batch size.")
    in_flight: int = Field(2, ge=1, le=16, description="Maximum number of batches of one size in flight on CUDA.")

    @field_validator("buckets", mode="before")
    @classmethod
    def _sorted(cls, buckets: Any) -> Any:
        return checked_buckets(buckets)


class Runner(Protocol):
    """Runs one network on one device."""

    version: int

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        """Start a batch; returns a function that waits for the outputs and returns them."""
        ...

    def swap(self, live: nn.Module) -> None:
        """Change to the weights of this network between two batches."""
        ...


class CpuRunner:
    """Float32, in single-threaded calls. New weights are a new network: batches in flight keep the old one."""

    def __init__(self, live: nn.Module, settings: RunConfig) -> None:
        if settings.precision == "bf16":
            raise ValueError("precision must be auto or fp32 on a CPU")
        if settings.compile:
            raise ValueError("compile=True needs CUDA; on a CPU use rf.evaluators.Onnx instead")
        self._settings = settings
        self._live = by_cells(live)
        self.version = 0

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        live, buckets, threads = self._live, self._settings.buckets, self._settings.threads
        split = parts(len(observations), buckets) if buckets else shares(len(observations), threads)
        calls = [partial(run_rows, live, observations[part], buckets) for part in split]
        pieces = run_calls(calls, threads)
        return lambda: joined(pieces)

    def swap(self, live: nn.Module) -> None:
        self._live = by_cells(live)
        self.version += 1


def by_cells(live: nn.Module) -> Inference:
    """The module in channels-last memory format, in which convolutions run fastest, on a CPU and on CUDA."""
    return Inference(live.to(memory_format=torch.channels_last))  # type: ignore[call-overload]


def in_order(x: Tensor) -> Tensor:
    """Planes in channels-last memory format; anything else unchanged."""
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


@torch.inference_mode()
def run_rows(live: Inference, observations: NDArray[np.float32], buckets: tuple[int, ...] | None) -> Outputs:
    """Outputs of these rows, padded if there are buckets."""
    rows = len(observations)
    given = np.ascontiguousarray(padded(observations, padded_size(rows, buckets)), np.float32)
    logits, values = live(in_order(torch.from_numpy(given if given.flags.writeable else given.copy())))
    check_shapes(logits.shape, values.shape, len(given))
    return logits[:rows].float().numpy(), values[:rows].float().numpy()


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
        from ramify.evaluators.cuda import CudaRunner

        buckets = self.settings.buckets or CUDA_BUCKETS
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
        """The library and device that run the network."""
        return f"torch on {self.device.type}"

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
    module: nn.Module, device: str | torch.device | None = None, threads: int = 1, compile: bool = False
) -> Network | Onnx:
    """The recommended evaluator of a network: torch on CUDA, optionally compiled (about a minute of start-up, then a
    third faster); on a CPU ONNX Runtime if it is installed."""
    from importlib.util import find_spec

    chosen = choose_device(device)
    if chosen.type == "cpu" and all(find_spec(name) for name in ("onnxruntime", "onnx", "onnxscript")):
        return Onnx(module, threads=threads)
    return Network(module, chosen, threads=threads, compile=compile and chosen.type == "cuda")


def pretrained(name: str, device: str | None = None, **settings: Any) -> Network:
    """The evaluator of a network shipped with the package.

    It can evaluate every board size of its game, and is strongest at the size it was trained on. ``device`` and
    settings are those of ``Network``.
    """
    return Network(find(name).module(), device, **settings)
