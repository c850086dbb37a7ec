"""Nodes of a graph search: read-only views of the engine's nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine import Searcher
from ramify.engine.result import Path, Report
from ramify.games import State

UNKNOWN: Report = {"ready": False, "value": np.zeros(2), "evaluation": np.zeros(2)}  # before the first simulation


class Graph:
    """The search below one root, and the views of its nodes: one per position, however many ways lead to it."""

    def __init__(self, searcher: Searcher, root: State) -> None:
        self.searcher, self.root_state = searcher, root.copy()
        self.runs = 0
        self._result: Any = None
        self._views: dict[int, Node] = {}

    def run(self, simulations: int) -> None:
        """Search on from the root."""
        self.searcher.config = self.searcher.config.replace(simulations=simulations)
        self._result = self.searcher.run(self.root_state)
        self.runs += 1

    def view(self, state: State, path: Path) -> Node:
        """The view of the node with this position, to which ``path`` leads from the root."""
        if state.key not in self._views:
            self._views[state.key] = Node(self, state, path)
        return self._views[state.key]

    def report(self, path: Path) -> Report:
        return UNKNOWN if self._result is None else self._result.node(path)


class Node:
    """A position in the graph, with what the search knows of it. ``new_root`` makes the first one.

    Fields that end in ``_p1`` and ``_p2`` belong to the two players. Edges are pairs of outcomes, arrays of shape
    [n1, n2]. The numbers are those of the moment: they change with every ``search``. Equal positions are one node,
    and the same view.
    """

    __slots__ = ("_graph", "_path", "_report", "_runs", "_state")

    def __init__(self, graph: Graph, state: State, path: Path) -> None:
        self._graph, self._state, self._path = graph, state.copy(), path
        self._runs, self._report = -1, UNKNOWN

    @property
    def state(self) -> State:
        """A copy of the position."""
        return self._state.copy()

    @property
    def is_terminal(self) -> bool:
        """Whether the game is over here."""
        return self._state.is_over

    # --- fixed when the node is made ---

    @property
    def n1(self) -> int:
        """Number of player 1's outcomes: of what its five actions can amount to. 0 where the game is over."""
        return len(self.p1_outcomes)

    @property
    def n2(self) -> int:
        """As ``n1``, of player 2."""
        return len(self.p2_outcomes)

    @property
    def p1_outcomes(self) -> NDArray[np.int32]:
        """The action that stands for each outcome, [n1]."""
        return self._state.outcomes(0)[0]

    @property
    def p2_outcomes(self) -> NDArray[np.int32]:
        """As ``p1_outcomes``, of player 2."""
        return self._state.outcomes(1)[0]

    @property
    def p1_action_to_idx(self) -> NDArray[np.int32]:
        """The outcome of each action, [5]; -1 where the game is over."""
        return self._state.outcomes(0)[1]

    @property
    def p2_action_to_idx(self) -> NDArray[np.int32]:
        """As ``p1_action_to_idx``, of player 2."""
        return self._state.outcomes(1)[1]

    # --- fixed by the evaluation ---

    @property
    def is_evaluated(self) -> bool:
        """Whether the node's value is known: evaluated on its first visit, or 0 where the game is over."""
        return self.is_terminal or bool(self._known["ready"])

    @property
    def U_p1(self) -> float:  # noqa: N802 - the usual symbol
        """The evaluator's value of the position; 0 before the evaluation."""
        return float(self._known["evaluation"][0])

    @property
    def U_p2(self) -> float:  # noqa: N802
        """As ``U_p1``, of player 2."""
        return float(self._known["evaluation"][1])

    @property
    def prior_p1(self) -> NDArray[np.float32] | None:
        """The evaluator's policy over outcomes, [n1], as the search uses it; None before the evaluation."""
        return self._prior(0)

    @property
    def prior_p2(self) -> NDArray[np.float32] | None:
        """As ``prior_p1``, of player 2."""
        return self._prior(1)

    # --- changed by every simulation that passes ---

    @property
    def Q_p1(self) -> float:  # noqa: N802
        """Expected cheese still to come."""
        return float(self._known["value"][0])

    @property
    def Q_p2(self) -> float:  # noqa: N802
        """As ``Q_p1``, of player 2."""
        return float(self._known["value"][1])

    @property
    def virtual_losses(self) -> int:
        """Always 0: between two searches no simulation is in progress."""
        return 0

    @property
    def edge_visits(self) -> NDArray[np.int64]:
        """Visits of each pair of outcomes, [n1, n2]."""
        known = self._known
        return _frozen(known["edge_visits"] if known["ready"] else np.zeros((self.n1, self.n2), np.int64))

    @property
    def edge_r_p1(self) -> NDArray[np.float32]:
        """Cheese gained on the way along each visited edge, [n1, n2]; 0 where unvisited."""
        return _frozen(self._rewards()[0])

    @property
    def edge_r_p2(self) -> NDArray[np.float32]:
        """As ``edge_r_p1``, of player 2."""
        return _frozen(self._rewards()[1])

    @property
    def edge_children(self) -> tuple[tuple[Node | None, ...], ...]:
        """The node that each visited edge leads to, ``[n1][n2]``; None where unvisited."""
        visits = self.edge_visits
        return tuple(tuple(self._child(i, j) if visits[i, j] else None for j in range(self.n2)) for i in range(self.n1))

    # --- derived ---

    @property
    def total_visits(self) -> int:
        """Visits of all edges."""
        return int(self.edge_visits.sum())

    @property
    def marginal_visits_p1(self) -> NDArray[np.int64]:
        """Visits of each of player 1's outcomes, [n1]."""
        return np.asarray(self.edge_visits.sum(axis=1))

    @property
    def marginal_visits_p2(self) -> NDArray[np.int64]:
        """As ``marginal_visits_p1``, of player 2."""
        return np.asarray(self.edge_visits.sum(axis=0))

    @property
    def marginal_Q_p1(self) -> NDArray[np.float32] | None:  # noqa: N802
        """Value of each of player 1's outcomes, [n1]; first-play urgency where unvisited, None if not evaluated."""
        return self._known["q"][0] if self._known["ready"] else None

    @property
    def marginal_Q_p2(self) -> NDArray[np.float32] | None:  # noqa: N802
        """As ``marginal_Q_p1``, of player 2."""
        return self._known["q"][1] if self._known["ready"] else None

    # --- inside ---

    @property
    def _known(self) -> Report:
        if self._runs != self._graph.runs:
            self._runs, self._report = self._graph.runs, self._graph.report(self._path)
        return self._report

    def _prior(self, player: int) -> NDArray[np.float32] | None:
        known = self._known
        return _frozen(known["priors"][player]) if known["ready"] else None

    def _actions(self, i: int, j: int) -> tuple[int, int]:
        return int(self.p1_outcomes[i]), int(self.p2_outcomes[j])

    def _rewards(self) -> NDArray[np.float32]:
        rewards = np.zeros((2, self.n1, self.n2), np.float32)
        for i, j in np.argwhere(self.edge_visits > 0):
            rewards[:, i, j] = self._state.copy().apply(*self._actions(i, j))
        return rewards

    def _child(self, i: int, j: int) -> Node:
        actions = self._actions(i, j)
        return self._graph.view(self._state.after(*actions), [*self._path, actions])

    def __repr__(self) -> str:
        return f"Node(total_visits={self.total_visits}, Q_p1={self.Q_p1:.3f}, Q_p2={self.Q_p2:.3f})"


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
