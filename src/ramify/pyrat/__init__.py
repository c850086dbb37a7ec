"""PyRat on the engine: graph search with nodes to look at, an agent, policies, positions with exact values.

Every search here is one of ``ramify.Searcher``; there is no separate search.
"""

from ramify.pyrat.agent import DecoupledPUCTConfig, MCTSAgent
from ramify.pyrat.efficiency import Collected, collected, distances, shortest_tour
from ramify.pyrat.game import DIRECTIONS, PyRatGame, Undo
from ramify.pyrat.mcgs import get_visit_distribution, new_root, search
from ramify.pyrat.node import Node
from ramify.pyrat.oracle import OraclePosition, oracle_positions
from ramify.pyrat.playouts import PlayedOut, played_out_payoffs
from ramify.pyrat.policies import (
    compute_pruning_adjustment,
    prune_visit_counts,
    reduce_and_expand_nash,
    visits_to_marginal_policy,
)
from ramify.pyrat.predict import Predictor

__all__ = [
    "DIRECTIONS",
    "Collected",
    "DecoupledPUCTConfig",
    "MCTSAgent",
    "Node",
    "OraclePosition",
    "PlayedOut",
    "Predictor",
    "PyRatGame",
    "Undo",
    "collected",
    "compute_pruning_adjustment",
    "distances",
    "get_visit_distribution",
    "new_root",
    "oracle_positions",
    "played_out_payoffs",
    "prune_visit_counts",
    "reduce_and_expand_nash",
    "search",
    "shortest_tour",
    "visits_to_marginal_policy",
]
