"""The settings of the transcriptions, under the names that ``SearchConfig`` gives them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities from logits, in float32."""
    powers = np.exp(logits - logits.max(), dtype=np.float32)
    return powers / powers.sum(dtype=np.float32)


@dataclass(frozen=True)
class Config:
    """Every setting that some transcription knows; see ``graph_search`` for their exact meaning."""

    c_puct: float = 1.0
    c_base: float | None = None
    parent_visits: str = "node"  # or "edges"
    fpu: str = "zero"  # or "parent", "reduction"
    fpu_offset: float = 0.1
    discount: float = 1.0
    error_scale: float | None = None
    graph: bool = False
    short_circuit: bool = False
    opponent_weights: str = "conditional"  # or "prior", "visits", "blended"
    normalize: str = "none"  # or "minmax"
    forced_playouts: float = 0.0
    forced_form: str = "sqrt"  # or "linear"
    forced_by: str = "player"  # or "pair"
    chance_widening: float = 1.0
    chance_exponent: float = 0.5
    chance_explicit: int = 64
    priors_from_logits: Callable[[NDArray[np.float32]], NDArray[np.float32]] = softmax

    def __post_init__(self) -> None:
        options = {
            "parent_visits": ("node", "edges"),
            "fpu": ("zero", "parent", "reduction"),
            "opponent_weights": ("conditional", "prior", "visits", "blended"),
            "normalize": ("none", "minmax"),
            "forced_form": ("sqrt", "linear"),
            "forced_by": ("player", "pair"),
        }
        for name, known in options.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {known}, not {getattr(self, name)!r}")

    def require(self, **values: Any) -> None:
        """Refuse a setting that the calling transcription would silently ignore."""
        for name, value in values.items():
            if getattr(self, name) != value:
                raise ValueError(f"this search knows only {name}={value!r}, not {getattr(self, name)!r}")
