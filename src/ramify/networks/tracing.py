"""Networks recorded as TorchScript: in a tenth of a second, where an export by ``networks.onnx`` takes seconds."""

from __future__ import annotations

import copy
import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ramify.networks.modules import Inference

# One thread at a time: torch and Python's warnings keep what they do here in variables of the whole process.
RECORDING = threading.RLock()
ROWS = 2  # of the example: a batch of one row would be recorded as one that never has more


@torch.no_grad()
def traced(network: nn.Module, observation_shape: tuple[int, ...]) -> torch.jit.ScriptModule:
    """The calls that a network makes for observations of this shape, for any number of rows.

    Raises a ValueError for a module that decides by the values of tensors: a recording would always decide the same.
    """
    module = copy.deepcopy(network).to(memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]
    inner = module.network if isinstance(module, Inference) else module
    example = torch.zeros(ROWS, *observation_shape)
    with RECORDING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = torch.jit.trace(module, (example,), check_trace=False)  # type: ignore[no-untyped-call]
    # Our own modules compute with sizes only. What others compute in Python cannot be told apart from decisions.
    doubts = [str(one.message) for one in caught if issubclass(one.category, torch.jit._trace.TracerWarning)]
    if doubts and getattr(inner, "decides_by_values", True):
        raise ValueError(f"{type(inner).__name__} cannot be recorded: {doubts[0]}")
    assert isinstance(found, torch.jit.ScriptModule)
    return found


def frozen(network: nn.Module, observation_shape: tuple[int, ...]) -> torch.jit.ScriptModule:
    """As ``traced``, with the weights as constants, which makes it quicker to convert."""
    recorded = traced(network, observation_shape)
    with RECORDING, _quiet():
        found = torch.jit.freeze(recorded)
    assert isinstance(found, torch.jit.ScriptModule)
    return found


def traced_onnx(network: nn.Module, observation_shape: tuple[int, ...]) -> bytes:
    """An ONNX model of the recorded network; quick to make, but weights are folded in and cannot be replaced."""
    recorded, file = traced(network, observation_shape), io.BytesIO()
    names = ["observations", "logits", "values"]
    with RECORDING, _quiet(), torch.no_grad():
        torch.onnx.export(
            recorded,
            (torch.zeros(ROWS, *observation_shape),),
            file,  # type: ignore[arg-type]
            dynamo=False,
            input_names=names[:1],
            output_names=names[1:],
            dynamic_axes={name: {0: "rows"} for name in names},
        )
    return file.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings that TorchScript is old."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
