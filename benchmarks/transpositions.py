"""Evaluations that sharing nodes saves: graph against tree search at equal value error.

For a set of positions, the value error of a search with N evaluations is the mean of |value - reference|, where the
reference is the mean of a long tree search and a long graph search. How far those two lie apart is a row of its own: no
error below it means anything. Lines through log(error) against log(N) say how many evaluations each kind of search
needs for the error that tree search has after ``AT`` of them. Positions are drawn anew with replacement for the
intervals (5 % to 95 %). Evaluators are fixed functions of the position, as networks are.

Canonical keys save nothing after a few random turns, when no symmetry is left: they get rows of their own.

Run: ``python -m benchmarks --only transpositions`` (some 80 s of CPU time)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from benchmarks._evaluators import judge_distances, judge_lines
from benchmarks._measure import row
from benchmarks._positions import random_positions
from ramify.evaluators import Function, Rollout

POSITIONS = 64
BUDGETS = (100, 200, 400, 800, 1_600)
LONG = 6_400  # evaluations behind each half of the reference
AT = 800  # the tree search whose error the others have to reach
PATIENCE = 4  # simulations per evaluation before a search counts as finished: all it still meets is known
DECIDED = 0.95  # references beyond this are no test of anything

MODES: dict[str, dict[str, Any]] = {
    "tree": {},
    "graph": {"graph": True},
    "graph, short circuit": {"graph": True, "short_circuit": True},
}


@dataclass(frozen=True)
class Case:
    """A game with positions, and how it is searched."""

    name: str
    game: rf.Game
    evaluator: Any
    turns: int  # random ones that lead to a position
    scale: float = 1.0  # the most a value can be
    settings: dict[str, Any] = field(default_factory=dict)


def cases() -> list[Case]:
    open_7 = rf.make("pyrat", width=7, height=7, cheese=10, wall_density=0.0, mud_density=0.0, max_turns=60)
    return [
        Case("Hex 7x7", rf.make("hex", size=7), Function(judge_distances), 8),
        Case("connect four", rf.make("connect_four"), Function(judge_lines), 8),
        Case("PyRat 7x7 open", open_7, Rollout(2), 4, 10.0, {"normalize": "remaining", "fpu": "parent"}),
    ]


def values(case: Case, states: list[rf.State], mode: str, evaluations: int) -> NDArray[np.float64]:
    """[positions, 2]: what a search with so many evaluations says."""
    budget = {"simulations": PATIENCE * evaluations, "max_evaluations": evaluations}
    config = rf.SearchConfig(**budget, **case.settings, **MODES[mode])
    results = rf.Searcher(case.game, case.evaluator, config).run_many(states)
    return np.array([result.value for result in results], np.float64)


def errors(case: Case, states: list[rf.State], reference: NDArray[np.float64], mode: str) -> NDArray[np.float64]:
    """[positions, budgets]: mean |value - reference| of the two players."""
    found = [np.abs(values(case, states, mode, budget) - reference).mean(axis=1) for budget in BUDGETS]
    return np.stack(found, axis=1)


def needed(table: NDArray[np.float64], tree: NDArray[np.float64]) -> float:
    """Evaluations that reach the error of tree search after AT, by the lines through both logarithms."""
    slope, offset = line(table)
    tree_slope, tree_offset = line(tree)
    return float(np.exp((tree_slope * np.log(AT) + tree_offset - offset) / slope))


def line(table: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset of log(error) against log(evaluations)."""
    slope, offset = np.polyfit(np.log(BUDGETS), np.log(table.mean(axis=0)), 1)
    return float(slope), float(offset)


def saved(table: NDArray[np.float64], tree: NDArray[np.float64]) -> tuple[float, float, float]:
    """Share of evaluations saved, with an interval over positions."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(tree), size=(400, len(tree)))
    shares = [1 - needed(table[draw], tree[draw]) / AT for draw in draws]
    low, high = np.quantile(shares, [0.05, 0.95])
    return 1 - needed(table, tree) / AT, float(low), float(high)


def case_rows(case: Case) -> list[dict[str, Any]]:
    states = random_positions(case.game, POSITIONS, case.turns)
    long = [values(case, states, mode, LONG) for mode in ("tree", "graph")]
    reference = np.mean(long, axis=0)
    open_ = np.flatnonzero(np.abs(reference).max(axis=1) < DECIDED * case.scale)
    states, reference, apart = [states[i] for i in open_], reference[open_], np.abs(long[0] - long[1])[open_]
    tables = {mode: errors(case, states, reference, mode) for mode in MODES}
    label = f"{case.name}, {len(states)} positions: long tree and graph search apart"
    results = [row(label, float(apart.mean()), "")]
    for mode, table in tables.items():
        error = float(table.mean(axis=0)[BUDGETS.index(AT)])
        results.append(row(f"{case.name}, {mode}: value error after {AT:,} evaluations", error, ""))
        if mode != "tree":
            share, low, high = saved(table, tables["tree"])
            interval = f"[{100 * low:.0f}, {100 * high:.0f}]"
            results.append(row(f"{case.name}, {mode}: evaluations saved at equal error {interval}", 100 * share, "%"))
    return results + start_rows(case)


def start_rows(case: Case) -> list[dict[str, Any]]:
    """From the start: simulations whose new edge led to a position that was already known."""
    results = []
    for label, settings in (("equal", {}), ("symmetric", {"canonical": True})):
        config = rf.SearchConfig(simulations=AT, graph=True, **case.settings, **settings)
        stats = rf.Searcher(case.game, case.evaluator, config).run(case.game.initial_state(0)).stats
        met = 100 * stats["transpositions"] / stats["simulations"]
        results.append(row(f"{case.name}, {AT:,} simulations from the start: met {label} positions", met, "%"))
    return results


def rows() -> list[dict[str, Any]]:
    """Value errors and evaluations saved, per game and kind of search."""
    return [result for case in cases() for result in case_rows(case)]
