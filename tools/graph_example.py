"""The worked example of docs/methods/graph-search.md: its tables and its pictures, from a search.

python -m tools.graph_example      # writes docs/images/graph-search-*.svg and prints the tables
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ramify.games.pictures import Canvas
from ramify.pyrat import DIRECTIONS, PyRatGame, new_root, search

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SIMULATIONS = 8
PICTURES = (6, 8)  # simulations after which the graph is drawn
C_PUCT, FPU_OFFSET = 1.0, 0.1
BOX, ACROSS, DOWN, MARGIN = (128.0, 52.0), 300.0, 92.0, 20.0
INK, DIM, LINE, FILL, NEW, END = "#2b2620", "#6b6151", "#b7a98c", "#fdfaf3", "#ffe9a8", "#e5dcc8"


def game() -> PyRatGame:
    """Three by three cells with one wall and two pieces of cheese; three turns."""
    return PyRatGame.from_parts(
        width=3, height=3, walls=[[[0, 0], [1, 0]]], cheese=[[0, 1], [2, 0]], p1=[0, 0], p2=[2, 2], max_turns=3
    )


class Example:
    """A search, one simulation after another, with a letter for every node in the order of their discovery.

    ``root`` is any node with the fields of ``ramify.pyrat.Node``, and ``simulate`` runs one simulation from it.
    """

    def __init__(self, root: Any, simulate: Callable[[], object]) -> None:
        self.root, self._simulate = root, simulate
        self.letters: dict[Any, str] = {root: "A"}
        self.turns: dict[Any, int] = {root: 0}
        self.latest: list[Any] = [root]  # nodes on the way of the latest simulation
        self.scores: list[list[str]] = []  # rows of the first table
        self.ways: list[list[str]] = []  # rows of the second table

    def run(self, simulations: int) -> Example:
        for _ in range(simulations):
            self._step()
        return self

    def _step(self) -> None:
        number = len(self.ways) + 1
        if self.root.is_evaluated:
            self.scores.append([str(number), str(int(self.root.edge_visits.sum())), *score_cells(self.root)])
        before = {node: node.edge_visits.copy() for node in self.letters}
        self._simulate()
        way = self._follow(before)
        q1, q2 = float(self.root.Q_p1), float(self.root.Q_p2)
        self.ways.append([str(number), way, str(int(self.root.edge_visits.sum())), f"{q1:.3f}", f"{q2:.3f}"])

    def _follow(self, before: dict[Any, Any]) -> str:
        """The way of the latest simulation, found by the visits that it added."""
        node, text = self.root, "A"
        self.latest = [node]
        while node in before and (changed := np.argwhere(node.edge_visits - before[node])).size:
            i, j = (int(k) for k in changed[0])
            child = node.edge_children[i][j]
            if child not in self.letters:
                self.letters[child] = chr(ord("A") + len(self.letters))
                self.turns[child] = self.turns[node] + 1
            text += f" {edge_text(node, i, j)} {self.letters[child]}"
            node = child
            self.latest.append(node)
        return text

    def draw(self) -> str:
        """The graph: a column per turn, the latest simulation's nodes marked."""
        places: dict[Any, tuple[float, float]] = {}
        rows = [0] * (max(self.turns.values()) + 1)
        for node, turn in self.turns.items():
            places[node] = (MARGIN + ACROSS * turn, MARGIN + DOWN * rows[turn])
            rows[turn] += 1
        width = 2 * MARGIN + ACROSS * (len(rows) - 1) + BOX[0]
        canvas = Canvas(width, 2 * MARGIN + DOWN * (max(rows) - 1) + BOX[1], background="white")
        for node, place in places.items():
            for i, j in np.argwhere(node.edge_visits > 0):
                self._draw_edge(canvas, node, (int(i), int(j)), place, places[node.edge_children[i][j]])
        for node, place in places.items():
            self._draw_node(canvas, node, place)
        return canvas.render()

    def _draw_edge(
        self, canvas: Canvas, node: Any, edge: tuple[int, int], place: tuple[float, float], to: tuple[float, float]
    ) -> None:
        start, end = (place[0] + BOX[0], place[1] + BOX[1] / 2), (to[0], to[1] + BOX[1] / 2)
        canvas.line(start, end, stroke=LINE, stroke_width=1.0 + float(node.edge_visits[edge]))
        at = (start[0] + 0.6 * (end[0] - start[0]), start[1] + 0.6 * (end[1] - start[1]))
        text = f"{edge_text(node, *edge).strip('–→')} N={int(node.edge_visits[edge])}"
        halo = {"stroke": "white", "stroke_width": 3.0, "paint_order": "stroke"}  # readable where lines cross
        canvas.text(at[0], at[1] - 4, text, size=11, fill=DIM, **halo)

    def _draw_node(self, canvas: Canvas, node: Any, place: tuple[float, float]) -> None:
        over = node.n1 == 0
        fill = NEW if node in self.latest else END if over else FILL
        canvas.rect(*place, *BOX, rx=8, fill=fill, stroke=INK, stroke_width=1.2)
        name = f"{self.letters[node]} {'end' if over else f'N={int(node.edge_visits.sum())}'}"
        canvas.text(place[0] + BOX[0] / 2, place[1] + 22, name, size=15, fill=INK, font_weight="bold")
        values = f"Q = {float(node.Q_p1):.3f}, {float(node.Q_p2):.3f}"
        canvas.text(place[0] + BOX[0] / 2, place[1] + 41, values, size=12, fill=INK)


