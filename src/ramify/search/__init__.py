"""Search: settings, the searcher that drives the engine, and what it finds."""

from ramify._core import EvaluatorError
from ramify.search.batch import Batch, Evaluation, Evaluator, LatentModel, LatentOutput, NativeEvaluator
from ramify.search.config import SearchConfig
from ramify.search.result import SearchResult
from ramify.search.searcher import Searcher, search

__all__ = [
    "Batch",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "LatentModel",
    "LatentOutput",
    "NativeEvaluator",
    "SearchConfig",
    "SearchResult",
    "Searcher",
    "search",
]
