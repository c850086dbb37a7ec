"""Monte-Carlo graph search for PyRat as its specification writes it down: a game that is moved forwards and
backwards, recursive playouts, a table of positions by their parts.

``graph_search`` is the same method over states and keys. Here it is over ``make_move`` and ``unmake_move`` instead, so
that it shares nothing with the engine but the rules and the points at which numbers are rounded. Three things differ
from the specification: the key has the scores (two positions that differ in them need not end at the same time); ties
go to the higher prior before the lower index, which matters when a node is left for the first time; and a finished
position counts as evaluated, with value 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .numbers import best, edge_value, exploration, f32, node_value, round_prior, score, weighted_mean


class Node:
    def __init__(self, game: Any) -> None:
        self.p1_outcomes, self.p2_outcomes = game.effective_outcomes_p1(), game.effective_outcomes_p2()
        self.n1, self.n2 = len(self.p1_outcomes), len(self.p2_outcomes)
        self.is_evaluated = game.is_over()
        self.prior_p1 = self.prior_p2 = None
        self.U_p1 = self.U_p2 = self.Q_p1 = self.Q_p2 = f32(0)
        self.edge_visits = np.zeros((self.n1, self.n2), dtype=np.int64)
        self.edge_r_p1 = np.zeros((self.n1, self.n2), dtype=np.float32)
        self.edge_r_p2 = np.zeros((self.n1, self.n2), dtype=np.float32)
        self.edge_children = [[None] * self.n2 for _ in range(self.n1)]


class Search:
    def __init__(self, game: Any, nn: Any = None, c_puct: float = 1.0, fpu_offset: float = 0.1) -> None:
        self.nn, self.c_puct, self.fpu_offset = nn, c_puct, fpu_offset
        self.transposition_table: dict[Any, Node] = {}
        self.root = Node(game)

    def search(self, game: Any, num_simulations: int) -> None:
        for _ in range(num_simulations):
            self.playout(self.root, game.clone())

    def playout(self, node: Node, game: Any) -> None:
        if game.is_over():
            return
        if not node.is_evaluated:
            self.evaluate_node(node, game)
            return
        o1 = self.select(node.prior_p1, node.edge_visits, self.compute_marginal_Q_p1(node))
        o2 = self.select(node.prior_p2, node.edge_visits.T, self.compute_marginal_Q_p2(node))
        if node.edge_children[o1][o2] is None:
            self.expand_edge(node, game, o1, o2)
        undo = game.make_move(node.p1_outcomes[o1], node.p2_outcomes[o2])
        self.playout(node.edge_children[o1][o2], game)
        game.unmake_move(undo)
        node.edge_visits[o1, o2] += 1
        self.recompute_Q(node)

    def evaluate_node(self, node: Node, game: Any) -> None:
        if self.nn is not None:
            policy_p1, policy_p2, value_p1, value_p2 = self.nn.predict(game)
        else:
            policy_p1, policy_p2 = np.full(node.n1, f32(1) / f32(node.n1)), np.full(node.n2, f32(1) / f32(node.n2))
            value_p1 = value_p2 = 0.0
        node.prior_p1 = np.array([round_prior(p) for p in policy_p1])
        node.prior_p2 = np.array([round_prior(p) for p in policy_p2])
        node.U_p1 = node.Q_p1 = f32(value_p1)
        node.U_p2 = node.Q_p2 = f32(value_p2)
        node.is_evaluated = True

    def expand_edge(self, node: Node, game: Any, o1: int, o2: int) -> None:
        undo = game.make_move(node.p1_outcomes[o1], node.p2_outcomes[o2])
        node.edge_r_p1[o1, o2], node.edge_r_p2[o1, o2] = undo.cheese_collected_p1, undo.cheese_collected_p2
        key = self.compute_state_key(game)
        if key not in self.transposition_table:
            self.transposition_table[key] = Node(game)
        node.edge_children[o1][o2] = self.transposition_table[key]
        game.unmake_move(undo)

    def compute_state_key(self, game: Any) -> Any:
        return (
            game.player1_position,
            game.player2_position,
            frozenset(game.cheese_positions()),
            game.player1_mud_turns,
            game.player2_mud_turns,
            game.turn,
            game.player1_score,
            game.player2_score,
        )

    def select(self, prior: np.ndarray, visits: np.ndarray, marginal_q: list[Any]) -> int:
        """A player's outcome by PUCT; its outcomes are the rows of ``visits``."""
        marginal_visits, u = visits.sum(axis=1), exploration(self.c_puct, None, int(visits.sum()))
        scores = [score(q, u, p, n) for q, p, n in zip(marginal_q, prior, marginal_visits, strict=True)]
        return best(scores, list(prior))

    def compute_marginal_Q_p1(self, node: Node) -> list[Any]:  # noqa: N802
        marginal_q = []
        for i in range(node.n1):
            seen = [
                (node.edge_visits[i, j], edge_value(node.edge_r_p1[i, j], 1.0, node.edge_children[i][j].Q_p1))
                for j in range(node.n2)
                if node.edge_visits[i, j] > 0
            ]
            marginal_q.append(weighted_mean(seen) if seen else f32(float(node.Q_p1) - self.fpu_offset))
        return marginal_q

    def compute_marginal_Q_p2(self, node: Node) -> list[Any]:  # noqa: N802
        marginal_q = []
        for j in range(node.n2):
            seen = [
                (node.edge_visits[i, j], edge_value(node.edge_r_p2[i, j], 1.0, node.edge_children[i][j].Q_p2))
                for i in range(node.n1)
                if node.edge_visits[i, j] > 0
            ]
            marginal_q.append(weighted_mean(seen) if seen else f32(float(node.Q_p2) - self.fpu_offset))
        return marginal_q

    def recompute_Q(self, node: Node) -> None:  # noqa: N802
        edges = [(int(i), int(j)) for i, j in np.argwhere(node.edge_visits > 0)]
        visits, children = node.edge_visits, node.edge_children
        node.Q_p1 = node_value(
            node.U_p1, [(visits[e], edge_value(node.edge_r_p1[e], 1.0, children[e[0]][e[1]].Q_p1)) for e in edges]
        )
        node.Q_p2 = node_value(
            node.U_p2, [(visits[e], edge_value(node.edge_r_p2[e], 1.0, children[e[0]][e[1]].Q_p2)) for e in edges]
        )
