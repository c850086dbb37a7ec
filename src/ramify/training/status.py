"""How far a run is, for progress displays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NodeStatus:
    """What a node of the cluster does."""

    host: str
    processes: int
    games: int  # handed over
    positions_per_s: float
    evaluations_per_s: float
    age: int  # of the oldest weights in use, in versions
    waiting: bool  # for training, or for weights


@dataclass
class Status:
    """Status of a run, for progress displays."""

    phase: str = "starting"
    iteration: int = 0
    iterations: int = 0
    step: int = 0
    share: float = 0.0  # completed fraction of the phase
    done: float = 0.0  # completed fraction of the run
    seconds: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)  # of iterations
    nodes: list[NodeStatus] = field(default_factory=list)  # of the cluster that plays the games


Show = Callable[[Status], None]
