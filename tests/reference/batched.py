"""Search in batches, several of them in flight: which leaves are evaluated together, and in which order results count.

It is the search of ``graph_search`` with its two halves apart. ``collect`` descends until enough leaves wait for their
evaluation, ``absorb`` expands them and backs them up. What lies between the two, exactly:

- A descent counts a visit on every edge that it takes, at once. The values of these edges change when it is backed up.
- An edge is *pending* until its child has a value. Its visits count in exploration, but it does not count in the value
  of its node. In scores it has the first-play urgency: where one player chooses, that of the moment when it was tried
  first (with ``normalize``, the present one); where both choose, the present one for an outcome with no other edge.
- A descent that ends the game is backed up at once and counts as a simulation, but takes no place in the batch.
- A descent that arrives at a leaf in flight, of this batch or another one, is a *collision*. The first two with a leaf
  weigh one visit each, every other as much as all of them before it. These visits stay on the path until the batch is
  collected. Until then, in a tree, every child on the path that has a value is worth less to the players who chose it:
  by w / N, with w the visits of the collision and N those of the edge. Afterwards, in the order of the collisions and
  from the leaf up, the visits are taken back and the values recomputed. With ``graph`` or ``minmax`` there is no such
  loss: another parent, or the bounds, would keep it.
- A batch ends when it has its leaves, when it has more collisions than it may have leaves, or after 32
  collisions without a leaf between them.
- The leaves in flight, of all batches, are at most ``max_in_flight`` times the root's visits, those under way included.
  One is always allowed if there is none.
- Lanes are served in turn: the batch of a lane is absorbed, and its next one collected, while those of the other
  lanes are in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ramify.games.protocol import State

from .config import Config
from .evaluators import Evaluation, outcome_actions, outcome_priors
from .graph_search import shared_key
from .numbers import best, edge_value, exploration, f32, node_value, normalized, score, weighted_mean

COLLISIONS_IN_A_ROW = 32
DONE_AT_MOST = 1024  # descents of one batch that end the game
MOST_VISITS = 1 << 16  # of one collision


@dataclass(frozen=True)
class Batches:
    """How leaves are evaluated together, under the names of ``SearchConfig``."""

    batch: int = 1
    in_flight: int = 1
    max_in_flight: float = 0.25


class Edge:
    """A pair of outcomes that was tried, with its value as it was last taken from its child."""

    def __init__(self, urgency: list[np.float32]) -> None:
        self.child: Node | None = None
        self.reward = np.zeros(2, dtype=np.float32)
        self.visits = 0
        self.pending = True
        self.q = urgency  # per player


class Node:
    """A position: its evaluation and value per player, its visits, and its edges in the order of their first visits."""

    def __init__(self, state: State) -> None:
        self.is_terminal = self.has_value = state.is_over
        self.in_flight = False
        self.acting = state.acting
        self.outcomes = [outcome_actions(state, player) for player in (0, 1)]
        self.prior: list[list[np.float32]] = [[], []]
        self.U = [f32(0), f32(0)]
        self.Q = [f32(0), f32(0)]
        self.visits = 0  # 1 + those of its edges, once it has a value
        self.edges: dict[tuple[int, int], Edge] = {}

    @property
    def is_joint(self) -> bool:
        return all(len(outcomes) > 1 for outcomes in self.outcomes)

    def edges_of(self, player: int) -> list[list[Edge]]:
        """The tried edges of each of a player's outcomes."""
        found: list[list[Edge]] = [[] for _ in self.outcomes[player]]
        for pair, edge in self.edges.items():
            found[pair[player]].append(edge)
        return found


Path = list[tuple[Node, Edge]]


class Leaf(NamedTuple):
    node: Node
    state: State
    path: Path


class Collision(NamedTuple):
    path: Path
    visits: int


