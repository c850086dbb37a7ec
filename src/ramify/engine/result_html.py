"""What a search found as HTML, for notebooks: the position with a table, and the tree to click through."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from html import escape
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ramify.engine.result import Path, Report, SearchResult
    from ramify.games import State

MOST_NODES = 400  # of a tree to click through; each has a picture


def summary(result: SearchResult) -> str:
    """The position, the most visited actions of each acting player, and the statistics of the search."""
    rows = []
    for player in result.acting:
        marginal = result.visits.sum(axis=1 - player)
        for i in np.argsort(-marginal, kind="stable")[:12]:
            action = int(result.outcomes[player][i])
            name = result._state.action_name(action, player) if result._state is not None else str(action)
            rows.append(
                f"<tr><td>{player}</td><td>{escape(name)}</td><td>{marginal[i]}</td>"
                f"<td>{result.q[player][i]:+.3f}</td><td>{result.priors[player][i]:.3f}</td></tr>"
            )
    head = "<tr><th>player</th><th>action</th><th>visits</th><th>value</th><th>prior</th></tr>"
    facts = ", ".join(f"{name} {value}" for name, value in result.stats.items())
    picture = result._state.svg() if result._state is not None else ""
    return f"<div>{picture}<table>{head}{''.join(rows)}</table><small>{escape(facts)}</small></div>"


@dataclass(frozen=True)
class Explorer:
    """The most visited part of a search graph. A notebook shows it as a tree to click through."""

    nodes: list[dict[str, Any]]  # the root first: picture, value, visits, and the edges to other nodes

    def __repr__(self) -> str:
        return f"<Explorer of {len(self.nodes)} positions; a notebook shows it>"

    def _repr_html_(self) -> str:
        """The root as plain HTML, and a script that shows another node after a click."""
        name = f"ramify-{secrets.token_hex(6)}"  # several may be on one page
        data = json.dumps(self.nodes).replace("<", "\\u003c")  # no end of the script inside it
        script = FilePath(__file__).with_name("explorer.js").read_text(encoding="utf-8")
        root = self.nodes[0]
        edges = ", ".join(f"{escape(edge['name'])}: {edge['visits']}" for edge in root["edges"])
        first = f"{root['picture']}<p>visits {root['visits']}. {edges}</p>"
        return f'<div id="{name}">{first}</div><script>({script})({json.dumps(name)}, {data})</script>'


def explore(result: SearchResult, state: State, depth: int, width: int) -> Explorer:
    """The ``width`` most visited edges of every node, ``depth`` levels deep, or fewer once there are many nodes."""
    root = result.node([])
    nodes = [_node(root, state)]
    waiting: list[tuple[int, Path, Report, State]] = [(0, [], root, state)]
    while waiting:
        number, path, report, position = waiting.pop(0)
        if len(path) == depth or not report["ready"]:
            continue
        for edge, joint, after in _edges(report, position, width):
            if len(nodes) < MOST_NODES:
                edge["to"] = len(nodes)
                below = result.node([*path, joint])
                nodes.append(_node(below, after))
                waiting.append((edge["to"], [*path, joint], below, after))
            nodes[number]["edges"].append(edge)
    return Explorer(nodes)


def _node(report: Report, state: State) -> dict[str, Any]:
    value = [round(float(one), 3) for one in report["value"]]
    return {"picture": state.svg(), "value": value, "visits": int(report["visits"]), "edges": []}


def _edges(report: Report, state: State, width: int) -> list[tuple[dict[str, Any], tuple[int, int], State]]:
    """The most visited edges of a node: what the table says of each, its actions, and the position after it."""
    from ramify.engine.result import follow, name_of

    visits, found = report["edge_visits"], []
    total = max(int(visits.sum()), 1)
    for flat in np.argsort(-visits.ravel(), kind="stable")[:width]:
        i, j = divmod(int(flat), visits.shape[1])
        if visits[i, j] == 0:
            break
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        after = state.copy()
        follow(after, joint)
        edge = {
            "name": name_of(state, joint),
            "visits": int(visits[i, j]),
            "share": round(float(visits[i, j]) / total, 3),
            "value": [round(float(one), 3) for one in report["payoffs"][:, i, j]],
        }
        found.append((edge, joint, after))
    return found
