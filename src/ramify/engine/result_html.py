"""What a search found as HTML, for notebooks: the position with a table, and the tree to click through."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from html import escape
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.engine import result_text
from ramify.engine.seen import followed

if TYPE_CHECKING:
    from ramify.engine.result import Path, Report, SearchResult
    from ramify.games import State

MOST_NODES = 400  # of a tree to click through; each has a picture


def summary(result: SearchResult) -> str:
    """The position, what to play, and a table of each acting player's best actions, as ``print(result)`` has it."""
    picture = result._state.svg() if result._state is not None else ""
    head = "<br>".join(map(escape, result_text.headline(result)))
    return f"<div>{picture}<p>{head}</p>{''.join(_table(result, player) for player in result.acting)}</div>"


def _table(result: SearchResult, player: int) -> str:
    found, hidden = result_text.rows(result, player)
    names = (result_text.title(result, player), "visits", "share", "value", "prior", "continuation")
    head = "".join(f"<th{_side(place)}>{name}</th>" for place, name in enumerate(names))
    lines = [(row.name, row.visits, row.share, row.value, row.prior, " ".join(row.line)) for row in found]
    body = "".join(
        f"<tr>{''.join(f'<td{_side(place)}>{escape(text)}</td>' for place, text in enumerate(line))}</tr>"
        for line in lines
    )
    return f"<table><tr>{head}</tr>{body}</table>{f'<p>and {hidden} more</p>' if hidden else ''}"


def _side(place: int) -> str:
    """Texts begin at the left, numbers end at the right."""
    return f' style="text-align: {"left" if place in (0, 5) else "right"}"'


@dataclass(frozen=True)
class Explorer:
    """The most visited part of a search graph. A notebook shows it as a tree to click through."""

    nodes: list[dict[str, Any]]  # the root first: picture, value, visits, edges to other nodes, how many more there are

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
        nodes[number]["more"] = max(0, int(np.count_nonzero(report["edge_visits"])) - width)
        for edge, joint, after in _edges(report, position, width):
            if len(nodes) < MOST_NODES:
                edge["to"] = len(nodes)
                below = result.node([*path, joint])
                nodes.append(_node(below, after))
                waiting.append((edge["to"], [*path, joint], below, after))
            nodes[number]["edges"].append(edge)
    return Explorer(nodes)


def _node(report: Report, state: State) -> dict[str, Any]:
    value = [f"{one:+.3f}" for one in report["value"]]
    return {"picture": state.svg(), "value": value, "visits": int(report["visits"]), "edges": [], "more": 0}


def _edges(report: Report, state: State, width: int) -> list[tuple[dict[str, Any], tuple[int, int], State]]:
    """The most visited edges of a node: what the table says of each, its actions, and the position after it."""
    from ramify.engine.result import name_of

    visits, found = report["edge_visits"], []
    total = max(int(visits.sum()), 1)
    for flat in np.argsort(-visits.ravel(), kind="stable")[:width]:
        i, j = divmod(int(flat), visits.shape[1])
        if visits[i, j] == 0:
            break
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        after = followed(state, joint)
        edge = {
            "name": name_of(state, joint),
            "visits": int(visits[i, j]),
            "share": round(float(visits[i, j]) / total, 3),
            "value": [f"{one:+.3f}" for one in report["payoffs"][:, i, j]],
            "prior": " ".join(f"{report['priors'][p][k]:.3f}" for p, k in ((0, i), (1, j)) if joint[p] >= 0),
        }
        found.append((edge, joint, after))
    return found
