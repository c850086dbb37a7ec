"""Evaluators: what a search asks for priors and values.

``Network`` (torch) is here too, loaded when it is first used: it comes from ``ramify.networks``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ramify.evaluators import late as _late
from ramify.evaluators.cache import Cached
from ramify.evaluators.ensemble import Ensemble
from ramify.evaluators.onnx import Onnx
from ramify.evaluators.pending import Pending
from ramify.evaluators.simple import Function, Rollout, Uniform
from ramify.evaluators.symmetries import Symmetries
from ramify.search.batch import Batch, Evaluation, Evaluator

__all__ = [
    "Batch",
    "Cached",
    "Ensemble",
    "Evaluation",
    "Evaluator",
    "Function",
    "Onnx",
    "Pending",
    "Rollout",
    "Symmetries",
    "Uniform",
]


if TYPE_CHECKING:
    Network: Callable[..., _late.NetworkEvaluator]  # the class itself is ramify.networks.Network
else:

    def __getattr__(name: str) -> Any:
        if name == "Network":
            return _late.provided(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return [*globals(), "Network"]
