"""What a search found, frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ramify.games import State

Report = Mapping[str, Any]
Path = list[tuple[int, int]]
Method = Literal["visits"]


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class SearchResult:
    """The root of a finished search. Arrays are over outcomes: a passive player has exactly one."""

    visits: NDArray[np.int64]  # [n0, n1], edge visits
    outcomes: tuple[NDArray[np.int32], NDArray[np.int32]]  # outcome -> action; -1 for a passive player
    priors: tuple[NDArray[np.float32], NDArray[np.float32]]  # as searched with, root noise included
    q: tuple[NDArray[np.float32], NDArray[np.float32]]  # each player's value of its outcomes (fpu where unvisited)
    payoffs: NDArray[np.float32]  # [2, n0, n1]: reward + discount * child value; nan where unvisited
    value: NDArray[np.float32]  # [2]
    evaluation: NDArray[np.float32]  # [2], what the evaluator said of the root
    acting: tuple[int, ...]
    num_actions: int
    principal_variation: list[Any]  # actions, or tuples where both act
    stats: dict[str, Any]
    proven: None = None
    _state: State | None = field(default=None, repr=False)
    _look: Callable[[Path], Report] | None = field(default=None, repr=False)

    @classmethod
    def from_report(cls, report: Report, *, num_actions: int, **rest: Any) -> SearchResult:
        """Build a result from what the core reports of a node."""
        return cls(
            visits=_frozen(report["edge_visits"]),
            outcomes=(_frozen(report["outcomes"][0]), _frozen(report["outcomes"][1])),
            priors=(_frozen(report["priors"][0]), _frozen(report["priors"][1])),
            q=(_frozen(report["q"][0]), _frozen(report["q"][1])),
            payoffs=_frozen(report["payoffs"]),
            value=_frozen(report["value"]),
            evaluation=_frozen(report["evaluation"]),
            acting=players(report["acting"]),
            num_actions=num_actions,
            **rest,
        )

    def policy(
        self, player: int | None = None, method: Method = "visits", temperature: float = 1.0
    ) -> NDArray[np.float32]:
        """Probabilities over all actions. ``visits``: in proportion to visits ** (1 / temperature); 0 is greedy."""
        player = self._player(player)
        if method != "visits":
            raise ValueError(f"unknown policy method {method!r}; known: 'visits'")
        policy = np.zeros(self.num_actions, np.float32)
        policy[self.outcomes[player]] = self._outcome_policy(player, temperature)
        return policy

    def action(self, temperature: float = 0.0, rng: np.random.Generator | None = None) -> Any:
        """The action to play: the most visited at temperature 0, else a sample; a pair where both act."""
        if temperature > 0 and rng is None:
            rng = np.random.default_rng(self.stats["seed"])
        chosen = []
        for player in self.acting:
            policy = self._outcome_policy(player, temperature)
            index = int(policy.argmax()) if rng is None or temperature == 0 else int(rng.choice(len(policy), p=policy))
            chosen.append(int(self.outcomes[player][index]))
        return tuple(chosen) if len(chosen) == 2 else chosen[0]

    def tree(self, depth: int = 2, width: int = 5) -> str:
        """The most visited part of the graph as text: ``width`` edges a node, ``depth`` levels."""
        if self._look is None or self._state is None:
            raise ValueError("this result has no graph to look at")
        lines = [f"value {_pair(self.value)}  visits {int(self.visits.sum()) + 1}"]
        self._grow(lines, [], self._state.copy(), depth, width, "")
        return "\n".join(lines)

    def variation(self, *actions: int, length: int = 8) -> list[Any]:
        """The most visited way down, at most ``length`` actions long: from the root, or starting with these actions.

        Give one action per acting player, as in ``outcomes``; what comes back are actions, or tuples where both act.
        """
        if self._look is None:
            raise ValueError("this result has no graph to look at")
        path: Path = []
        if actions:
            first = dict(zip(self.acting, actions, strict=True))
            path.append((first.get(0, -1), first.get(1, -1)))
        while len(path) < length:
            report = self._look(path)
            if not report["ready"] or not report["edge_visits"].any():
                break
            path.append(most_visited(report))
        return [played(joint) for joint in path]

    def _grow(self, lines: list[str], path: Path, state: State, depth: int, width: int, indent: str) -> None:
        assert self._look is not None
        report = self._look(path)
        if depth == 0 or not report["ready"]:
            return
        for joint, row in best_edges(report, width):
            lines.append(f"{indent}{name_of(state, joint)}  {row}")
            child = state.copy()
            child.apply(*(action for action in joint if action >= 0))
            self._grow(lines, [*path, joint], child, depth - 1, width, indent + "    ")

    def _player(self, player: int | None) -> int:
        if player is None:
            if len(self.acting) != 1:
                raise ValueError("both players act here: say which player (0 or 1)")
            return self.acting[0]
        if player not in self.acting:
            raise ValueError(f"player {player} does not act here; acting: {self.acting}")
        return player

    def _outcome_policy(self, player: int, temperature: float) -> NDArray[np.float64]:
        if not temperature >= 0:
            raise ValueError(f"temperature must be 0 or more, not {temperature}")
        counts = self.visits.sum(axis=1 - player).astype(np.float64)
        if counts.sum() == 0:  # a single simulation: all that is known are the priors
            counts = self.priors[player].astype(np.float64)
        if temperature == 0:
            order = np.lexsort((-np.arange(len(counts)), self.priors[player], self.q[player], counts))
            counts = np.zeros_like(counts)
            counts[order[-1]] = 1.0
        elif temperature != 1:
            logs = np.full_like(counts, -np.inf)
            logs[counts > 0] = np.log(counts[counts > 0]) / temperature
            counts = np.exp(logs - logs.max())
        return np.asarray(counts / counts.sum())

    def _repr_html_(self) -> str:
        rows = []
        for player in self.acting:
            marginal = self.visits.sum(axis=1 - player)
            for i in np.argsort(-marginal, kind="stable")[:12]:
                action = int(self.outcomes[player][i])
                name = self._state.action_name(action, player) if self._state is not None else str(action)
                rows.append(
                    f"<tr><td>{player}</td><td>{escape(name)}</td><td>{marginal[i]}</td>"
                    f"<td>{self.q[player][i]:+.3f}</td><td>{self.priors[player][i]:.3f}</td></tr>"
                )
        head = "<tr><th>player</th><th>action</th><th>visits</th><th>value</th><th>prior</th></tr>"
        facts = ", ".join(f"{name} {value}" for name, value in self.stats.items())
        picture = self._state.svg() if self._state is not None else ""
        return f"<div>{picture}<table>{head}{''.join(rows)}</table><small>{escape(facts)}</small></div>"


def players(mask: int) -> tuple[int, ...]:
    """The players in the core's bit mask."""
    return tuple(player for player in (0, 1) if mask >> player & 1)