def score_cells(node: Any) -> list[str]:
    """The PUCT scores of both players' outcomes, by the formulas of the page; the chosen ones in bold."""
    visits, children = node.edge_visits, node.edge_children
    root = math.sqrt(visits.sum())
    cells = []
    for player in (0, 1):
        reward = (node.edge_r_p1, node.edge_r_p2)[player]
        own = float((node.Q_p1, node.Q_p2)[player])
        scores = []
        for i in range(visits.shape[player]):
            edges = [(i, j) if player == 0 else (j, i) for j in range(visits.shape[1 - player])]
            tried = [e for e in edges if visits[e]]
            count = sum(int(visits[e]) for e in tried)
            child = {e: children[e[0]][e[1]] for e in tried}
            total = sum(visits[e] * (reward[e] + (child[e].Q_p1, child[e].Q_p2)[player]) for e in tried)
            value = float(total) / count if count else own - FPU_OFFSET
            scores.append(value + C_PUCT / visits.shape[player] * root / (1 + count))
        texts = [f"{score:.3f}" for score in scores]
        best = texts.index(max(texts, key=float))  # the first of equal ones
        cells += [f"**{text}**" if i == best else text for i, text in enumerate(texts)]
    return cells


def edge_text(node: Any, i: int, j: int) -> str:
    """Both players' actions, with their rewards if there are any."""
    names = f"{DIRECTIONS[node.p1_outcomes[i]]}/{DIRECTIONS[node.p2_outcomes[j]]}"
    rewards = float(node.edge_r_p1[i, j]), float(node.edge_r_p2[i, j])
    return f"–{names}{f' +{rewards[0]:g},+{rewards[1]:g}' if any(rewards) else ''}→"


def example() -> Example:
    """The example as the engine searches it, before its first simulation."""
    start = game()
    root = new_root(start, c_puct=C_PUCT, fpu_offset=FPU_OFFSET)
    return Example(root, lambda: search(root, start, 1))


def pictures() -> dict[str, str]:
    """The pictures of the page by file name."""
    found = {"graph-search-board.svg": game().state.svg()}
    shown = example()
    for simulation in range(1, SIMULATIONS + 1):
        shown.run(1)
        if simulation in PICTURES:
            found[f"graph-search-{simulation}.svg"] = shown.draw()
    return found


if __name__ == "__main__":
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg + "\n", encoding="utf-8")
    done = example().run(SIMULATIONS)
    for rows in (done.scores, done.ways):
        print("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")
