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
    "register",
    "search",
]


def _networks() -> Any:
    """ramify.networks, which brings torch along: loaded when something of it is first used."""
    import importlib

    return importlib.import_module("ramify.networks")


_late.provide("Network", lambda: _networks().Network)
_late.provide("onnx_bytes", lambda: _networks().onnx_bytes)


def __getattr__(name: str) -> Any:
    if name == "networks":
        return _networks()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "networks"]
