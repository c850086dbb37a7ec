"""Walks a whole search graph through the core's reports and checks the recursion at every node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ramify as rf
from ramify import _core

Path = list[tuple[int, int]]


@dataclass
class Walk:
    """What a graph consists of, as its edges show it."""

    nodes: dict[Any, dict[str, Any]] = field(default_factory=dict)  # reports of positions, by identity
    states: dict[Any, rf.State] = field(default_factory=dict)  # the positions themselves
    arrivals: Counter[Any] = field(default_factory=Counter)  # visits of the edges that lead to each
    links: int = 0  # edges that lead to a position
    terminals: int = 0  # edges that lead to a finished game

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def transpositions(self) -> int:
        """Edges beyond the first into each node."""
        return self.links - (len(self.nodes) - 1)


@dataclass
class Walker:
    search: _core.Search
    config: rf.SearchConfig
    found: Walk = field(default_factory=Walk)

    def identity(self, path: Path, state: rf.State) -> Any:
        """What makes two ways lead to one node. The root is outside the table: no way leads back to it."""
        if not path:
            return "root"
        if not self.config.graph:
            return tuple(path)
        return state.canonical_key if self.config.canonical else getattr(state, "history_key", state.key)

    def visit(self, path: Path, state: rf.State) -> None:
        name = self.identity(path, state)
        if name in self.found.nodes:
            return
        report = self.search.report(path)
        assert report["ready"], f"visited but never evaluated: {path}"
        self.found.nodes[name], self.found.states[name] = report, state
        check_form(report, state)
        visits = report["edge_visits"]
        assert report["visits"] == 1 + visits.sum(), f"in flight: {report['visits'] - 1 - visits.sum()} at {path}"
        for i, j in np.argwhere(visits > 0):
            joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
            self.follow(path, state, joint, int(visits[i, j]), report["payoffs"][:, i, j])
        if not self.config.graph:
            check_value(report, path)

    def follow(self, path: Path, state: rf.State, joint: tuple[int, int], visits: int, payoff: Any) -> None:
        child, below = state.copy(), [*path, joint]
        rewards = child.apply(*(action for action in joint if action >= 0)).astype(np.float64)
        value = np.zeros(2)
        if child.is_over:
            self.found.terminals += 1
        else:
            self.visit(below, child)
            name = self.identity(below, child)
            self.found.links += 1
            self.found.arrivals[name] += visits
            # Not the report found first: by another way to the node, the players may be exchanged.
            value = self.search.report(below)["value"].astype(np.float64)
        expected = [(rewards + self.config.discount * value).astype(np.float32).tolist()]
        if self.config.canonical and value[0] != value[1] and is_its_own_exchange(child):
            expected.append((rewards + self.config.discount * value[::-1]).astype(np.float32).tolist())
        assert payoff.tolist() in expected, f"edge {joint} at {path}"


def is_its_own_exchange(state: rf.State) -> bool:
    """Whether a symmetry that exchanges the players leaves the position as it is.

    Its node cannot tell the players apart: the values of an evaluator that can are read either way.
    """
    symmetries = getattr(state.game, "symmetries", ())
    return any(
        symmetry.swaps_players and state.transform(number).key == state.key  # type: ignore[attr-defined]
        for number, symmetry in enumerate(symmetries)
    )


def check_form(report: dict[str, Any], state: rf.State) -> None:
    """Outcomes, priors, values and scores are those of the position, and finite."""
    assert report["acting"] == sum(1 << player for player in state.acting)
    for player in (0, 1):
        outcomes = state.outcomes(player)[0].tolist() if player in state.acting else [-1]
        assert report["outcomes"][player].tolist() == outcomes
        assert abs(report["priors"][player].sum() - 1) < 1e-3
        assert np.isfinite(report["q"][player]).all()
    assert np.isfinite(report["value"]).all()
    assert (np.isnan(report["payoffs"]) == (report["edge_visits"] == 0)).all()


def check_value(report: dict[str, Any], path: Path) -> None:
    """(evaluation + sum of visits * payoff) / (1 + sum of visits)"""
    visits, payoffs = report["edge_visits"], np.nan_to_num(report["payoffs"].astype(np.float64))
    total = report["evaluation"].astype(np.float64) + (visits * payoffs).sum(axis=(1, 2))
    expected = total / (1 + visits.sum())
    assert (np.abs(report["value"] - expected) <= 1e-6 * (1 + np.abs(expected))).all(), f"value at {path}"


def walk_graph(search: _core.Search, state: rf.State, config: rf.SearchConfig, arrivals: bool = True) -> Walk:
    """Every node that visits lead to. ``arrivals``: each was visited exactly as often as its edges say.

    That holds unless descents may end at an evaluated node (short circuits, a full graph) or ways into it are gone
    (after advance).
    """
    walker = Walker(search, config)
    walker.visit([], state)
    found = walker.found
    for name, report in found.nodes.items():
        if arrivals and name != "root":
            assert report["visits"] == found.arrivals[name], f"arrivals at {name}"
    return found


def walk_searcher(searcher: rf.Searcher, arrivals: bool = True) -> Walk:
    """As walk_graph, of the graph that a searcher holds."""
    assert searcher._search is not None
    assert searcher._root is not None
    return walk_graph(searcher._search, searcher._root, searcher.config, arrivals)
