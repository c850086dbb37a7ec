"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from ramify import evaluators
from ramify.evaluators import late as _late
from ramify.games import (
    BrokenGame,
    Game,
    IllegalAction,
    InvalidInput,
    PythonGame,
    State,
    check_game,
    games,
    make,
    register,
)
from ramify.search import (
    Batch,
    Evaluation,
    Evaluator,
    EvaluatorError,
    SearchConfig,
    Searcher,
    SearchResult,
    equilibria,
    search,
)
from ramify.search.alphabeta import alphabeta

if TYPE_CHECKING:
    from pathlib import Path

    # Loaded when first used, see below; type checkers and editors know them from here.
    from ramify import arena as arena
    from ramify import hex as hex
    from ramify import networks as networks
    from ramify import protocols as protocols
    from ramify import selfplay as selfplay
    from ramify import store as store
    from ramify import training as training
    from ramify.networks import Network, Pretrained

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BrokenGame",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "Game",
    "IllegalAction",
    "InvalidInput",
    "PythonGame",
    "SearchConfig",
    "SearchResult",
    "Searcher",
    "State",
    "alphabeta",
    "check_game",
    "equilibria",
    "evaluators",
    "games",
    "make",
    "pretrained",
    "register",
    "search",
]


# Loaded when first used: some bring torch or a database along.
_LATE_PACKAGES = ("arena", "hex", "networks", "protocols", "selfplay", "store", "training")


def _package(name: str) -> ModuleType:
    import importlib

    return importlib.import_module(f"ramify.{name}")


@overload
def pretrained(name: None = None, device: str | None = None, **settings: Any) -> list[Pretrained]: ...
@overload
def pretrained(name: str, device: str | None = None, **settings: Any) -> Network: ...
def pretrained(name: str | None = None, device: str | None = None, **settings: Any) -> Network | list[Pretrained]:
    """The evaluator of a network that comes with the package; without a name, a list of them. Needs torch."""
    from ramify.networks import pretrained as find

    return find(name, device, **settings)


def _shipped_file(name: str) -> Path:
    from ramify.networks.pretrained import find

    return find(name).file


_late.provide("Network", lambda: _package("networks").Network)
_late.provide("onnx_bytes", lambda: _package("networks").onnx_bytes)
_late.provide("network_file", lambda: _shipped_file)


if not TYPE_CHECKING:  # type checkers know the packages, so that a misspelt name is an error there

    def __getattr__(name: str) -> ModuleType:
        if name in _LATE_PACKAGES:
            return _package(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_LATE_PACKAGES]
