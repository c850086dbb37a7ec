"""Evaluations that sharing nodes saves: graph against tree search at equal value error.

For a set of positions, the value error of a search with N evaluations is the mean of |value - reference|, where the
reference is the mean of a long tree search and a long graph search with random numbers of their own. Lines through
log(error) against log(N) say how many evaluations each kind of search needs for the error that tree search has after
``AT`` of them. Positions are drawn anew with replacement for the intervals (5 % to 95 %).

Run: ``python -m benchmarks --only transpositions`` (some 90 s of CPU time)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from benchmarks._measure import row
from benchmarks._positions import random_positions
from ramify.evaluators import Rollout

POSITIONS = 32
SEEDS = 3  # searches per position, mode and budget
BUDGETS = (100, 200, 400, 800, 1_600, 3_200)
LONG = 25_600  # evaluations behind the reference
FITTED = (0, 0, 1, 1, 1, 1)  # the lines go through the larger budgets
AT = 1_600  # the tree search whose error the others have to reach
PATIENCE = 4  # simulations per evaluation before a search counts as finished: all it still meets is known
DECIDED = 0.95  # references beyond this are no test of anything

MODES: dict[str, dict[str, Any]] = {
    "tree": {},
    "graph": {"graph": True},
    "graph, short circuit": {"graph": True, "short_circuit": True},
    "graph, canonical": {"graph": True, "canonical": True},
}


@dataclass(frozen=True)
class Case:
    """A game with positions, and how it is searched."""

    name: str
    game: rf.Game
    turns: int
    scale: float = 1.0  # the most a value can be
    settings: dict[str, Any] = field(default_factory=dict)


def cases() -> list[Case]:
    open_7 = rf.make("pyrat", width=7, height=7, cheese=10, wall_density=0.0, mud_density=0.0, max_turns=60)
    return [
        Case("Hex 7x7", rf.make("hex", size=7), 8),
        Case("connect four", rf.make("connect_four"), 8),
        Case("PyRat 7x7 open", open_7, 4, 10.0, {"normalize": "remaining", "fpu": "parent"}),
    ]


def search(case: Case, state: rf.State, mode: str, evaluations: int, seed: int) -> rf.SearchResult:
    config = rf.SearchConfig(
        simulations=PATIENCE * evaluations, max_evaluations=evaluations, **case.settings, **MODES[mode]
    )
    return rf.Searcher(case.game, Rollout(1), config, seed=seed).run(state)


def reference(case: Case, state: rf.State, seed: int) -> NDArray[np.float64]:
    """The mean of a long tree search and a long graph search."""
    found = [search(case, state, mode, LONG, 10_000 + 2 * seed + i).value for i, mode in enumerate(("tree", "graph"))]
    return np.asarray(np.mean(found, axis=0), np.float64)


def undecided(case: Case) -> list[tuple[rf.State, NDArray[np.float64]]]:
    """Positions with their reference values."""
    pairs = [
        (state, reference(case, state, i)) for i, state in enumerate(random_positions(case.game, POSITIONS, case.turns))
    ]
    return [(state, value) for state, value in pairs if abs(value).max() < DECIDED * case.scale]


def errors(case: Case, pairs: list[tuple[rf.State, NDArray[np.float64]]], mode: str) -> NDArray[np.float64]:
    """[positions, budgets]: mean |value - reference| of both players and all seeds."""
    table = np.zeros((len(pairs), len(BUDGETS)))
    for i, (state, target) in enumerate(pairs):
        for j, budget in enumerate(BUDGETS):
            found = [search(case, state, mode, budget, SEEDS * i + seed).value for seed in range(SEEDS)]
            table[i, j] = np.abs(np.array(found) - target).mean()
    return table


def needed(table: NDArray[np.float64], tree: NDArray[np.float64]) -> float:
    """Evaluations that reach the error of tree search after AT, by the lines through both logarithms."""
    slope, offset = line(table)
    tree_slope, tree_offset = line(tree)
    return float(np.exp((tree_slope * np.log(AT) + tree_offset - offset) / slope))


def line(table: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset of log(error) against log(evaluations)."""
    slope, offset = np.polyfit(np.log(BUDGETS), np.log(table.mean(axis=0)), 1, w=FITTED)
    return float(slope), float(offset)


def saved(table: NDArray[np.float64], tree: NDArray[np.float64]) -> tuple[float, float, float]:
    """Share of evaluations saved, with an interval over positions."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(tree), size=(400, len(tree)))
    shares = [1 - needed(table[draw], tree[draw]) / AT for draw in draws]
    low, high = np.quantile(shares, [0.05, 0.95])
    return 1 - needed(table, tree) / AT, float(low), float(high)


def case_rows(case: Case) -> list[dict[str, Any]]:
    pairs = undecided(case)
    symmetric = len(case.game.symmetries) > 1 and not case.game.simultaneous  # PyRat's mazes are all different
    modes = [mode for mode in MODES if symmetric or "canonical" not in mode]
    tables = {mode: errors(case, pairs, mode) for mode in modes}
    results = []
    for mode, table in tables.items():
        label = f"{case.name}, {mode}, {len(pairs)} positions"
        error = float(table.mean(axis=0)[BUDGETS.index(AT)])
        results.append(row(f"{label}: value error after {AT:,} evaluations", error, ""))
        if mode != "tree":
            share, low, high = saved(table, tables["tree"])
            interval = f"[{100 * low:.0f}, {100 * high:.0f}]"
            results.append(row(f"{label}: evaluations saved at equal error {interval}", 100 * share, "%"))
    return results


def rows() -> list[dict[str, Any]]:
    """Value errors and evaluations saved, per game and kind of search."""
    return [result for case in cases() for result in case_rows(case)]
