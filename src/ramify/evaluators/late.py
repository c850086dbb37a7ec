"""What this package needs from layers below it.

The network evaluator needs torch, so it lives in ``ramify.networks``, below this package, and must not be loaded
before somebody asks for it; nor may the exporter. The front door, below both, says here how to get them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_loaders: dict[str, Callable[[], Any]] = {}


def provide(name: str, load: Callable[[], Any]) -> None:
    """``load()`` gives what this name stands for; it is called when the name is first used."""
    _loaders[name] = load


def provided(name: str) -> Any:
    """What this name stands for; raises KeyError if nobody has provided it."""
    return _loaders[name]()
