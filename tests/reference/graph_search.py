"""Monte-Carlo graph search with simultaneous moves and rewards on the way, and what it contains:
one acting player is n1 = 1 or n2 = 1, a tree is a graph without the table.

    Q_p(n)  = (U_p(n) + Σ_ij N_ij · q_ij) / (1 + Σ_ij N_ij),   q_ij = r_p,ij + γ · Q_p(child_ij)
    score_i = Q̂_i + c(N) · P_i · √N / (1 + M_i),               M_i = Σ_j N_ij

Settings beyond these formulas, exactly:

- ``opponent_weights``: Q̂_i = Σ_j w_j q_ij / Σ_j w_j over the visited j of row i, with w_j the opponent's
  prior (option A, "prior"), its marginal visits (B, "visits"), their sum (C, "blended"), or N_ij (D,
  "conditional").
- ``fpu``, the value of an outcome with M_i = 0: 0 ("zero"), Q - offset ("parent"), or
  Q - offset · √(Σ P_k over k with M_k > 0) ("reduction").
- ``short_circuit``: when the chosen edge's child is evaluated, not terminal, and has more visits (1 + Σ N)
  than the edge (before this visit), the visit is counted on the edge and the way back is recomputed, but
  nothing below is visited.
- ``normalize="minmax"``: each player has a running minimum and maximum, over the whole search, of q of every
  edge at the moment it is backed up (the root's own value is not among them). In scores, Q̂_i becomes
  (Q̂_i - min) / (max - min) once max > min. So does a parent or reduction urgency; the urgency "zero" is 0 in
  normalised units.
- ``forced_playouts`` = k, at the root only: an outcome with M_i > 0 but M_i < m_i is chosen in place of the selected
  one, with N = Σ M and m_i = √(k · P_i · N) (``forced_form="sqrt"``) or k · P_i · √N ("linear"); of several the one
  with the highest prior, then the lowest index. Where both choose, ``forced_by="pair"`` gives the minimum to pairs of
  outcomes with M_i, M_j > 0 instead: m_ij with P_i · P_j, and max(1, N_ij) < m_ij; of several the one with the highest
  product, then the higher P_i, the lower i, the higher P_j, the lower j.

- ``error_scale`` = s: the evaluation of a node weighs w = s / (s + e), with e the root of the mean of its players'
  expected squared errors; a finished game weighs 1. Q_p(n) becomes (w · U_p + Σ N_ij · m_ij · q_ij) / (w + Σ N_ij ·
  m_ij), with m_ij the mean weight of the child's visits: m(n) = (w + Σ N_ij · m_ij) / (1 + Σ N_ij). Selection counts
  visits.

- chance: ``events`` has the nodes where chance decides.

Child values are read when they are needed, never copied: a child improved through another parent counts at
once, while the parent's own Q waits until the parent is next on a path.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ramify.games.protocol import State

from . import events
from .config import Config
from .evaluators import Evaluation, outcome_actions, outcome_priors
from .numbers import (
    best,
    edge_value,
    evaluation_weight,
    exploration,
    f32,
    node_value,
    normalized,
    score,
    weighted_mean,
    weighted_value,
)


def shared_key(state: State) -> int:
    """Positions may share a node if their whole futures are equal: in chess that needs the history."""
    return int(getattr(state, "history_key", state.key))


class Node:
    """A position: what the evaluator said of it, and what was seen of each of its edges."""

    def __init__(self, state: State) -> None:
        self.is_terminal = state.is_over
        self.is_evaluated = state.is_over  # a terminal node counts as evaluated, with value 0
        self.outcomes = [outcome_actions(state, player) for player in (0, 1)]
        self.acting = state.acting
        self.key = 0  # of the root
        n1, n2 = len(self.outcomes[0]), len(self.outcomes[1])
        self.prior = [[f32(0)] * n1, [f32(0)] * n2]
        self.U = [f32(0), f32(0)]
        self.Q = [f32(0), f32(0)]
        self.weight = self.mean_weight = f32(1)
        self.edge_visits = np.zeros((n1, n2), dtype=np.int64)
        self.edge_r = np.zeros((2, n1, n2), dtype=np.float32)
        self.edge_children: dict[tuple[int, int], Node] = {}

    @property
    def visits(self) -> int:
        return 1 + int(self.edge_visits.sum())


class Event(Node):
    """Where chance decides: no evaluation, and outcomes of chance in place of player 0's."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        outcomes, probabilities = state.chance_outcomes()
        self.outcomes = [outcomes.tolist(), [-1]]
        self.probabilities = [float(p) for p in probabilities.astype(np.float32)]
        self.edge_visits = np.zeros((len(outcomes), 1), dtype=np.int64)
        self.edge_r = np.zeros((2, len(outcomes), 1), dtype=np.float32)

    @property
    def visits(self) -> int:
        return int(self.edge_visits.sum())

    def choose(self, config: Config) -> int:
        return events.next_outcome(config, self.key, self.probabilities, self.edge_visits[:, 0])

    def weights(self, config: Config) -> list[float]:
        return events.weights(config, self.probabilities, self.edge_visits[:, 0] > 0)


