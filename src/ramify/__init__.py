"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from ramify import evaluators
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
    "check_game",
    "equilibria",
    "evaluators",
    "games",
    "make",
    "register",
    "search",
]
