"""A network with one set of weights, in memory or in a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ramify.evaluators.kept import Facts, Kept, Shape

if TYPE_CHECKING:
    from torch import nn


class Weights:
    """A module that is loaded when it is first needed, and what is kept of it for starts without torch."""

    def __init__(self, load: Callable[[], nn.Module], kept: Kept | None = None, facts: Facts | None = None) -> None:
        self._load, self._kept, self.facts = load, kept, facts
        self._module: nn.Module | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, module: nn.Module | Weights) -> Weights:
        """Those of a module; weights are returned as they are."""
        return module if isinstance(module, Weights) else cls(lambda: module)

    def folded(self) -> Weights:
        """Those of the network as it is evaluated."""

        def load() -> nn.Module:
            from ramify.networks.blocks import folded

            return folded(self.module)

        return Weights(load, self._kept, self.facts)

    @property
    def module(self) -> nn.Module:
        """The module."""
        with self._lock:
            if self._module is None:
                self._module = self._load()
            return self._module

    def facts_of(self, shape: Shape) -> Facts | None:
        """What is known of the network for observations of this shape without loading it."""
        return self.facts if self.facts is not None and self.facts.shape == shape else None

    def kept_of(self, shape: Shape) -> Kept | None:
        """Where its exports for observations of this shape are kept."""
        return None if self.facts_of(shape) is None else self._kept
