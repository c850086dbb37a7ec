"""How directly players collect cheese: the turns they take, and the shortest tour of the same cells."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.games import State
from ramify.games.pyrat import OFFSETS

Cell = tuple[int, int]
EXACT = 12  # cells up to which the shortest tour is exact
UNREACHED = np.inf


@dataclass(frozen=True)
class Collected:
    """The cheese that one player collected in a game, shared pieces included."""

    player: int
    start: Cell
    cells: tuple[Cell, ...]  # in the order in which it collected them
    turns: int  # until the last one
    shortest: float  # turns of the shortest tour found of these cells from the start

    @property
    def efficiency(self) -> float:
        """The shortest tour as a fraction of the turns taken; 1 is the best."""
        return self.shortest / self.turns if self.turns else 1.0


def distances(fields: Mapping[str, Any], source: Cell) -> dict[Cell, int]:
    """The turns from a cell to every cell that can be reached, by Dijkstra's algorithm; mud of N takes N + 1."""
    walls = {frozenset(map(tuple, wall)) for wall in fields["walls"]}
    mud = {frozenset((tuple(a), tuple(b))): int(turns) for a, b, turns in fields["mud"]}
    found: dict[Cell, int] = {}
    queue = [(0, source)]
    while queue:
        turns, cell = heapq.heappop(queue)
        if cell in found:
            continue
        found[cell] = turns
        for dx, dy in OFFSETS:
            near = (cell[0] + dx, cell[1] + dy)
            inside = 0 <= near[0] < fields["width"] and 0 <= near[1] < fields["height"]
            edge = frozenset((cell, near))
            if inside and near not in found and edge not in walls:
                heapq.heappush(queue, (turns + mud.get(edge, 0) + 1, near))
    return found


def shortest_tour(between: NDArray[np.float64]) -> float:
    """The length of the shortest path from place 0 through all others; up to 12 of them exactly, else by 2-opt.

    ``between`` holds the distances of all pairs.
    """
    count = len(between) - 1
    if count <= 0:
        return 0.0
    return _exact(between) if count <= EXACT else _improved(between)


def _exact(between: NDArray[np.float64]) -> float:
    """Held and Karp: the best path over each set of places that ends at each of them."""
    count = len(between) - 1
    best = np.full((1 << count, count), np.inf)
    best[1 << np.arange(count), np.arange(count)] = between[0, 1:]
    inner = between[1:, 1:]
    for visited in range(1, 1 << count):
        reached = (best[visited][:, None] + inner).min(axis=0)
        for place in range(count):
            if not visited >> place & 1:
                wider = visited | 1 << place
                best[wider, place] = min(best[wider, place], reached[place])
    return float(best[-1].min())


def _improved(between: NDArray[np.float64]) -> float:
    """The nearest place first, then parts of the path reversed as long as that shortens it."""
    order, left = [0], set(range(1, len(between)))
    while left:
        nearest = min(left, key=lambda place: (between[order[-1], place], place))
        order.append(nearest)
        left.remove(nearest)
    shorter = True
    while shorter:
        shorter = False
        for i in range(1, len(order) - 1):
            for j in range(i + 1, len(order)):
                after = between[order[j], order[j + 1]] if j + 1 < len(order) else 0.0
                now = between[order[i - 1], order[i]] + after
                after = between[order[i], order[j + 1]] if j + 1 < len(order) else 0.0
                if between[order[i - 1], order[j]] + after < now - 1e-9:
                    order[i : j + 1] = order[i : j + 1][::-1]
                    shorter = True
    return float(sum(between[a, b] for a, b in pairwise(order)))


def collected(states: Iterable[State]) -> tuple[Collected, Collected]:
    """What each player collected in a game, from its positions, the first and the last included."""
    listed = [getattr(state, "fields") for state in states]  # noqa: B009 - only states of the core have it
    found: tuple[list[tuple[Cell, int]], list[tuple[Cell, int]]] = ([], [])
    for turn, (before, after) in enumerate(pairwise(listed), start=1):
        gone = {tuple(cell) for cell in before["cheese"]} - {tuple(cell) for cell in after["cheese"]}
        for player in (0, 1):
            cell = tuple(after[f"p{player + 1}"])
            if cell in gone:
                found[player].append((cell, turn))
    first, second = (_collected(listed[0], player, found[player]) for player in (0, 1))
    return first, second


def _collected(fields: Mapping[str, Any], player: int, taken: Sequence[tuple[Cell, int]]) -> Collected:
    x, y = fields[f"p{player + 1}"]
    places = [(x, y), *(cell for cell, _ in taken)]
    reached = [distances(fields, place) for place in places]
    between = np.array([[near.get(place, UNREACHED) for place in places] for near in reached], np.float64)
    cells = tuple(cell for cell, _ in taken)
    return Collected(player, (x, y), cells, taken[-1][1] if taken else 0, shortest_tour(between))