class Search:
    def __init__(self, state: State, evaluate: Callable[[State], Evaluation], config: Config) -> None:
        if state.is_over:
            raise ValueError("the game is over: there is nothing to search")
        self.state, self.evaluate, self.config = state.copy(), evaluate, config
        self.root = Node(state)  # outside the table: never shared
        self.transposition_table: dict[int, Node] = {}
        self.nodes = 0
        self.low, self.high = [f32(np.inf)] * 2, [f32(-np.inf)] * 2

    def simulate(self) -> None:
        self.playout(self.root, self.state.copy(), [])

    def playout(self, node: Node, state: State, path: list[Node]) -> None:
        """One playout below `node`, whose position `state` is (and is moved on)."""
        if any(node is above for above in path):
            raise RuntimeError("a cycle: this search is for keys that cannot repeat on a path")
        if node.is_terminal:
            return
        if not node.is_evaluated and not isinstance(node, Event):
            self.evaluate_node(node, state)
            return
        o1, o2 = self.choose(node)
        chance = getattr(state.game, "has_chance_events", False)  # which the search draws, not the state
        apply = state.apply_only if chance else state.apply
        rewards = apply(*(node.outcomes[player][(o1, o2)[player]] for player in node.acting or (0,)))
        if (o1, o2) not in node.edge_children:
            self.expand_edge(node, state, rewards, o1, o2)
        child = node.edge_children[o1, o2]
        if not self.short_circuits(node, o1, o2):
            self.playout(child, state, [*path, node])
        node.edge_visits[o1, o2] += 1
        self.recompute_Q(node)
        self.widen(node, o1, o2)

    def choose(self, node: Node) -> tuple[int, int]:
        if isinstance(node, Event):
            return node.choose(self.config), 0
        return self.forced(node, (self.select_outcome(node, 0), self.select_outcome(node, 1)))

    def evaluate_node(self, node: Node, state: State) -> None:
        found: Any = self.evaluate(state)
        logits, values = found[:2]
        if self.config.error_scale is not None:
            node.weight = node.mean_weight = evaluation_weight(found.errors, self.config.error_scale)
        for player in (0, 1):
            node.prior[player] = outcome_priors(state, player, logits, self.config.priors_from_logits)
            node.U[player] = node.Q[player] = f32(values[player])
        node.is_evaluated = True
        if node is self.root:
            self.nodes += 1

    def expand_edge(self, node: Node, state: State, rewards: np.ndarray, o1: int, o2: int) -> None:
        """Link edge (o1, o2) of `node` to the node of `state`, the position after it."""
        node.edge_r[:, o1, o2] = rewards
        actions = [outcomes[o] for outcomes, o in zip(node.outcomes, (o1, o2), strict=True)]
        key = shared_key(state) if self.config.graph else events.key_of_way(node.key, *actions)
        child = self.transposition_table.get(key) if self.config.graph else None
        if child is None:
            child = Event(state) if getattr(state, "is_chance", False) else Node(state)
            child.key = key
            self.nodes += 1
            if self.config.graph:
                self.transposition_table[key] = child
        node.edge_children[o1, o2] = child

    def short_circuits(self, node: Node, o1: int, o2: int) -> bool:
        child = node.edge_children[o1, o2]
        caught_up = node.edge_visits[o1, o2] >= child.visits
        return self.config.short_circuit and child.is_evaluated and not child.is_terminal and not caught_up

    # ---------- backup ----------

    def edge_q(self, node: Node, player: int, edge: tuple[int, int]) -> np.float32:
        child = node.edge_children[edge]
        discount = 1.0 if isinstance(child, Event) else self.config.discount  # it counts the turns of players
        return edge_value(node.edge_r[player][edge], discount, child.Q[player])

    def recompute_Q(self, node: Node) -> None:  # noqa: N802
        """Idempotent: the result depends only on the present statistics."""
        visited = [tuple(map(int, edge)) for edge in np.argwhere(node.edge_visits > 0)]
        if isinstance(node, Event):
            weights = node.weights(self.config)
            for player in (0, 1):
                node.Q[player] = weighted_mean((weights[e[0]], self.edge_q(node, player, e)) for e in visited)
            node.is_evaluated = True
            return
        means = [node.edge_children[e].mean_weight for e in visited]
        for player in (0, 1):
            edges = [(node.edge_visits[e], self.edge_q(node, player, e)) for e in visited]
            if self.config.error_scale is None:
                node.Q[player] = node_value(node.U[player], edges)
                continue
            weighed = [(n, mean, q) for (n, q), mean in zip(edges, means, strict=True)]
            node.Q[player] = weighted_value(node.U[player], node.weight, weighed)
        # The mean weight is the same formula with weights in place of values and visits in place of weights.
        node.mean_weight = node_value(node.weight, zip((node.edge_visits[e] for e in visited), means, strict=True))

    def widen(self, node: Node, o1: int, o2: int) -> None:
        for player in (0, 1):
            q = self.edge_q(node, player, (o1, o2))
            self.low[player], self.high[player] = min(self.low[player], q), max(self.high[player], q)

    # ---------- selection (decoupled PUCT) ----------

    def select_outcome(self, node: Node, player: int) -> int:
        total_visits = int(node.edge_visits.sum())
        n = total_visits + 1 if self.config.parent_visits == "node" else total_visits
        u = exploration(self.config.c_puct, self.config.c_base, n)
        marginal_visits = node.edge_visits.sum(axis=1 - player)
        scores = []
        for i, q in enumerate(self.marginal_Q(node, player)):
            if self.config.normalize == "minmax" and (marginal_visits[i] > 0 or self.config.fpu != "zero"):
                q = normalized(q, self.low[player], self.high[player])
            scores.append(score(q, u, node.prior[player][i], marginal_visits[i]))
        return best(scores, node.prior[player])

    def forced(self, node: Node, selected: tuple[int, int]) -> tuple[int, int]:
        """What forced playouts make of the selected outcomes."""
        if node is not self.root or not self.config.forced_playouts:
            return selected
        marginal = [node.edge_visits.sum(axis=1 - player) for player in (0, 1)]
        if self.config.forced_by == "pair" and all(len(outcomes) > 1 for outcomes in node.outcomes):
            owed = [
                (self.rank(node, i, j), (i, j))
                for i, j in np.ndindex(node.edge_visits.shape)
                if marginal[0][i] and marginal[1][j]
                if self.too_few(max(1, int(node.edge_visits[i, j])), self.rank(node, i, j)[0])
            ]
            return max(owed)[1] if owed else selected
        chosen = list(selected)
        for player in (0, 1):
            prior = node.prior[player]
            due = [i for i, n in enumerate(marginal[player]) if n and self.too_few(int(n), float(prior[i]))]
            if due and player in node.acting:
                chosen[player] = max(due, key=lambda i, prior=prior: (prior[i], -i))
        return chosen[0], chosen[1]

    def rank(self, node: Node, i: int, j: int) -> tuple[float, float, int, float, int]:
        first, second = float(node.prior[0][i]), float(node.prior[1][j])
        return first * second, first, -i, second, -j

    def too_few(self, visits: int, prior: float) -> bool:
        """Whether visits are fewer than the minimum, in the arithmetic of the engine."""
        k, total = self.config.forced_playouts, int(self.root.edge_visits.sum())
        if self.config.forced_form == "sqrt":
            return float(visits) ** 2 < k * prior * total
        return visits < k * prior * np.sqrt(total)

    def marginal_Q(self, node: Node, player: int) -> list[np.float32]:  # noqa: N802
        """Each outcome's value for its player, not normalised."""
        marginal_visits = node.edge_visits.sum(axis=1 - player)
        fpu = self.fpu(node, player)
        return [self.outcome_Q(node, player, i) if n > 0 else fpu for i, n in enumerate(marginal_visits)]

    def outcome_Q(self, node: Node, player: int, i: int) -> np.float32:  # noqa: N802
        responses = []
        for j, w in enumerate(self.opponent_weights(node, player, i)):
            edge = (i, j) if player == 0 else (j, i)
            if node.edge_visits[edge] > 0:
                responses.append((w, self.edge_q(node, player, edge)))
        return weighted_mean(responses)

    def opponent_weights(self, node: Node, player: int, i: int) -> list[float]:
        opponent = 1 - player
        prior = [float(p) for p in node.prior[opponent]]
        visits = [int(n) for n in node.edge_visits.sum(axis=player)]
        match self.config.opponent_weights:
            case "prior":
                return prior
            case "visits":
                return visits
            case "blended":
                return [p + n for p, n in zip(prior, visits, strict=True)]
            case _:
                return [int(n) for n in (node.edge_visits[i, :] if player == 0 else node.edge_visits[:, i])]

    def fpu(self, node: Node, player: int) -> np.float32:
        marginal_visits = node.edge_visits.sum(axis=1 - player)
        match self.config.fpu:
            case "parent":
                return f32(float(node.Q[player]) - self.config.fpu_offset)
            case "reduction":
                priors = zip(node.prior[player], marginal_visits, strict=True)
                seen = sum(float(prior) for prior, n in priors if n > 0)
                return f32(float(node.Q[player]) - self.config.fpu_offset * np.sqrt(seen))
            case _:
                return f32(0)

    # ---------- results ----------

    @property
    def visits(self) -> np.ndarray:
        return self.root.edge_visits.copy()

    @property
    def value(self) -> np.ndarray:
        return np.array(self.root.Q, dtype=np.float32)

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        return tuple(np.array(self.marginal_Q(self.root, player), dtype=np.float32) for player in (0, 1))
