"""What this package needs from layers below it.

The network evaluator needs torch, so it lives in ``ramify.networks``, below this package, and must not be loaded
before somebody asks for it; nor may the exporter. The front door, below both, says here how to get them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ramify.evaluators.pending import Pending
from ramify.search.batch import Batch, Evaluation

_loaders: dict[str, Callable[[], Any]] = {}


class NetworkEvaluator(Protocol):
    """What ``rf.evaluators.Network(module)`` gives, for type checkers; the class is ``ramify.networks.Network``."""

    @property
    def version(self) -> int:
        """Counts changes of weights."""
        ...

    def evaluate(self, batch: Batch) -> Evaluation: ...
    def submit(self, batch: Batch) -> Pending:
        """Hand the batch over; the answer comes when it is asked for."""
        ...

    def load_weights(self, weights: Any) -> None:
        """Change to these weights (a state dict or a module) between two batches."""
        ...


def provide(name: str, load: Callable[[], Any]) -> None:
    """``load()`` gives what this name stands for; it is called when the name is first used."""
    _loaders[name] = load


def provided(name: str) -> Any:
    """What this name stands for; raises KeyError if nobody has provided it."""
    return _loaders[name]()
