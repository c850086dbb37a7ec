"""Networks in ONNX Runtime: usable without torch, and exact in batches of one size."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.base.onnx_files import WEIGHTS, check_whole, sealed
from ramify.engine.batch import Batch
from ramify.evaluators.outputs import (
    Outputs,
    by_player,
    check_shapes,
    checked_buckets,
    joined,
    padded,
    padded_size,
    parts,
)
from ramify.evaluators.pending import NETWORK_C_PUCT, Pending, Ready, Submitting
from ramify.evaluators.threads import CallThreads

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

CALL_ROWS = 32  # rows per call on a CPU: larger calls are not faster, for large and small networks
Shape = tuple[int, ...]
_threads = CallThreads("ramify-onnx")


class Onnx(Submitting):
    """Runs a network with ONNX Runtime.

    ``model`` is a file (written by ``ramify.networks.export_onnx``), its bytes, or a torch module. A module is exported
    the first time each board size is evaluated, which takes seconds; a file has one size. On a CPU a batch is run in
    parts of 32 rows, or padded to ``buckets`` if given, ``threads`` of them in parallel: results do not depend on
    ``threads``. It is thread-safe.
    """

    needs_legal = False  # batches need no legal masks, so self-play leaves them out
    c_puct = NETWORK_C_PUCT
    backend = "onnxruntime"

    def __init__(
        self,
        model: Any,
        *,
        threads: int = 1,
        buckets: Sequence[int] | None = None,
        providers: Sequence[str] = ("CPUExecutionProvider",),
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.threads, self.providers, self.buckets = threads, tuple(providers), checked_buckets(buckets)
        self._on_cpu = set(self.providers) == {"CPUExecutionProvider"}
        self.version = 0  # counts changes of weights
        self._lock = threading.Lock()  # held briefly, to get a session or to replace all of them
        self._export = threading.Lock()  # one export or change of weights at a time
        self._weights: dict[str, Any] | None = None  # the last weights loaded, for sizes exported later
        self._models: dict[Shape, bytes] = {}
        self._sessions: dict[Shape, Any] = {}
        self._module: Any = None
        if hasattr(model, "state_dict"):
            self._module = copy.deepcopy(model)  # the caller may continue to train its module
        else:
            self._load(model)

    def _load(self, model: Any) -> None:
        if not isinstance(model, str | os.PathLike | bytes | bytearray):
            raise TypeError(f"model must be a path, bytes or a torch module, not {type(model).__name__}")
        if isinstance(model, bytes | bytearray):
            name, content = "this model", bytes(model)
        else:
            name, content = os.fspath(model), Path(model).read_bytes()
        check_whole(content, name)
        session = self._open(content, name)
        shape = tuple(session.get_inputs()[0].shape[1:])
        self._models[shape], self._sessions[shape] = content, session

    def _open(self, content: bytes, name: str = "this model") -> Any:
        ort = _import("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # parallel calls use threads of this class
        options.log_severity_level = 3  # errors
        try:
            session = ort.InferenceSession(content, options, providers=list(self.providers))
        except Exception as error:  # the runtime's errors have no common base class
            reason = " ".join(str(error).split())
            raise ValueError(f"{name} is damaged, or not an ONNX model: {reason}") from None
        names = [output.name for output in session.get_outputs()]
        if names[:2] != ["logits", "values"] or len(session.get_inputs()) != 1:
            raise ValueError(f"the model must have one input and the outputs logits and values, not {names}")
        return session

    def session(self, shape: Shape) -> InferenceSession:
        """The session for observations of this shape; created on first use."""
        with self._lock:
            if shape in self._sessions:
                return self._sessions[shape]
        if self._module is None:
            known = ", ".join(str(list(known)) for known in self._models)
            raise EvaluatorError(f"the model needs observations of shape {known}, not {list(shape)}")
        with self._export:
            if shape not in self._sessions:
                from ramify.networks.onnx import (
                    onnx_bytes,
                )  # imports torch, which is loaded already because there is a module

                content = onnx_bytes(self._module, shape)
                if self._weights is not None:
                    content = with_weights(content, self._weights)
                session = self._open(content)
                with self._lock:
                    self._models[shape], self._sessions[shape] = content, session
            return self._sessions[shape]

    @property
    def shape(self) -> tuple[Shape, int | str]:
        """The observation shape and the number of actions of a model from a file (text for a dynamic dimension)."""
        ((observations, session),) = self._sessions.items()
        return observations, session.get_outputs()[0].shape[-1]

    def submit(self, batch: Batch) -> Pending:
        session = self.session(batch.observations.shape[1:])
        sizes = self.buckets or ((CALL_ROWS,) if self._on_cpu else None)
        calls = [partial(self._call, session, batch.observations[part]) for part in parts(len(batch), sizes)]
        return Ready(by_player(joined(_threads.run(calls, self.threads, here=True)), batch.acting))

    def _call(self, session: Any, observations: NDArray[np.float32]) -> Outputs:
        rows = padded(observations, padded_size(len(observations), self.buckets))
        given = {session.get_inputs()[0].name: np.ascontiguousarray(rows, np.float32)}
        logits, values = session.run(["logits", "values"], given)
        check_shapes(logits.shape, values.shape, len(rows))
        return logits[: len(observations)], values[: len(observations)]

    def load_weights(self, weights: Any) -> None:
        """Load weights (a state dict or a module) between two batches.

        Weights are constants of a session, so that the runtime can fold and reorder them: new ones get a new session
        (tens of milliseconds, no new export). Batches under way finish with the old one.
        """
        given = dict(weights.state_dict() if hasattr(weights, "state_dict") else weights)
        arrays = {name: as_array(value) for name, value in given.items()}
        check_finite(arrays)
        with self._export:
            models = {shape: with_weights(content, arrays) for shape, content in self._models.items()}
            sessions = {shape: self._open(content) for shape, content in models.items()}
            with self._lock:
                self._models, self._sessions, self._weights = models, sessions, arrays
                self.version += 1


def with_weights(content: bytes, weights: Mapping[str, NDArray[Any]]) -> bytes:
    """A model with other weights."""
    onnx = _import("onnx")
    model = onnx.load_model_from_string(content)
    table = {entry.key: entry.value for entry in model.metadata_props}.get(WEIGHTS)
    if table is None:
        raise ValueError("the model does not list its weights: export it with ramify.networks.export_onnx")
    constants = {constant.name: constant for constant in model.graph.initializer}
    for name, constant_name in json.loads(table).items():
        if name not in weights:
            raise ValueError(f"the weights do not contain {name}")
        constant, array = constants[constant_name], weights[name]
        if tuple(constant.dims) != array.shape:
            raise ValueError(f"{name} must have shape {list(constant.dims)}, not {list(array.shape)}")
        wanted = onnx.helper.tensor_dtype_to_np_dtype(constant.data_type)
        constant.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(array, wanted), constant_name))
    return sealed(model.SerializeToString())


def check_finite(weights: Mapping[str, NDArray[Any]]) -> None:
    """Raise a ValueError that names a weight that is not finite."""
    for name, array in weights.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"the weights of {name} are not all finite: training may have diverged")


def as_array(value: Any) -> NDArray[Any]:
    """A copy of a torch tensor, on any device, or of an array-like as an array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()
    return np.array(value)


def _import(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"ONNX models need {name}: pip install 'ramify[onnx]'") from error
