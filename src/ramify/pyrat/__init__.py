"""PyRat: positions whose exact values are known."""

from ramify.pyrat.oracle import OraclePosition, oracle_positions

__all__ = ["OraclePosition", "oracle_positions"]
