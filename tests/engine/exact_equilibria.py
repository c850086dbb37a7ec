"""Extreme equilibria by exhaustion, in exact arithmetic: every vertex of both best-response polyhedra, no tolerance."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

Row = list[Fraction]
Strategy = tuple[Fraction, ...]


def solve_square(rows: list[Row]) -> Row | None:
    """The solution of [A | b], or None where A is singular."""
    rows, n = [row[:] for row in rows], len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def vertices(replies: list[Row]) -> dict[Strategy, frozenset[tuple[str, int]]]:
    """Vertices of {(x, v): x a strategy, no reply earns more than v}, with the constraints that are tight there.

    replies[i][j]: what the other player gets for reply j to outcome i.
    """
    n, m = len(replies), len(replies[0])
    one, zero = Fraction(1), Fraction(0)
    total = [one] * n + [zero, one]
    zeros = {("zero", i): [one if k == i else zero for k in range(n)] + [zero, zero] for i in range(n)}
    reached = {("reply", j): [replies[i][j] for i in range(n)] + [-one, zero] for j in range(m)}
    found = {}
    for chosen in combinations({**zeros, **reached}.items(), n):
        point = solve_square([total, *(row for _, row in chosen)])
        if point is None or min(point[:n]) < 0:
            continue
        earned = [sum(replies[i][j] * point[i] for i in range(n)) for j in range(m)]
        if max(earned) > point[n]:
            continue
        tight = [("zero", i) for i in range(n) if point[i] == 0] + [
            ("reply", j) for j in range(m) if earned[j] == point[n]
        ]
        found[tuple(point[:n])] = frozenset(tight)
    return found


def extreme_equilibria(first: list[Row], second: list[Row]) -> set[tuple[Strategy, Strategy]]:
    """Pairs of vertices in which every outcome is a best reply or not played."""
    turned = [list(column) for column in zip(*first, strict=True)]
    swap = {"zero": "reply", "reply": "zero"}
    result = set()
    columns = {y: {(swap[kind], k) for kind, k in tight} for y, tight in vertices(turned).items()}
    everything = {("zero", i) for i in range(len(first))} | {("reply", j) for j in range(len(first[0]))}
    for x, tight in vertices(second).items():
        result |= {(x, y) for y, other in columns.items() if tight | other == everything}
    return result