def played(joint: tuple[int, int]) -> Any:
    """The action of the player who acts, or the pair where both do."""
    actions = tuple(action for action in joint if action >= 0)
    return actions if len(actions) == 2 else actions[0]


def most_visited(report: Report) -> tuple[int, int]:
    """The actions of a node's most visited edge; ties as in SearchResult.action where one player chooses."""
    visits = report["edge_visits"]
    best = int(visits.argmax())
    if 1 in visits.shape:
        chooser = int(visits.shape[0] == 1)
        ranks = (-np.arange(visits.size), report["priors"][chooser], report["q"][chooser], visits.ravel())
        best = int(np.lexsort(ranks)[-1])
    i, j = divmod(best, visits.shape[1])
    return int(report["outcomes"][0][i]), int(report["outcomes"][1][j])


def best_edges(report: Report, width: int) -> list[tuple[tuple[int, int], str]]:
    """The most visited edges of a node with a line of facts each."""
    visits = report["edge_visits"]
    order = np.argsort(-visits.ravel(), kind="stable")[:width]
    edges = []
    for flat in order:
        i, j = divmod(int(flat), visits.shape[1])
        if visits[i, j] == 0:
            break
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        prior = " ".join(f"{report['priors'][p][k]:.3f}" for p, k in ((0, i), (1, j)) if report["acting"] >> p & 1)
        edges.append((joint, f"visits {visits[i, j]}  value {_pair(report['payoffs'][:, i, j])}  prior {prior}"))
    return edges


def name_of(state: State, joint: tuple[int, int]) -> str:
    """An edge by the names of its actions."""
    return " / ".join(state.action_name(action, player) for player, action in enumerate(joint) if action >= 0)


def _pair(values: NDArray[np.float32]) -> str:
    return f"{values[0]:+.3f} {values[1]:+.3f}"
