"""Torch networks for games, and their files. Imported on first use; ``rf.evaluators.Network`` evaluates them."""

import sys as _sys
from typing import TYPE_CHECKING

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("networks need torch: pip install 'ramify[torch]'") from error

from ramify.base.deprecation import renamed as _renamed
from ramify.networks.blocks import folded
from ramify.networks.build import describe, make, network_id, parameter_counts
from ramify.networks.config import (
    AttentionConfig,
    CellsAttentionConfig,
    DestinationsConfig,
    MLPConfig,
    MuZeroConfig,
    MuZeroMLPConfig,
    NetworkConfig,
    Registry,
    ResNetConfig,
    SymmetricMLPConfig,
    config_of,
)
from ramify.networks.files import load, save
from ramify.networks.flops import flops
from ramify.networks.layouts import Layout, Spec, policy_layout, register_layout
from ramify.networks.learned import LearnedModel, MuZero, MuZeroMLP
from ramify.networks.modules import MLP, GameNetwork, ResNet
from ramify.networks.onnx import export_onnx, onnx_bytes
from ramify.networks.pretrained import Pretrained, shipped
from ramify.networks.structural import CellsAttention, Destinations, SymmetricMLP
from ramify.networks.transformer import AttentionNetwork

__all__ = [
    "MLP",
    "AttentionConfig",
    "AttentionNetwork",
    "CellsAttention",
    "CellsAttentionConfig",
    "Destinations",
    "DestinationsConfig",
    "GameNetwork",
    "Layout",
    "LearnedModel",
    "MLPConfig",
    "MuZero",
    "MuZeroConfig",
    "MuZeroMLP",
    "MuZeroMLPConfig",
    "NetworkConfig",
    "Pretrained",
    "Registry",
    "ResNet",
    "ResNetConfig",
    "Spec",
    "SymmetricMLP",
    "SymmetricMLPConfig",
    "config_of",
    "describe",
    "export_onnx",
    "flops",
    "folded",
    "load",
    "make",
    "network_id",
    "onnx_bytes",
    "parameter_counts",
    "policy_layout",
    "register_layout",
    "save",
    "shipped",
]

# These run networks, so they are evaluators, in a layer that this one does not know: the front door does.
_MOVED = {"Network": "Network", "RunConfig": "RunConfig", "evaluator": "network_evaluator", "pretrained": "pretrained"}
if not TYPE_CHECKING:  # type checkers know the new names only
    __getattr__ = _renamed(
        __name__,
        {
            old: (f"ramify.evaluators.{new}", lambda new=new: getattr(_sys.modules["ramify"].evaluators, new))  # type: ignore[misc]
            for old, new in _MOVED.items()
        },
    )
