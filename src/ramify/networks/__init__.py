"""Torch networks for games, their files, and the evaluator that runs them. Loaded when first used."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("networks need torch: pip install 'ramify[torch]'") from error

from ramify.networks.blocks import folded
from ramify.networks.build import describe, make, network_id, parameter_counts
from ramify.networks.config import MLPConfig, NetworkConfig, Registry, ResNetConfig, config_of
from ramify.networks.evaluator import Network, RunConfig, evaluator
from ramify.networks.files import load, save
from ramify.networks.layouts import Layout, Spec, policy_layout, register_layout
from ramify.networks.modules import MLP, GameNetwork, ResNet
from ramify.networks.onnx import export_onnx, onnx_bytes
from ramify.networks.pretrained import Pretrained, pretrained

__all__ = [
    "MLP",
    "GameNetwork",
    "Layout",
    "MLPConfig",
    "Network",
    "NetworkConfig",
    "Pretrained",
    "Registry",
    "ResNet",
    "ResNetConfig",
    "RunConfig",
    "Spec",
    "config_of",
    "describe",
    "evaluator",
    "export_onnx",
    "folded",
    "load",
    "make",
    "network_id",
    "onnx_bytes",
    "parameter_counts",
    "policy_layout",
    "pretrained",
    "register_layout",
    "save",
]
