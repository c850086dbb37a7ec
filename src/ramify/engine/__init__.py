"""The search engine: settings, ``Searcher``, results, and the evaluator interface."""

from ramify._core import EvaluatorError
from ramify.engine import equilibria
from ramify.engine.alphabeta import AlphaBetaConfig, AlphaBetaResult
from ramify.engine.batch import Batch, Evaluation, Evaluator, LatentModel, LatentOutput, NativeEvaluator
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.engine.policies import NashConfig
from ramify.engine.result import SearchResult
from ramify.engine.searcher import Searcher, search

__all__ = [
    "AlphaBetaConfig",
    "AlphaBetaResult",
    "Batch",
    "Evaluation",
    "EvaluationCache",
    "Evaluator",
    "EvaluatorError",
    "LatentModel",
    "LatentOutput",
    "NashConfig",
    "NativeEvaluator",
    "SearchConfig",
    "SearchResult",
    "Searcher",
    "equilibria",
    "search",
]
