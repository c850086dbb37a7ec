"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from ramify import evaluators, games
from ramify.engine import (
    Batch,
    Evaluation,
    Evaluator,
    EvaluatorError,
    NashConfig,
    SearchConfig,
    Searcher,
    SearchResult,
    equilibria,
    search,
)
from ramify.engine.alphabeta import alphabeta
from ramify.games import (
    BrokenGame,
    Game,
    IllegalAction,
    InvalidInput,
    PythonGame,
    State,
    check_game,
    list_games,
    make,
    register,
)

if TYPE_CHECKING:
    from ramify import adapters, arena, chess, hex, muzero, networks, protocols, pyrat, selfplay, store, training
    from ramify.evaluators.network import Network
    from ramify.networks import Pretrained

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
    "NashConfig",
    "PythonGame",
    "SearchConfig",
    "SearchResult",
    "Searcher",
    "State",
    "adapters",
    "alphabeta",
    "arena",
    "check_game",
    "chess",
    "equilibria",
    "evaluators",
    "games",
    "hex",
    "list_games",
    "make",
    "muzero",
    "networks",
    "pretrained",
    "protocols",
    "pyrat",
    "register",
    "search",
    "selfplay",
    "store",
    "training",
]

# Loaded when first used: some bring torch or a database along.
_LAZY_PACKAGES = (
    "adapters",
    "arena",
    "chess",
    "hex",
    "muzero",
    "networks",
    "protocols",
    "pyrat",
    "selfplay",
    "store",
    "training",
)


@overload
def pretrained(name: None = None) -> "list[Pretrained]": ...
@overload
def pretrained(name: str, device: str | None = None, **settings: Any) -> "Network": ...
def pretrained(name: str | None = None, device: str | None = None, **settings: Any) -> "list[Pretrained] | Network":
    """The evaluator of a network shipped with the package; without a name, the list of these networks. Needs torch."""
    if name is None:
        from ramify.networks import shipped

        return shipped()
    return evaluators.pretrained(name, device, **settings)


if not TYPE_CHECKING:  # type checkers know the packages, so that a misspelt name is an error there

    def __getattr__(name: str) -> ModuleType:
        if name in _LAZY_PACKAGES:
            import importlib

            return importlib.import_module(f"ramify.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_LAZY_PACKAGES]
