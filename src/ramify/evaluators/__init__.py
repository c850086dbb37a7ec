"""Evaluators: they give a search the priors and values of positions.

``LatentNetwork``, ``Network``, ``RunConfig``, ``network_evaluator`` and ``pretrained`` need torch and are imported on
first use.
"""

from typing import TYPE_CHECKING, Any

from ramify.engine.batch import Batch, Evaluation, Evaluator
from ramify.evaluators.cache import Cached
from ramify.evaluators.ensemble import Ensemble
from ramify.evaluators.onnx import Onnx
from ramify.evaluators.pending import Pending
from ramify.evaluators.simple import Function, GreedyRollout, Planner, Rollout, Uniform
from ramify.evaluators.symmetries import Symmetries

__all__ = [
    "Batch",
    "Cached",
    "Ensemble",
    "Evaluation",
    "Evaluator",
    "Function",
    "GreedyRollout",
    "LatentNetwork",
    "Network",
    "Onnx",
    "Pending",
    "Planner",
    "Rollout",
    "RunConfig",
    "Symmetries",
    "Uniform",
    "network_evaluator",
    "pretrained",
]


if TYPE_CHECKING:
    from ramify.evaluators.latent import LatentNetwork
    from ramify.evaluators.network import Network, network_evaluator, pretrained
    from ramify.evaluators.run_config import RunConfig

_TORCH = ("Network", "RunConfig", "network_evaluator", "pretrained")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _TORCH:
            from ramify.evaluators import network

            return getattr(network, name)
        if name == "LatentNetwork":
            from ramify.evaluators.latent import LatentNetwork

            return LatentNetwork
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_TORCH, "LatentNetwork"]
