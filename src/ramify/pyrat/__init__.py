"""PyRat: positions whose exact values are known, payoffs by playing on, and how directly players collect cheese."""

from ramify.pyrat.efficiency import Collected, collected, distances, shortest_tour
from ramify.pyrat.oracle import OraclePosition, oracle_positions
from ramify.pyrat.playouts import PlayedOut, played_out_payoffs

__all__ = [
    "Collected",
    "OraclePosition",
    "PlayedOut",
    "collected",
    "distances",
    "oracle_positions",
    "played_out_payoffs",
    "shortest_tour",
]
