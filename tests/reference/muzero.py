"""MuZero's search in a learned model:

- values and rewards are per player, and a score takes those of the player to move;
- the value in a score is the reward on the way into the child plus the discounted value of the child,
  normalised by the least and greatest such number among the edges backed up so far;
- the evaluation of the root is the first simulation and counts as a visit of the root;
- the rules are asked for legal actions at the root only; inside the model every action is tried.

A model has ``initial(observations [B, ...]) -> (latents, logits, values)`` and
``recurrent(latents, actions [B]) -> (latents, rewards, logits, values)``, here always with B = 1; latents are
what the model makes of them, as long as ``latents[0]`` is a row. Logits are [B, 2, A] or [B, A] (the acting
player's). Values and rewards are [B, 2], or [B]: the acting player's value, and the reward of the player who
moved; the other player then has the negative when players alternate and 0 when there is one player.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ramify.games.protocol import State

from .config import Config
from .numbers import best, edge_value, exploration, f32, normalized, round_prior, score, weighted_mean


class Node:
    def __init__(self, prior: np.float32, to_play: int) -> None:
        self.prior = prior
        self.to_play = to_play
        self.value_sum = [0.0, 0.0]  # per player
        self.visit_count = 0
        self.children: dict[int, Node] = {}  # by action
        self.hidden_state: Any = None
        self.reward = [f32(0), f32(0)]  # from the parent to this node, per player

    def expanded(self) -> bool:
        return len(self.children) > 0

    def value(self, player: int) -> np.float32:
        return f32(self.value_sum[player] / self.visit_count) if self.visit_count else f32(0)


class MinMaxStats:
    """The least and greatest value seen, per player."""

    def __init__(self) -> None:
        self.minimum, self.maximum = [f32(np.inf)] * 2, [f32(-np.inf)] * 2

    def update(self, player: int, value: np.float32) -> None:
        self.minimum[player] = min(self.minimum[player], value)
        self.maximum[player] = max(self.maximum[player], value)

    def normalize(self, player: int, value: np.float32) -> np.float32:
        return normalized(value, self.minimum[player], self.maximum[player])


class Search:
    """`acting` says who moves inside the model: "alternating" players, or a "single" one."""

    def __init__(self, state: State, model: Any, config: Config, acting: str = "alternating") -> None:
        if acting not in ("alternating", "single") or len(state.acting) != 1:
            raise ValueError("one player acts at a time: acting is 'alternating' or 'single'")
        config.require(forced_playouts=0.0, error_scale=None)
        config.require(parent_visits="node", fpu="zero", graph=False, opponent_weights="conditional")
        self.network, self.config, self.acting = model, config, acting
        self.observation = state.observation(state.acting[0])
        self.legal_actions = [int(action) for action in state.legal_actions(state.acting[0])]
        self.root = Node(f32(0), state.acting[0])
        self.min_max_stats = MinMaxStats()
        self.nodes = 0

    def simulate(self) -> None:
        self.nodes += 1
        if not self.root.expanded():
            latents, logits, values = self.network.initial(self.observation[None])
            self.root.hidden_state = latents[0]
            self._expand_node(self.root, logits[0], self.legal_actions)
            self._backup([self.root], self._per_player(values[0], self.root.to_play))
            return
        node, search_path, action = self.root, [self.root], -1
        while node.expanded():
            action, node = self._select_child(node)
            search_path.append(node)
        parent = search_path[-2]
        latents, rewards, logits, values = self.network.recurrent([parent.hidden_state], np.array([action]))
        node.hidden_state = latents[0]
        node.reward = [f32(r) for r in self._per_player(rewards[0], parent.to_play)]
        self._expand_node(node, logits[0], list(range(np.shape(logits)[-1])))
        self._backup(search_path, self._per_player(values[0], node.to_play))

    def _per_player(self, number: ArrayLike, player: int) -> list[float]:
        """A model may speak of one player only; the other's number follows from the game."""
        if np.ndim(number) == 1:
            return [float(x) for x in np.asarray(number)]
        pair = [0.0, 0.0]
        pair[player] = float(np.asarray(number))
        if self.acting == "alternating":
            pair[1 - player] = -pair[player]
        return pair

    def _select_child(self, node: Node) -> tuple[int, Node]:
        scores = [self._ucb_score(node, child) for child in node.children.values()]
        priors = [child.prior for child in node.children.values()]
        return list(node.children.items())[best(scores, priors)]

    def _ucb_score(self, parent: Node, child: Node) -> np.float32:
        """pb_c = (log((N + pb_c_base + 1) / pb_c_base) + pb_c_init) * sqrt(N) / (n + 1)"""
        pb_c = exploration(self.config.c_puct, self.config.c_base, parent.visit_count)
        value_score = f32(0)
        if child.visit_count > 0:
            value_score = self._q(child, parent.to_play)
            if self.config.normalize == "minmax":
                value_score = self.min_max_stats.normalize(parent.to_play, value_score)
        return score(value_score, pb_c, child.prior, child.visit_count)

    def _q(self, child: Node, player: int) -> np.float32:
        return edge_value(child.reward[player], self.config.discount, child.value(player))

    def _expand_node(self, node: Node, logits: np.ndarray, actions: list[int]) -> None:
        logits = logits[node.to_play] if np.ndim(logits) == 2 else logits
        policy = self.config.priors_from_logits(np.asarray(logits, dtype=np.float32)[actions])
        to_play = 1 - node.to_play if self.acting == "alternating" else node.to_play
        for action, probability in zip(actions, policy, strict=True):
            node.children[action] = Node(round_prior(probability), to_play)

    def _backup(self, search_path: list[Node], value: list[float]) -> None:
        for node in reversed(search_path):
            node.visit_count += 1
            for player in (0, 1):
                node.value_sum[player] += value[player]
                if node is not self.root:
                    self.min_max_stats.update(player, self._q(node, player))
            value = [float(r) + self.config.discount * v for r, v in zip(node.reward, value, strict=True)]

    # ---------- results, in the common form ----------

    @property
    def visits(self) -> np.ndarray:
        counts = [child.visit_count for child in self.root.children.values()] or [0] * len(self.legal_actions)
        return np.array(counts, dtype=np.int64).reshape((-1, 1) if self.root.to_play == 0 else (1, -1))

    @property
    def value(self) -> np.ndarray:
        return np.array([self.root.value(player) for player in (0, 1)], dtype=np.float32)

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        mover, children = self.root.to_play, list(self.root.children.values())
        mine = [self._q(child, mover) if child.visit_count else f32(0) for child in children]
        visited = [(child.visit_count, self._q(child, 1 - mover)) for child in children if child.visit_count]
        passive = [weighted_mean(visited) if visited else f32(0)]
        pair = (mine, passive) if mover == 0 else (passive, mine)
        return tuple(np.array(values, dtype=np.float32) for values in pair)
