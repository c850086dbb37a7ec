"""PyRat on the engine: graph search with nodes to look at, and positions whose exact values are known.

Every search here is one of ``ramify.Searcher``; there is no separate search.
"""

from ramify.pyrat.game import DIRECTIONS, PyRatGame, Undo
from ramify.pyrat.mcgs import get_visit_distribution, new_root, search
from ramify.pyrat.node import Node
from ramify.pyrat.oracle import OraclePosition, oracle_positions
from ramify.pyrat.predict import Predictor

__all__ = [
    "DIRECTIONS",
    "Node",
    "OraclePosition",
    "Predictor",
    "PyRatGame",
    "Undo",
    "get_visit_distribution",
    "new_root",
    "oracle_positions",
    "search",
]