class Search:
    def __init__(
        self, state: State, evaluate: Callable[[State], Evaluation], config: Config, batches: Batches | None = None
    ) -> None:
        if state.is_over:
            raise ValueError("the game is over: there is nothing to search")
        config.require(forced_playouts=0.0, error_scale=None)
        config.require(opponent_weights="conditional", short_circuit=False)
        self.state, self.evaluate, self.config = state.copy(), evaluate, config
        self.batches = batches or Batches()
        self.root = Node(state)  # outside the table: never shared
        self.table: dict[int, Node] = {}
        self.low, self.high = [f32(np.inf)] * 2, [f32(-np.inf)] * 2
        self.simulations = self.leaves_in_flight = self.collisions = self.terminals = 0
        self.rows: list[list[int]] = []  # the keys of every batch, in the order in which they were collected

    def run(self, simulations: int) -> None:
        """Simulate until there are this many in all, and none in flight."""
        lanes: list[list[Leaf]] = [[] for _ in range(self.batches.in_flight)]
        while self.left(simulations) or self.leaves_in_flight:
            for lane in range(len(lanes)):
                self.absorb(lanes[lane])
                lanes[lane] = self.collect(self.batches.batch, self.left(simulations))

    def left(self, simulations: int) -> int:
        return simulations - self.simulations - self.leaves_in_flight

    # ---------- collecting ----------

    def collect(self, most: int, simulations: int) -> list[Leaf]:
        """Up to ``most`` leaves, by at most that many simulations."""
        room = self.batches.max_in_flight * self.root.visits - self.leaves_in_flight
        if not simulations or (self.leaves_in_flight and room < 1):
            return []
        leaves, collided = self.find_leaves(max(1, int(min(most, room))), simulations)
        for collision in collided:
            self.take_back(collision)
        self.leaves_in_flight += len(leaves)
        if leaves:
            self.rows.append([leaf.state.key for leaf in leaves])
        return leaves

    def find_leaves(self, most: int, simulations: int) -> tuple[list[Leaf], list[Collision]]:
        leaves: list[Leaf] = []
        collided: list[Collision] = []
        weights: dict[Node, int] = {}  # visits of the collisions with each leaf
        in_a_row = done = 0
        while len(leaves) < most and simulations and done < DONE_AT_MOST:
            leaf = self.descend()
            if leaf.node.in_flight:
                self.collisions += 1
                in_a_row += 1
                visits = min(max(weights.get(leaf.node, 0), 1), MOST_VISITS)
                weights[leaf.node] = weights.get(leaf.node, 0) + visits
                collided.append(Collision(leaf.path, visits))
                self.collide(collided[-1])
                if in_a_row > COLLISIONS_IN_A_ROW or len(collided) > most:
                    break
                continue
            simulations -= 1
            if leaf.node.is_terminal:
                done += 1
                self.terminals += 1
                self.back_up(leaf.path)
            else:
                in_a_row = 0
                leaf.node.in_flight = True
                leaves.append(leaf)
        return leaves, collided

    def descend(self) -> Leaf:
        """Down to a node without a value, or to the end of the game; every edge on the way gets a visit."""
        node, state, path = self.root, self.state.copy(), []
        while node.has_value and not node.is_terminal:
            pair = self.select(node)
            edge = node.edges[pair]
            node.visits += 1
            edge.visits += 1
            rewards = state.apply(*(node.outcomes[player][pair[player]] for player in node.acting))
            path.append((node, edge))
            if edge.child is None:
                edge.reward, edge.child = np.asarray(rewards, dtype=np.float32), self.node_of(state)
                edge.pending = not edge.child.has_value
            node = edge.child
        return Leaf(node, state, path)

    def node_of(self, state: State) -> Node:
        if not self.config.graph or state.is_over:
            return Node(state)
        key = shared_key(state)
        if key not in self.table:
            self.table[key] = Node(state)
        return self.table[key]

    def collide(self, collision: Collision) -> None:
        for node, edge in collision.path:
            node.visits += collision.visits - 1  # the descent counted one
            edge.visits += collision.visits - 1
            if edge.pending or self.config.graph or self.config.normalize == "minmax":
                continue
            assert edge.child is not None
            share = f32(collision.visits) / f32(edge.visits)
            for player in node.acting:
                edge.child.Q[player] = f32(edge.child.Q[player] - share)
            self.take_value(edge)

    def take_back(self, collision: Collision) -> None:
        for node, edge in reversed(collision.path):
            node.visits -= collision.visits
            edge.visits -= collision.visits
            if not edge.pending:
                self.take_value(edge)
            self.recompute(node)

    # ---------- absorbing ----------

    def absorb(self, leaves: list[Leaf]) -> None:
        for node, state, path in leaves:
            logits, values = self.evaluate(state)
            for player in (0, 1):
                node.prior[player] = outcome_priors(state, player, logits, self.config.priors_from_logits)
                node.U[player] = node.Q[player] = f32(values[player])
            node.has_value, node.in_flight, node.visits = True, False, 1
            self.back_up(path)
        self.leaves_in_flight -= len(leaves)

    def back_up(self, path: Path) -> None:
        self.simulations += 1
        for node, edge in reversed(path):
            self.take_value(edge)
            for player in (0, 1):
                self.low[player] = min(self.low[player], edge.q[player])
                self.high[player] = max(self.high[player], edge.q[player])
            self.recompute(node)

    def take_value(self, edge: Edge) -> None:
        assert edge.child is not None
        edge.pending = False
        edge.q = [edge_value(edge.reward[player], self.config.discount, edge.child.Q[player]) for player in (0, 1)]

    def recompute(self, node: Node) -> None:
        known = [edge for edge in node.edges.values() if not edge.pending]
        for player in (0, 1):
            node.Q[player] = node_value(node.U[player], ((edge.visits, edge.q[player]) for edge in known))

    # ---------- selection (PUCT of each player on its own) ----------

    def select(self, node: Node) -> tuple[int, int]:
        """The pair of outcomes to follow, whose edge is made if there is none."""
        if self.config.graph:  # a child may have changed, or got its value, through another parent
            for edge in node.edges.values():
                if edge.child is not None and edge.child.has_value:
                    self.take_value(edge)
        n = node.visits if self.config.parent_visits == "node" else node.visits - 1
        u = exploration(self.config.c_puct, self.config.c_base, n)
        chosen, urgency = [0, 0], [f32(0), f32(0)]
        for player in (0, 1):
            if len(node.outcomes[player]) == 1:
                continue
            outcomes = node.edges_of(player)
            visits = [sum(edge.visits for edge in edges) for edges in outcomes]
            urgency[player] = self.scaled(self.urgency(node, player, visits), player, is_urgency=True)
            values = [self.score_value(node, player, edges, urgency[player]) for edges in outcomes]
            scores = [score(*each) for each in zip(values, [u] * len(values), node.prior[player], visits, strict=True)]
            chosen[player] = best(scores, node.prior[player])
        pair = (chosen[0], chosen[1])
        if pair not in node.edges:
            node.edges[pair] = Edge(urgency)
        return pair

    def score_value(self, node: Node, player: int, edges: list[Edge], urgency: np.float32) -> np.float32:
        """What an outcome with these edges is worth in scores."""
        known = [(edge.visits, edge.q[player]) for edge in edges if edge.visits and not edge.pending]
        if known:
            return self.scaled(weighted_mean(known), player)
        pending = [edge for edge in edges if edge.visits]
        if pending and not node.is_joint and not self.has_scale(player):
            return pending[0].q[player]
        return urgency

    def has_scale(self, player: int) -> bool:
        return self.config.normalize == "minmax" and bool(self.high[player] > self.low[player])

    def scaled(self, q: np.float32, player: int, is_urgency: bool = False) -> np.float32:
        if not self.has_scale(player) or (is_urgency and self.config.fpu == "zero"):
            return q
        return normalized(q, self.low[player], self.high[player])

    def urgency(self, node: Node, player: int, visits: list[int]) -> np.float32:
        match self.config.fpu:
            case "parent":
                return f32(float(node.Q[player]) - self.config.fpu_offset)
            case "reduction":
                seen = sum(float(prior) for prior, n in zip(node.prior[player], visits, strict=True) if n)
                return f32(float(node.Q[player]) - self.config.fpu_offset * np.sqrt(seen))
            case _:
                return f32(0)

    # ---------- results ----------

    @property
    def visits(self) -> np.ndarray:
        counts = np.zeros([len(outcomes) for outcomes in self.root.outcomes], dtype=np.int64)
        for pair, edge in self.root.edges.items():
            counts[pair] = edge.visits
        return counts

    @property
    def value(self) -> np.ndarray:
        return np.array(self.root.Q, dtype=np.float32)

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        return tuple(np.array(list(self._outcome_values(player)), dtype=np.float32) for player in (0, 1))

    def _outcome_values(self, player: int) -> Iterator[np.float32]:
        outcomes = self.root.edges_of(player)
        visits = [sum(edge.visits for edge in edges) for edges in outcomes]
        for edges in outcomes:
            known = [(edge.visits, edge.q[player]) for edge in edges if edge.visits and not edge.pending]
            yield weighted_mean(known) if known else self.urgency(self.root, player, visits)

    @property
    def nodes(self) -> int:
        """Positions with a value that are not finished."""
        return sum(map(len, self.rows))
