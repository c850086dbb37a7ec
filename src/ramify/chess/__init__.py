"""Chess on the engine: games with python-chess moves, networks, AlphaZero's search with nodes to look at.

Every search here is one of ``ramify.Searcher``; there is no separate search.
"""

from ramify.chess.game import ChessGame
from ramify.chess.material import MaterialEvaluator
from ramify.chess.mcts import MCTS
from ramify.chess.network import MATERIAL, ROLLOUT, ChessNN, check_network, chess_evaluator
from ramify.chess.node import Node
from ramify.chess.scores import centipawns, moves_to_mate, proven_draw, proven_mate, win_draw_loss

__all__ = [
    "MATERIAL",
    "MCTS",
    "ROLLOUT",
    "ChessGame",
    "ChessNN",
    "MaterialEvaluator",
    "Node",
    "centipawns",
    "check_network",
    "chess_evaluator",
    "moves_to_mate",
    "proven_draw",
    "proven_mate",
    "win_draw_loss",
]
