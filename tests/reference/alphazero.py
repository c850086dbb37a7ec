"""AlphaZero's tree search: N and W per node, values in the view of the player to move,
a sign flip at each level. For zero-sum games in which players alternate and only the end pays.

A reward on the edge into a terminal node is the "actual game result" of that node, in the view of the
player who would move there: the negative of what the mover received.
"""

from collections.abc import Callable

import numpy as np

from ramify.games.protocol import State

from .config import Config
from .evaluators import Evaluation, outcome_actions, outcome_priors
from .numbers import best, exploration, f32, score, weighted_mean


class Node:
    def __init__(self, prior: np.float32) -> None:
        self.prior = prior  # P: from the parent's policy
        self.visit_count = 0  # N
        self.total_value = 0.0  # W: sum of values backed up
        self.children: dict[int, Node] = {}  # by action

    @property
    def q_value(self) -> np.float32:
        """Q = W / N from this node's view, or 0 if unvisited."""
        return f32(self.total_value / self.visit_count) if self.visit_count else f32(0)


class Search:
    def __init__(self, state: State, evaluate: Callable[[State], Evaluation], config: Config) -> None:
        if state.is_over:
            raise ValueError("the game is over: there is nothing to search")
        config.require(forced_playouts=0.0, error_scale=None)
        config.require(c_base=None, parent_visits="node", fpu="zero", discount=1.0, graph=False)
        config.require(normalize="none", opponent_weights="conditional")
        self.game, self.evaluate, self.config = state.copy(), evaluate, config
        self.player = state.acting[0]
        self.root = Node(f32(1))

    def simulate(self) -> None:
        # 1. SELECT
        node, game, path, result = self.root, self.game.copy(), [self.root], 0.0
        while node.children:
            mover = game.acting[0]
            action = self.select(node)
            reward = game.apply(action)
            check_rules(game, mover, reward)
            result = -float(reward[mover])
            node = node.children[action]
            path.append(node)
        # 2. EXPAND (if not terminal) and 3. EVALUATE
        value = result if game.is_over else self.expand(node, game)
        # 4. BACKUP
        for node in reversed(path):
            node.visit_count += 1
            node.total_value += value
            value = -value

    def select(self, node: Node) -> int:
        """PUCT(child) = -Q(child) + c_puct * P(child) * sqrt(N_parent) / (1 + N(child))"""
        actions = list(node.children)
        children = [node.children[action] for action in actions]
        u = exploration(self.config.c_puct, None, node.visit_count)
        scores = [score(-child.q_value, u, child.prior, child.visit_count) for child in children]
        return actions[best(scores, [child.prior for child in children])]

    def expand(self, node: Node, game: State) -> float:
        mover = game.acting[0]
        logits, values = self.evaluate(game)
        priors = outcome_priors(game, mover, logits, self.config.priors_from_logits)
        for action, prior in zip(outcome_actions(game, mover), priors, strict=True):
            node.children[action] = Node(prior)
        return float(values[mover])

    # ---------- results, in the common form ----------

    @property
    def visits(self) -> np.ndarray:
        counts = [child.visit_count for child in self.root.children.values()]
        counts = counts or [0] * len(self.game.legal_actions())
        return np.array(counts, dtype=np.int64).reshape((-1, 1) if self.player == 0 else (1, -1))

    @property
    def value(self) -> np.ndarray:
        return by_player(self.player, self.root.q_value)

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        children = list(self.root.children.values())
        mine = np.array([-child.q_value for child in children], dtype=np.float32)
        visited = [(child.visit_count, child.q_value) for child in children if child.visit_count]
        passive = np.array([weighted_mean(visited) if visited else 0], dtype=np.float32)
        return (mine, passive) if self.player == 0 else (passive, mine)

    @property
    def nodes(self) -> int:
        stack, count = [self.root], 0
        while stack:
            node = stack.pop()
            count += node.visit_count > 0
            stack.extend(node.children.values())
        return count


def by_player(player: int, value: np.float32) -> np.ndarray:
    """The player's value and its negative, per player."""
    return np.array([value, -value] if player == 0 else [-value, value], dtype=np.float32)


def check_rules(game: State, mover: int, reward: np.ndarray) -> None:
    """A sign flip per level is right only where players alternate, the sum is zero and only the end pays."""
    if reward[0] != -reward[1] or (not game.is_over and (reward.any() or game.acting != (1 - mover,))):
        raise ValueError("this search is for zero-sum games with strict alternation that pay at the end")
