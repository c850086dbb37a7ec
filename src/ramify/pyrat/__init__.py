"""PyRat on the engine: graph search with nodes to look at, an agent, policies, positions with exact values.

Every search here is one of ``ramify.Searcher``; there is no separate search.
"""

from ramify.pyrat.agent import DecoupledPUCTConfig, MCTSAgent
from ramify.pyrat.game import DIRECTIONS, PyRatGame, Undo
from ramify.pyrat.mcgs import get_visit_distribution, new_root, search
from ramify.pyrat.node import Node
from ramify.pyrat.oracle import OraclePosition, oracle_positions
from ramify.pyrat.policies import (
    compute_pruning_adjustment,
    prune_visit_counts,
    reduce_and_expand_nash,
    visits_to_marginal_policy,
)
from ramify.pyrat.predict import Predictor

__all__ = [
    "DIRECTIONS",
    "DecoupledPUCTConfig",
    "MCTSAgent",
    "Node",
    "OraclePosition",
    "Predictor",
    "PyRatGame",
    "Undo",
    "compute_pruning_adjustment",
    "get_visit_distribution",
    "new_root",
    "oracle_positions",
    "prune_visit_counts",
    "reduce_and_expand_nash",
    "search",
    "visits_to_marginal_policy",
]
