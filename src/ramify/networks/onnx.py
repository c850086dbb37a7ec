"""Export of networks as ONNX models."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ramify.base.files import write_atomically
from ramify.base.onnx_files import BLANK, CHECKSUM, WEIGHTS, sealed
from ramify.networks.build import network_id
from ramify.networks.modules import GameNetwork, Inference, PlainNetwork
from ramify.networks.tracing import RECORDING

PREFIX = "network."  # of the weights' names inside Inference
KEPT = 8  # models kept by architecture: an export takes seconds
_EXPORTED: dict[Hashable, bytes] = {}


def onnx_bytes(module: nn.Module, observation_shape: tuple[int, ...] | None = None) -> bytes:
    """The network as an ONNX model for any batch size and one board size.

    Nothing is folded or fused here (the runtime does that when it opens the model), so every weight keeps its name and
    can be replaced without a new export.
    """
    if observation_shape is None:
        if not isinstance(module, GameNetwork):
            raise ValueError("observation_shape is required for a module that was not created by ramify.networks")
        observation_shape = module.spec.observation_shape
    if isinstance(module, GameNetwork):
        module.check_shape(tuple(observation_shape))
    model = _model(module, tuple(observation_shape))
    _label(model, module)
    return sealed(model.SerializeToString())


def _model(module: nn.Module, observation_shape: tuple[int, ...]) -> Any:
    """The exported model without labels; of an architecture that was exported before, only the weights are replaced."""
    from onnx import load_model_from_string

    weights = module.state_dict()
    if not isinstance(module, GameNetwork) or isinstance(module, PlainNetwork):
        return _export(module, observation_shape)  # its code may depend on more than what is compared below
    shapes = tuple((name, weight.shape, weight.dtype) for name, weight in weights.items())
    described = type(module), repr(module), repr(module.config), repr(module.spec)
    key = (*described, observation_shape, shapes)
    known = _EXPORTED.pop(key, None)
    if known is None:
        model = _export(module, observation_shape)
        known = model.SerializeToString()
    else:
        model = load_model_from_string(known)
        for constant in model.graph.initializer:
            if (name := constant.name.removeprefix(PREFIX)) in weights:
                constant.raw_data = weights[name].detach().cpu().numpy().tobytes()
    _EXPORTED[key] = known  # the last one is the most recently used
    while len(_EXPORTED) > KEPT:
        del _EXPORTED[next(iter(_EXPORTED))]
    return model


def _export(module: nn.Module, observation_shape: tuple[int, ...]) -> Any:
    training = module.training
    inference = Inference(module).eval()
    try:
        example = torch.zeros(2, *observation_shape)
        with RECORDING, _quiet(), sdpa_kernel(SDPBackend.MATH):  # attention in steps that the exporter can follow
            program = torch.onnx.export(
                inference,
                (example,),
                dynamo=True,
                optimize=False,
                verbose=False,
                input_names=["observations"],
                output_names=["logits", "values"],
                dynamic_shapes=({0: torch.export.Dim("rows")},),
            )
    finally:
        module.train(training)
    assert program is not None
    return program.model_proto


def _label(model: Any, module: nn.Module) -> None:
    """Write the network's description and the names of its weights to the metadata, with space for a checksum."""
    constants = {constant.name for constant in model.graph.initializer}
    weights = {name: PREFIX + name for name in module.state_dict() if PREFIX + name in constants}
    labels = {WEIGHTS: json.dumps(weights), "ramify.network_id": network_id(module), CHECKSUM: BLANK}
    if isinstance(module, GameNetwork):
        labels["ramify.game"] = json.dumps({"name": module.spec.game, "params": module.spec.params})
        labels["ramify.network"] = module.config.model_dump_json()
    for key, value in labels.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value


def export_onnx(
    path: str | os.PathLike[str], module: nn.Module, observation_shape: tuple[int, ...] | None = None
) -> Path:
    """Export the network as an ONNX model, atomically; returns the file."""
    file = Path(path)
    write_atomically(file, onnx_bytes(module, observation_shape))
    return file


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's warnings about its own deprecations and optional packages."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
