"""Read-only nodes of a finished search."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ramify.chess.game import python_chess
from ramify.engine.result import Path, Report, SearchResult
from ramify.games import State

if TYPE_CHECKING:
    import chess


class Node:
    """A read-only view of one of the engine's nodes, along the moves that lead to it.

    Values are those of the player to move in the node: a child that is good for its parent has a negative ``q_value``.
    The engine itself keeps a value per player and negates nothing.
    """

    def __init__(self, result: SearchResult, state: State, path: Path, numbers: tuple[float, int, float]) -> None:
        """``numbers``: prior, visits and the mean value."""
        self._result, self._state, self._path = result, state, path
        self._prior, self._visits, self._mean = numbers

    @classmethod
    def root(cls, result: SearchResult, state: State) -> Node:
        """The root of a search from this position; its prior is 1."""
        value = float(result.value[state.acting[0]])
        return cls(result, state, [], (1.0, int(result.visits.sum()) + 1, value))

    @property
    def prior(self) -> float:
        """Probability of the move that leads here, as the search used it: at the root's children with noise."""
        return self._prior

    @property
    def visit_count(self) -> int:
        """Simulations that went through this node."""
        return self._visits

    @property
    def q_value(self) -> float:
        """Mean value, from -1 to 1; 0 if unvisited."""
        return self._mean

    @property
    def total_value(self) -> float:
        """Sum of the values backed up: ``q_value`` times ``visit_count``."""
        return self._mean * self._visits

    @cached_property
    def children(self) -> Mapping[chess.Move, Node]:
        """A child for every legal move, visited or not; empty if the node is not expanded or the game is over."""
        report = self._report
        if not report["ready"]:
            return MappingProxyType({})
        player: int = report["acting"] >> 1  # a bit per player
        read, found = python_chess().Move.from_uci, {}
        rows = zip(
            report["outcomes"][player].tolist(),
            report["priors"][player].tolist(),
            report["edge_visits"].ravel().tolist(),
            report["payoffs"][1 - player].ravel().tolist(),  # the child is the other player's turn
            strict=True,
        )
        for action, prior, visits, value in rows:
            step = (-1, action) if player else (action, -1)
            numbers = (prior, visits, value if visits else 0.0)
            move = read(self._state.action_name(action))
            found[move] = Node(self._result, self._state.after(action), [*self._path, step], numbers)
        return MappingProxyType(found)

    @cached_property
    def _report(self) -> Report:
        return self._result.node(self._path)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"nodes are read-only: {name} cannot be set")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Node(prior={self.prior:.3f}, visit_count={self.visit_count}, q_value={self.q_value:+.3f})"
