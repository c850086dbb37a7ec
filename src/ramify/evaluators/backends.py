"""The libraries that run a network on a CPU, each in single-threaded calls: torch, ONNX Runtime and OpenVINO."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.evaluators.outputs import Outputs, check_shapes
from ramify.evaluators.torch_threads import run_calls
from ramify.networks.modules import Inference
from ramify.networks.tracing import frozen, traced_onnx

Shape = tuple[int, ...]
# One stream with one thread: OpenVINO then computes in the thread that calls it, and starts none of its own.
OPENVINO_SETTINGS = {
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "PERFORMANCE_HINT": "LATENCY",
    "INFERENCE_PRECISION_HINT": "f32",
    "ENABLE_CPU_PINNING": False,
}


class Backend(ABC):
    """A network for observations of one shape, opened by a library. Calls from several threads run at once."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # packages
    extra: ClassVar[str]  # the extra of ramify that installs them

    @abstractmethod
    def __init__(self, live: Inference, shape: Shape) -> None: ...

    @abstractmethod
    def run(self, observations: NDArray[np.float32]) -> Outputs:
        """Logits and values of a batch, computed in this thread."""


class Torch(Backend):
    """The module itself."""

    name, needs, extra = "torch", ("torch",), "torch"

    def __init__(self, live: Inference, shape: Shape) -> None:
        del shape  # the module takes any
        self._live = live

    @torch.inference_mode()
    def run(self, observations: NDArray[np.float32]) -> Outputs:
        logits, values = self._live(in_order(torch.from_numpy(own(observations))))
        check_shapes(logits.shape, values.shape, len(observations))
        return logits.float().numpy(), values.float().numpy()


class OnnxRuntime(Backend):
    """A session of ONNX Runtime."""

    name, needs, extra = "onnxruntime", ("onnxruntime", "onnx"), "onnx"

    def __init__(self, live: Inference, shape: Shape) -> None:
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        content = traced_onnx(live, shape)
        self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, observations: NDArray[np.float32]) -> Outputs:
        logits, values = self._session.run(["logits", "values"], {"observations": own(observations)})
        check_shapes(logits.shape, values.shape, len(observations))
        return logits, values


class OpenVino(Backend):
    """Compiled by OpenVINO, once for each batch size and each thread that calls at the same time."""

    name, needs, extra = "openvino", ("openvino",), "torch"

    def __init__(self, live: Inference, shape: Shape) -> None:
        self._shape = shape
        openvino()
        frontends: Any = importlib.import_module("openvino.frontend")
        decoders: Any = importlib.import_module("openvino.frontend.pytorch.ts_decoder")
        frontend = frontends.FrontEndManager().load_by_framework("pytorch")
        decoder = decoders.TorchScriptPythonDecoder(frozen(live, shape))  # has to live as long as the conversion takes
        self._model = frontend.convert(frontend.load(decoder))
        self._model.inputs[0].get_node().set_element_type(openvino().Type.f32)  # not always found by the conversion
        self._model.validate_nodes_and_infer_types()
        self._compiling = threading.Lock()
        self._free: dict[int, deque[Any]] = {}  # requests that no thread is using, by batch size

    def run(self, observations: NDArray[np.float32]) -> Outputs:
        free = self._free.setdefault(len(observations), deque())
        try:
            request = free.pop()
        except IndexError:
            request = self._compile(len(observations))
        try:
            request.infer({0: own(observations)}, share_inputs=True)
            logits, values = (np.array(request.get_output_tensor(number).data, np.float32) for number in (0, 1))
        finally:
            free.append(request)
        check_shapes(logits.shape, values.shape, len(observations))
        return logits, values

    def _compile(self, size: int) -> Any:
        library = openvino()
        with self._compiling:
            self._model.reshape({self._model.inputs[0]: library.PartialShape([size, *self._shape])})
            return core().compile_model(self._model, "CPU", OPENVINO_SETTINGS).create_infer_request()


KINDS: dict[str, type[Backend]] = {kind.name: kind for kind in (OpenVino, Torch, OnnxRuntime)}


@cache
def openvino() -> Any:
    """The library, imported without its telemetry, which would report the import to its maker."""
    if "openvino" in sys.modules or "openvino_telemetry" in sys.modules:
        return importlib.import_module("openvino")
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # makes an import of it fail, which is allowed
    try:
        return importlib.import_module("openvino")
    finally:
        del sys.modules["openvino_telemetry"]


@cache
def core() -> Any:
    """OpenVINO's entry point; one per process."""
    made = openvino().Core()
    os.register_at_fork(after_in_child=_lost.set)
    return made


_lost = threading.Event()  # set in a process that was forked after OpenVINO had started its threads


def check_usable(name: str) -> None:
    """Raise a RuntimeError in a forked process where OpenVINO would wait forever for threads that were not copied."""
    if name == "openvino" and _lost.is_set():
        raise RuntimeError(
            "OpenVINO was used before this process was forked and cannot be used in it: start processes with "
            "multiprocessing's method spawn, or give the evaluator backend='torch'"
        )


def installed() -> tuple[str, ...]:
    """Names of the backends whose packages are installed."""
    return tuple(name for name, kind in KINDS.items() if all(find_spec(package) for package in kind.needs))


def open_backend(name: str, live: Inference, shape: Shape) -> Backend:
    """Open a network; raises an ImportError if the library is not installed, and whatever the library raises."""
    kind = KINDS[name]
    if missing := [package for package in kind.needs if find_spec(package) is None]:
        raise ImportError(f"the backend {name} needs {' and '.join(missing)}: pip install 'ramify[{kind.extra}]'")
    return run_calls([lambda: kind(live, shape)], 1)[0]


def in_order(x: Tensor) -> Tensor:
    """Planes in channels-last memory format; anything else unchanged."""
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


def own(observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """The observations as a contiguous array that libraries take: they refuse one that is read-only."""
    given = np.ascontiguousarray(observations, np.float32)
    return given if given.flags.writeable else given.copy()
