"""A plain Hex search: a tree with N and W per node, and with ``graph=True`` a graph, with a transposition table under
canonical keys.

The tree flips signs from level to level; a node's value is that of the player to move in it. The graph cannot keep
visits in shared nodes, since a parent must weigh a child by its own visits to it; so there an edge has its own count
and Q = (U + Σ N · -Q(child)) / (1 + Σ N).

A shared node holds its position in canonical orientation, and its actions, priors and ties are those of that
orientation. A child is reached by applying the node's own action to the node's own position and turning the
result if need be: that is where actions of one orientation become actions of the other. The root is in no
table and keeps the orientation in which it was given, so its visits are the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ramify.games.protocol import State

from .alphazero import by_player, check_rules
from .config import Config
from .evaluators import Evaluation, outcome_actions, outcome_priors
from .numbers import best, exploration, f32, node_value, score, weighted_mean


class MCTSNode:
    """A node of the tree (phase 1)."""

    def __init__(self, state: State, parent: MCTSNode | None = None, winner_value: float = math.nan) -> None:
        self.state = state
        self.parent = parent
        self.winner_value = winner_value  # of a terminal state, for the player who would be to move
        self.visits = 0
        self.total_value = 0.0
        self.policy_priors: list[np.float32] = []
        self.children: dict[int, MCTSNode] = {}  # by action

    @property
    def mean_value(self) -> np.float32:
        return f32(self.total_value / self.visits) if self.visits else f32(0)


class SharedNode:
    """A node of the graph (phase 2): counts belong to its edges."""

    def __init__(self, state: State, winner_value: float) -> None:
        self.state = state
        self.is_evaluated = self.is_terminal = state.is_over
        self.policy_priors: list[np.float32] = []
        self.moves = outcome_actions(state, state.acting[0]) if state.acting else []
        self.edge_visits = [0] * len(self.moves)
        self.children: list[SharedNode | None] = [None] * len(self.moves)
        self.initial_value = f32(0)
        self.mean_value = f32(winner_value) if state.is_over else f32(0)


def make_move(state: State, action: int) -> tuple[State, float]:
    """The position after the action, and what reaching it pays the player who would be to move in it."""
    child, mover = state.copy(), state.acting[0]
    reward = child.apply(action)
    check_rules(child, mover, reward)
    return child, -float(reward[mover])


def canonical(state: State) -> State:
    """The position or its image under the rotation by 180 degrees, whichever has the canonical key."""
    turned = state if state.key == state.canonical_key else state.transform(1)
    if turned.key != state.canonical_key:
        raise ValueError("neither the position nor its rotation has the canonical key")
    return turned


class Search:
    def __init__(self, state: State, evaluate: Callable[[State], Evaluation], config: Config) -> None:
        if state.is_over:
            raise ValueError("the game is over: there is nothing to search")
        config.require(forced_playouts=0.0, error_scale=None)
        config.require(c_base=None, parent_visits="node", fpu="zero", discount=1.0, short_circuit=False)
        config.require(normalize="none", opponent_weights="conditional")
        self.evaluate, self.config = evaluate, config
        self.player = state.acting[0]
        self.transposition_table: dict[int, SharedNode] = {}
        self.nodes = 0
        self.tree = MCTSNode(state.copy())
        self.graph = SharedNode(state.copy(), math.nan)

    def simulate(self) -> None:
        if self.config.graph:
            self.playout(self.graph)
            return
        leaf_node = self._select(self.tree)
        value = self._expand_and_evaluate(leaf_node)
        self._backpropagate(leaf_node, value)

    def _infer(self, state: State) -> tuple[list[np.float32], float]:
        mover = state.acting[0]
        logits, values = self.evaluate(state)
        return outcome_priors(state, mover, logits, self.config.priors_from_logits), float(values[mover])

    # ---------- phase 1: the tree ----------

    def _select(self, node: MCTSNode) -> MCTSNode:
        while node.children:
            node = self._select_child_with_puct(node)
        return node

    def _select_child_with_puct(self, node: MCTSNode) -> MCTSNode:
        """PUCT = Q(s,a) + C * P(s,a) * sqrt(N(s)) / (1 + N(s,a))"""
        children = list(node.children.values())
        u = exploration(self.config.c_puct, None, node.visits)
        pairs = zip(children, node.policy_priors, strict=True)
        scores = [score(-child.mean_value, u, prior, child.visits) for child, prior in pairs]
        return children[best(scores, node.policy_priors)]

    def _expand_and_evaluate(self, node: MCTSNode) -> float:
        self.nodes += node.visits == 0
        if node.state.is_over:
            return node.winner_value
        node.policy_priors, value = self._infer(node.state)
        for move in outcome_actions(node.state, node.state.acting[0]):
            child_state, winner_value = make_move(node.state, move)
            node.children[move] = MCTSNode(child_state, node, winner_value)
        return value

    def _backpropagate(self, node: MCTSNode, value: float) -> None:
        current_node: MCTSNode | None = node
        while current_node is not None:
            current_node.visits += 1
            current_node.total_value += value
            value = -value
            current_node = current_node.parent

    # ---------- phase 2: the graph ----------

    def playout(self, node: SharedNode) -> None:
        if node.is_terminal:
            return
        if not node.is_evaluated:
            node.policy_priors, value = self._infer(node.state)
            node.initial_value = node.mean_value = f32(value)
            node.is_evaluated = True
            self.nodes += node is self.graph
            return
        i = self.select_edge(node)
        child = node.children[i]
        if child is None:
            child = node.children[i] = self.shared_child(node, node.moves[i])
        self.playout(child)
        node.edge_visits[i] += 1
        edges = zip(node.edge_visits, node.children, strict=True)
        visited = [(n, f32(-child.mean_value)) for n, child in edges if child]
        node.mean_value = node_value(node.initial_value, visited)

    def shared_child(self, node: SharedNode, move: int) -> SharedNode:
        state, winner_value = make_move(node.state, move)
        key = state.canonical_key
        if key not in self.transposition_table:
            self.transposition_table[key] = SharedNode(canonical(state), winner_value)
            self.nodes += 1
        return self.transposition_table[key]

    def select_edge(self, node: SharedNode) -> int:
        u = exploration(self.config.c_puct, None, 1 + sum(node.edge_visits))
        values = [f32(-child.mean_value) if child else f32(0) for child in node.children]
        edges = zip(values, node.policy_priors, node.edge_visits, strict=True)
        return best([score(q, u, prior, n) for q, prior, n in edges], node.policy_priors)

    # ---------- results, in the common form ----------

    def _root_edges(self) -> list[tuple[int, np.float32]]:
        """(visits, value to the player to move) of every move."""
        if self.config.graph:
            pairs = zip(self.graph.edge_visits, self.graph.children, strict=True)
            return [(n, f32(-child.mean_value) if child else f32(0)) for n, child in pairs]
        children = [self.tree.children.get(move) for move in self.graph.moves]
        return [(child.visits, -child.mean_value) if child else (0, f32(0)) for child in children]

    @property
    def visits(self) -> np.ndarray:
        counts = np.array([n for n, _ in self._root_edges()], dtype=np.int64)
        return counts.reshape((-1, 1) if self.player == 0 else (1, -1))

    @property
    def value(self) -> np.ndarray:
        return by_player(self.player, self.graph.mean_value if self.config.graph else self.tree.mean_value)

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        edges = self._root_edges()
        mine = np.array([q for _, q in edges], dtype=np.float32)
        visited = [(n, -q) for n, q in edges if n]
        passive = np.array([weighted_mean(visited) if visited else 0], dtype=np.float32)
        return (mine, passive) if self.player == 0 else (passive, mine)
