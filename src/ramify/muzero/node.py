"""Nodes of a search: made by the caller before it, views of the engine's nodes after it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, MutableMapping
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from ramify.engine.result import ActionOrPair, Report, SearchResult, played
from ramify.muzero.model import Tree

READ_ONLY = "nodes are read-only after a search: {} cannot be set"


class Node:
    """A state of the learned model.

    Before a search, ``prior``, ``hidden_state``, ``reward`` and ``children`` are the caller's. After it they are the
    engine's, and read-only. Values and rewards are per player in the engine; here ``value()`` is that of the player to
    move in the node, and ``reward`` that of the player who moved into it.

    Where both players act at once, children are found by pairs of actions, and ``value()`` and ``reward`` are those of
    player 0.
    """

    def __init__(self, prior: float) -> None:
        self._prior = float(prior)
        self._hidden_state: Any = None
        self._reward = 0.0
        self._children: dict[Any, Node] = {}
        self._result: SearchResult | None = None  # of a finished search
        self._tree: Tree | None = None
        self._path: list[tuple[int, int]] = []  # edges of the engine, with -1 for who does not act
        self._to_play: int | None = 0
        self._known: Report | None = None
        self._visits = 0

    # --- as the caller makes it, and as the search leaves it ---

    @property
    def prior(self) -> float:
        """Prior probability, at the children of the root with noise after a search; of a pair, the product of both."""
        return self._prior

    @prior.setter
    def prior(self, prior: float) -> None:
        self._refuse("prior")
        self._prior = float(prior)

    @property
    def hidden_state(self) -> Any:
        """The latent state; None for a child that was never visited."""
        if self._tree is None or (row := self._tree.row(self._actions)) is None:
            return self._hidden_state
        return self._tree.hidden_state(row)

    @hidden_state.setter
    def hidden_state(self, hidden_state: Any) -> None:
        self._refuse("hidden_state")
        self._hidden_state = hidden_state

    @property
    def reward(self) -> float:
        """Reward on the way from the parent to here, of the player who moved; 0 at the root and where unvisited."""
        paid = self._paid
        return self._reward if paid is None else paid[self._mover]

    @reward.setter
    def reward(self, reward: float) -> None:
        self._refuse("reward")
        self._reward = float(reward)

    @property
    def rewards(self) -> tuple[float, float]:
        """Rewards of both players that the search found on the way here; 0 at the root and where unvisited."""
        return self._paid or (0.0, 0.0)

    @property
    def children(self) -> MutableMapping[Any, Node]:
        """Child by action, or by pair of actions where both players act at once."""
        if self._result is None:
            return self._children
        if not self._children and self._report["ready"]:
            self._grow()
        return MappingProxyType(self._children)  # type: ignore[return-value]  # what is read-only has no setters

    # --- what a search finds out ---

    @property
    def visit_count(self) -> int:
        """Number of visits; at the root all simulations, and one for its evaluation."""
        return self._visits

    @property
    def value_sum(self) -> float:
        """``value()`` times ``visit_count``."""
        return self.value() * self.visit_count

    @property
    def to_play(self) -> int | None:
        """The player to move; None where both act at once."""
        return self._to_play

    def expanded(self) -> bool:
        """Whether the node has children."""
        return len(self.children) > 0

    def value(self, player: int | None = None) -> float:
        """Mean value, of the player to move or of this player; 0 if unvisited."""
        if self._result is None or self._visits == 0:
            return 0.0
        return float(self._report["value"][(self._to_play or 0) if player is None else player])

    def walk(self) -> Iterator[tuple[tuple[Any, ...], Node]]:
        """This node and all visited ones below it, with the actions that lead to them from the root."""
        yield self._actions, self
        for child in self.children.values():
            if child.visit_count:
                yield from child.walk()

    # --- inside ---

    @property
    def _report(self) -> Report:
        assert self._result is not None
        if self._known is None:
            self._known = self._result.node(self._path)
        return self._known

    @property
    def _actions(self) -> tuple[ActionOrPair, ...]:
        """The actions that lead here from the root."""
        return tuple(played(edge) for edge in self._path)

    @property
    def _mover(self) -> int:
        """The player who moved into this node; player 0 where both did."""
        assert self._tree is not None
        return self._tree.turn(self._to_play) or 0

    @property
    def _paid(self) -> tuple[float, float] | None:
        """The rewards that the search found on the way here, if it came here from another node."""
        if self._tree is None or not self._path or (row := self._tree.row(self._actions)) is None:
            return None
        return self._tree.rewards(row, self._mover)

    def _bind(
        self, result: SearchResult, tree: Tree, path: list[tuple[int, int]], to_play: int | None, visits: int
    ) -> None:
        """Make this node a view of the engine's node at the end of this path."""
        self._result, self._tree, self._path = result, tree, path
        self._to_play, self._visits = to_play, visits

    def _grow(self) -> None:
        """Make views of all children, keeping those that the caller has made."""
        assert self._result is not None
        assert self._tree is not None
        report = self._report
        edges = product(*(actions.tolist() for actions in report["outcomes"]))
        priors = np.outer(*report["priors"]).ravel().tolist()  # who does not act has one outcome, of prior 1
        below = self._tree.turn(self._to_play)
        made: dict[ActionOrPair, Node] = {}
        for edge, prior, visits in zip(edges, priors, report["edge_visits"].ravel().tolist(), strict=True):
            child = self._children.get(played(edge)) or Node(prior)
            child._prior = prior
            child._bind(self._result, self._tree, [*self._path, edge], below, visits)
            made[played(edge)] = child
        self._children = {**{action: made[action] for action in self._children}, **made}

    def _refuse(self, name: str) -> None:
        if self._result is not None:
            raise AttributeError(READ_ONLY.format(name))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(prior={self.prior:.3f}, visit_count={self.visit_count}, value={self.value():+.3f})"
        )


class RootNode(Node):
    """The root of a search: ``RootNode(0, hidden_state)``, with priors in its children or none."""

    def __init__(self, prior: float = 0.0, hidden_state: Any = None) -> None:
        super().__init__(prior)
        self._hidden_state = hidden_state
        self._given_player: int | None = None

    @property
    def to_play(self) -> int | None:
        """Player to move at the root: None, unless it was set or searched, is player 0, or both if they act at once."""
        return self._given_player if self._result is None else self._to_play

    @to_play.setter
    def to_play(self, player: int | None) -> None:
        self._refuse("to_play")
        self._given_player = None if player is None else _as_player(player)


def _as_player(player: Any) -> int:
    try:
        number = -1 if isinstance(player, bool | np.bool_) else operator.index(player)
    except TypeError:  # fractions, texts and lists
        number = -1
    if number not in (0, 1):
        raise ValueError(f"to_play must be 0, 1 or None, not {player!r}")
    return number
