"""A Hex interface to the engine: positions, neural-guided search, self-play and players.

Every class uses ``ramify.Searcher`` or ``ramify.selfplay``; there is no separate search here.
"""

from ramify.hex.config import MCTS_CONFIG, MCTSConfig
from ramify.hex.engines import BatchedMCTSPlayer, BatchedMCTSSelfPlayEngine, SelfPlayEngine, select_move
from ramify.hex.mcts import BatchedNeuralMCTS, NeuralMCTS
from ramify.hex.model import SimpleModelInference, evaluator_for
from ramify.hex.node import BatchedMCTSNode, MCTSNode
from ramify.hex.orchestrator import Orchestrator
from ramify.hex.state import HexGameState, Move

__all__ = [
    "MCTS_CONFIG",
    "BatchedMCTSNode",
    "BatchedMCTSPlayer",
    "BatchedMCTSSelfPlayEngine",
    "BatchedNeuralMCTS",
    "HexGameState",
    "MCTSConfig",
    "MCTSNode",
    "Move",
    "NeuralMCTS",
    "Orchestrator",
    "SelfPlayEngine",
    "SimpleModelInference",
    "evaluator_for",
    "select_move",
]
