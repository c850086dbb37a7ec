"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from ramify import evaluators
from ramify.games import Game, IllegalAction, InvalidInput, State, games, make, register
from ramify.search import (
    Batch,
    Evaluation,
    Evaluator,
    EvaluatorError,
    SearchConfig,
    Searcher,
    SearchResult,
    search,
)

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "Game",
    "IllegalAction",
    "InvalidInput",
    "SearchConfig",
    "SearchResult",
    "Searcher",
    "State",
    "evaluators",
    "games",
    "make",
    "register",
    "search",
]
