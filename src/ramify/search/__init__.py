"""Search: settings, the searcher that drives the engine, and what it finds."""

from ramify._core import EvaluatorError
from ramify.search import equilibria
from ramify.search.alphabeta import AlphaBetaConfig, AlphaBetaResult
from ramify.search.batch import Batch, Evaluation, Evaluator, LatentModel, LatentOutput, NativeEvaluator
from ramify.search.config import SearchConfig
from ramify.search.result import SearchResult
from ramify.search.searcher import Searcher, search

__all__ = [
    "AlphaBetaConfig",
    "AlphaBetaResult",
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
    "equilibria",
    "search",
]

# `ramify.search` is both this package and, as users write it, the function ramify.search(state). The package attribute
# is the function, so the function answers for the package: `import ramify.search.config as c` and
# `ramify.search.SearchConfig` work as if it were the module.
search.__name__ = __name__
vars(search).update({name: globals()[name] for name in __all__})
