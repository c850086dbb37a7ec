"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from typing import Any

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


def _package(name: str) -> Any:
    import importlib

    return importlib.import_module(f"ramify.{name}")


def pretrained(name: str | None = None, device: str | None = None, **settings: Any) -> Any:
    """The evaluator of a network that comes with the package; without a name, a list of them. Needs torch."""
    return _package("networks").pretrained(name, device, **settings)


def _shipped_file(name: str) -> Any:
    return _package("networks.pretrained").find(name).file


_late.provide("Network", lambda: _package("networks").Network)
_late.provide("onnx_bytes", lambda: _package("networks").onnx_bytes)
_late.provide("network_file", lambda: _shipped_file)


def __getattr__(name: str) -> Any:
    if name in _LATE_PACKAGES:
        return _package(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_LATE_PACKAGES]
