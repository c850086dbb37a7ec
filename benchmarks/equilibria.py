"""Equilibria of random 5x5 zero-sum games: in the core, through Python, by scipy's LP and by nashpy.

The ratios compare what a caller in Python pays, within one run over the same games. Ours is the whole answer of
``solve``: the value, both strategies, whether they are the only ones, and the centroid where they are not.

Run: ``python -m benchmarks --only equilibria``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ramify as rf
from benchmarks._measure import best_rate, row
from ramify import _core

SIZE = 5
TARGET = 10.0  # microseconds in the core: "microseconds for 5x5"


def rows() -> list[dict[str, Any]]:
    """One row per number: microseconds per game, and ratios."""
    rng = np.random.default_rng(0)
    generic = rng.normal(size=(2000, SIZE, SIZE))
    ties = rng.integers(-1, 2, (2000, SIZE, SIZE)).astype(np.float64)
    ours = _microseconds(lambda: _each(generic[:500], rf.equilibria.solve))
    value = _microseconds(lambda: (len(generic), rf.equilibria.values(generic)))
    core = _microseconds(lambda: _solved(generic, "centroid"))
    pairs = rng.normal(size=(200, 2, SIZE, SIZE))
    return [
        row("5x5 value, core", value, "us", TARGET, at_most=True),
        row("5x5 solved, core", core, "us", TARGET, at_most=True),
        row("5x5 solved, core, payoffs -1, 0, 1", _microseconds(lambda: _solved(ties, "centroid")), "us"),
        row("5x5 solved, core, same, maximum entropy", _microseconds(lambda: _solved(ties, "entropy")), "us"),
        row("5x5 solved, through Python", ours, "us"),
        row("5x5 general-sum, through Python", _microseconds(lambda: _each(pairs, rf.equilibria.solve)), "us"),
        row(
            "scipy's linprog, one player's half",
            _microseconds(lambda: _each(generic[:30], _linprog)) / ours,
            "times ours",
        ),
        row("nashpy's vertex enumeration", _microseconds(lambda: _each(generic[:2], _nashpy)) / ours, "times ours"),
    ]


def _microseconds(work: Callable[[], tuple[int, object]]) -> float:
    return 1e6 / best_rate(work)


def _solved(tables: np.ndarray, choose: str) -> tuple[int, object]:
    return len(tables), _core.solve_matrices(tables, choose)


def _each(tables: np.ndarray, solver: Callable[[np.ndarray], object]) -> tuple[int, object]:
    return len(tables), [solver(table) for table in tables]


def _linprog(table: np.ndarray) -> object:
    from scipy.optimize import linprog

    return linprog(
        np.r_[np.zeros(SIZE), -1],
        A_ub=np.c_[-table.T, np.ones(SIZE)],
        b_ub=np.zeros(SIZE),
        A_eq=[[1.0] * SIZE + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * SIZE + [(None, None)],
    )


def _nashpy(table: np.ndarray) -> object:
    import nashpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(nashpy.Game(table - table.min() + 1, table.max() - table + 1).vertex_enumeration())
