"""A MuZero interface to the engine: searches of a learned model, from any network that is one.

Every class uses ``ramify.Searcher``; there is no separate search here.
"""

from ramify.muzero.config import MCTSConfig
from ramify.muzero.mcts import MCTS, mask_policy, select_action
from ramify.muzero.model import MuZeroNetwork
from ramify.muzero.node import Node, RootNode

__all__ = ["MCTS", "MCTSConfig", "MuZeroNetwork", "Node", "RootNode", "mask_policy", "select_action"]
