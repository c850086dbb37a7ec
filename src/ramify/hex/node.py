"""Read-only nodes of a finished search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isqrt
from types import MappingProxyType
from typing import Any

from ramify.engine.result import Path, Report, SearchResult
from ramify.hex.state import HexGameState, Move


class MCTSNode:
    """A read-only view of one of the engine's nodes, along the moves that lead to it.

    Values are those of the player to move in the node (``state.current_player``): a child that is good for its parent
    has a negative ``mean_value``. The engine itself keeps a value per player and negates nothing.
    """

    def __init__(
        self,
        result: SearchResult,
        state: HexGameState | None,
        parent: MCTSNode | None = None,
        move: Move | None = None,
        *,
        path: Path | None = None,
        visits: int = 0,
        mean_value: float = 0.0,
    ) -> None:
        self._result, self._state, self._path = result, state, path or []
        self.__parent, self.__move = parent, move
        self.__visits, self.__mean_value = visits, mean_value

    @classmethod
    def root(cls, result: SearchResult, state: HexGameState) -> MCTSNode:
        """The root of a search from this position."""
        value = float(result.value[state.current_player])
        return cls(result, state, visits=int(result.visits.sum()) + 1, mean_value=value)

    @property
    def state(self) -> HexGameState:
        """The position."""
        if self._state is None:
            assert self.parent is not None
            assert self.move is not None
            self._state = self.parent.state.make_move(*self.move)
        return self._state

    @property
    def parent(self) -> MCTSNode | None:
        """The parent through which this node was reached; None at the root. (Transpositions have several parents.)"""
        return self.__parent

    @property
    def move(self) -> Move | None:
        """The move from the parent to here."""
        return self.__move

    @property
    def visits(self) -> int:
        """Visits from the parent; at the root all simulations, including the one that evaluated it."""
        return self.__visits

    @property
    def mean_value(self) -> float:
        """Mean value for the player to move, from -1 to 1; 0 if unvisited."""
        return self.__mean_value

    @property
    def total_value(self) -> float:
        """``mean_value`` times ``visits``."""
        return self.mean_value * self.visits

    @property
    def policy_priors(self) -> Mapping[Move, float] | None:
        """The prior of every legal move, as used by the search; None before the node is expanded."""
        if self.is_leaf():
            return None
        priors = self._report["priors"][self._player]
        return MappingProxyType({move: float(prior) for move, prior in zip(self._moves, priors, strict=True)})

    @cached_property
    def children(self) -> Mapping[Move, MCTSNode]:
        """A child for every legal move, visited or not; empty before the node is expanded."""
        if self.is_leaf():
            return MappingProxyType({})
        visits = self._report["edge_visits"].ravel().tolist()
        values = self._report["payoffs"][1 - self._player].ravel().tolist()  # the child is the other player's turn
        return MappingProxyType(
            {
                move: MCTSNode(
                    self._result,
                    None,
                    self,
                    move,
                    path=[*self._path, self._edge(move)],
                    visits=count,
                    mean_value=value if count else 0.0,
                )
                for move, count, value in zip(self._moves, visits, values, strict=True)
            }
        )

    def is_leaf(self) -> bool:
        """Whether the node has not been expanded."""
        return not self._report["ready"]

    def is_terminal(self) -> bool:
        """Whether the game is over here."""
        return self.state.game_over

    def walk(self) -> Iterator[MCTSNode]:
        """This node and all visited descendants, in pre-order."""
        yield self
        for child in self.children.values():
            if child.visits:
                yield from child.walk()

    @cached_property
    def _report(self) -> Report:
        return self._result.node(self._path)

    @property
    def _player(self) -> int:
        acting: int = self._report["acting"]  # a bit per player
        return acting >> 1

    @property
    def _moves(self) -> list[Move]:
        return [divmod(int(action), self._size) for action in self._report["outcomes"][self._player]]

    @property
    def _size(self) -> int:
        return isqrt(self._result.num_actions)

    def _edge(self, move: Move) -> tuple[int, int]:
        action = move[0] * self._size + move[1]
        return (-1, action) if self._player else (action, -1)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"nodes are read-only: {name} cannot be set")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"MCTSNode(move={self.move}, visits={self.visits}, mean_value={self.mean_value:+.3f})"


BatchedMCTSNode = MCTSNode  # batches change which leaves are evaluated together, not what a node is
