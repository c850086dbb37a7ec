"""The libraries that run a network on a CPU, each in single-threaded calls: torch, ONNX Runtime and OpenVINO.

The last two read what was exported once (``kept.py``), without torch.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ramify.evaluators.kept import Kept, Shape
from ramify.evaluators.outputs import Outputs, check_shapes
from ramify.evaluators.torch_threads import run_calls

if TYPE_CHECKING:
    from torch import Tensor

    from ramify.networks.modules import Inference

logger = logging.getLogger("ramify")
# One stream with one thread: OpenVINO then computes in the thread that calls it, and starts none of its own.
OPENVINO_SETTINGS = {
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "PERFORMANCE_HINT": "LATENCY",
    "INFERENCE_PRECISION_HINT": "f32",
    "ENABLE_CPU_PINNING": False,
}
LENGTH_BYTES = 8  # of the number before an exported graph
COMPARED = (1, 8)  # rows of batches by which an exported network is compared with its original


class Backend(ABC):
    """A network for observations of one shape, opened by a library. Calls from several threads run at once."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # packages
    extra: ClassVar[str]  # the extra of ramify that installs them

    @abstractmethod
    def __init__(self, live: Inference, shape: Shape) -> None: ...

    @classmethod
    def exported(cls, live: Inference, shape: Shape) -> tuple[Self, bytes | None]:
        """The network, opened, and as ``reopened`` takes it; None if only the module will do."""
        return cls(live, shape), None

    @classmethod
    def reopened(cls, content: bytes, shape: Shape) -> Self:
        """An exported network, opened without torch."""
        raise NotImplementedError

    @abstractmethod
    def run(self, observations: NDArray[np.float32]) -> Outputs:
        """Logits and values of a batch, computed in this thread."""


class Torch(Backend):
    """The module itself."""

    name, needs, extra = "torch", ("torch",), "torch"

    def __init__(self, live: Inference, shape: Shape) -> None:
        del shape  # the module takes any
        self._live = live

    def run(self, observations: NDArray[np.float32]) -> Outputs:
        import torch

        with torch.inference_mode():
            logits, values = self._live(in_order(torch.from_numpy(own(observations))))
            check_shapes(logits.shape, values.shape, len(observations))
            return logits.float().numpy(), values.float().numpy()


class OnnxRuntime(Backend):
    """A session of ONNX Runtime."""

    name, needs, extra = "onnxruntime", ("onnxruntime", "onnx"), "onnx"

    def __init__(self, live: Inference, shape: Shape) -> None:
        from ramify.networks.tracing import traced_onnx

        self._open(traced_onnx(live, shape))

    @classmethod
    def exported(cls, live: Inference, shape: Shape) -> tuple[Self, bytes]:
        from ramify.networks.tracing import traced_onnx

        content = traced_onnx(live, shape)
        return cls.reopened(content, shape), content

    @classmethod
    def reopened(cls, content: bytes, shape: Shape) -> Self:
        del shape  # the model has it
        opened = cls.__new__(cls)
        opened._open(content)
        return opened

    def _open(self, content: bytes) -> None:
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, observations: NDArray[np.float32]) -> Outputs:
        logits, values = self._session.run(["logits", "values"], {"observations": own(observations)})
        check_shapes(logits.shape, values.shape, len(observations))
        return logits, values


class OpenVino(Backend):
    """Compiled by OpenVINO, once for each batch size and each thread that calls at the same time."""

    name, needs, extra = "openvino", ("openvino",), "torch"

    def __init__(self, live: Inference, shape: Shape) -> None:
        self._open(self._converted(live, shape), shape)

    @classmethod
    def exported(cls, live: Inference, shape: Shape) -> tuple[Self, bytes | None]:
        """The length of the graph, the graph, and the weights; None without a place for temporary files."""
        opened = cls(live, shape)
        try:
            with tempfile.TemporaryDirectory() as folder:
                files = [Path(folder) / name for name in ("network.xml", "network.bin")]
                openvino().serialize(opened._model, *files)  # before it is reshaped for a batch
                graph, weights = (file.read_bytes() for file in files)
        except (OSError, RuntimeError) as error:
            logger.debug("the network for openvino cannot be kept: %s", error)
            return opened, None
        return opened, len(graph).to_bytes(LENGTH_BYTES) + graph + weights

    @classmethod
    def reopened(cls, content: bytes, shape: Shape) -> Self:
        end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES])
        opened = cls.__new__(cls)
        opened._open(core().read_model(content[LENGTH_BYTES:end], content[end:]), shape)
        return opened

    @staticmethod
    def _converted(live: Inference, shape: Shape) -> Any:
        from ramify.networks.tracing import frozen

        openvino()
        frontends: Any = importlib.import_module("openvino.frontend")
        decoders: Any = importlib.import_module("openvino.frontend.pytorch.ts_decoder")
        frontend = frontends.FrontEndManager().load_by_framework("pytorch")
        decoder = decoders.TorchScriptPythonDecoder(frozen(live, shape))  # has to live as long as the conversion takes
        model = frontend.convert(frontend.load(decoder))
        model.inputs[0].get_node().set_element_type(openvino().Type.f32)  # not always found by the conversion
        model.validate_nodes_and_infer_types()
        return model

    def _open(self, model: Any, shape: Shape) -> None:
        self._model, self._shape = model, shape
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


def open_backend(name: str, live: Callable[[], Inference], shape: Shape, kept: Kept | None = None) -> Backend:
    """Open a network; raises an ImportError if the library is not installed, and whatever the library raises.

    What was ``kept`` of it is opened without a call of ``live``; otherwise it is kept now, if the library computes the
    same from it.
    """
    kind = KINDS[name]
    if missing := [package for package in kind.needs if find_spec(package) is None]:
        raise ImportError(f"the backend {name} needs {' and '.join(missing)}: pip install 'ramify[{kind.extra}]'")
    if kept is not None and (content := kept.read(name)) is not None:
        try:
            return kind.reopened(content, shape)
        except Exception as error:  # whatever a library raises
            logger.debug("%s cannot read what was kept: %s", name, error)
    if kept is None:
        return run_calls([lambda: kind(live(), shape)], 1)[0]
    opened, content = run_calls([lambda: kind.exported(live(), shape)], 1)[0]
    if content is not None:
        keep(opened, content, shape, kept)
    return opened


def keep(opened: Backend, content: bytes, shape: Shape, kept: Kept) -> None:
    """Keep a network as its library reads it, unless results would be others, if only by the last bit."""
    try:
        again = opened.reopened(content, shape)
        for rows in COMPARED:
            observations = np.random.default_rng(rows).random((rows, *shape), np.float32)
            results = zip(opened.run(observations), again.run(observations), strict=True)
            if not all(np.array_equal(one, other) for one, other in results):
                logger.debug("%s does not compute the same from an exported network: it is not kept", opened.name)
                return
    except Exception as error:  # whatever a library raises
        logger.debug("the network for %s cannot be kept: %s", opened.name, error)
        return
    kept.keep(opened.name, content)


def in_order(x: Tensor) -> Tensor:
    """Planes in channels-last memory format; anything else unchanged."""
    import torch

    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


def own(observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """The observations as a contiguous array that libraries take: they refuse one that is read-only."""
    given = np.ascontiguousarray(observations, np.float32)
    return given if given.flags.writeable else given.copy()
