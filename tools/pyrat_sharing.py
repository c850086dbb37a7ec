"""What sharing nodes saves in PyRat: evaluations that graph search needs for the value error of tree search.

    python -m tools.pyrat_sharing --positions 500

The positions are those of ``ramify.pyrat.oracle_positions``, whose values are known exactly; values of leaves are
uniform. Both kinds of search get the same numbers of evaluations. For every number that tree search gets but the least
and the most, the mean error curve of graph search says how many evaluations graph search needs for the same error; the
share of tree search's is the geometric mean over these numbers. Intervals (5 % to 95 %) are over positions drawn anew
with replacement. A second table says how many nodes are shared on larger boards, where nothing is known exactly.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from ramify.pyrat import OraclePosition
from tools.oracle_set import board, light_positions

BUDGETS = (50, 100, 200, 400, 800, 1_600, 3_200, 6_400)  # evaluations
PATIENCE = 4  # simulations per evaluation before a search counts as finished: all it still meets is known
AT = 3_200  # evaluations whose errors are shown
DRAWS = 400
SELECTIONS = {"puct": "PUCT", "regret": "regret matching"}
LARGER: dict[str, dict[str, Any]] = {
    "7×7, open, 10 cheese": {
        "width": 7,
        "height": 7,
        "cheese": 10,
        "max_turns": 50,
        "wall_density": 0.0,
        "mud_density": 0.0,
    },
    "11×9, walls and mud, 13 cheese": {"width": 11, "height": 9, "cheese": 13, "max_turns": 150},
}
SEARCH: dict[str, Any] = {"graph": True, "normalize": "remaining"}  # of these
BOARDS = 12

Floats = NDArray[np.float64]


def errors(position: OraclePosition, selection: str, graph: bool) -> list[float]:
    """The value error after each number of evaluations."""
    settings: Any = {"selection": selection, "graph": graph}
    found = []
    for budget in BUDGETS:
        limits = {"simulations": PATIENCE * budget, "max_evaluations": budget}
        found.append(position.value_error(rf.search(position.state, rf.evaluators.Uniform(), **limits, **settings)))
    return found


def needed(curve: Floats, error: float) -> float:
    """Evaluations after which a mean error curve falls to ``error``, between the numbers measured.

    An error below the whole curve is extended from its last step: a curve that does not fall any more never gets there.
    """
    falling, steps = np.log(np.maximum(np.minimum.accumulate(curve), 1e-9)), np.log(np.array(BUDGETS, np.float64))
    wanted = float(np.log(max(error, 1e-9)))
    if wanted >= falling[0]:
        return float(BUDGETS[0])
    if wanted < falling[-1]:
        slope = (falling[-1] - falling[-2]) / (steps[-1] - steps[-2])
        return float(np.exp(steps[-1] + (wanted - falling[-1]) / slope)) if slope < 0 else float("inf")
    place = int(np.argmax(falling <= wanted))
    share = (wanted - falling[place - 1]) / (falling[place] - falling[place - 1])
    return float(np.exp(steps[place - 1] + share * (steps[place] - steps[place - 1])))


def share(tree: Floats, graph: Floats) -> float:
    """Evaluations of graph search as a share of those of tree search at equal error; [positions, budgets] each."""
    mean_tree, mean_graph = tree.mean(axis=0), graph.mean(axis=0)
    inner = range(1, len(BUDGETS) - 1)
    ratios = [needed(mean_graph, float(mean_tree[k])) / needed(mean_tree, float(mean_tree[k])) for k in inner]
    return float(np.exp(np.mean(np.log(ratios))))


def interval(tree: Floats, graph: Floats) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    drawn = (rng.integers(len(tree), size=len(tree)) for _ in range(DRAWS))
    low, high = np.quantile([share(tree[rows], graph[rows]) for rows in drawn], [0.05, 0.95])
    return float(low), float(high)


def sizes_table(count: int, seed: int, selections: list[str]) -> Iterator[str]:
    """A row per size of the board, and one for all."""
    names: list[str] = []
    curves: dict[tuple[str, bool], list[list[float]]] = {}
    for position in light_positions(count, seed):
        names.append(board(position.state))
        for selection in selections:
            for graph in (False, True):
                curves.setdefault((selection, graph), []).append(errors(position, selection, graph))
    yield f"| search | board | positions | error of the tree, {AT:,} evaluations | of the graph | graph needs | 90 % |"
    yield "|---" * 7 + "|"
    at = BUDGETS.index(AT)
    for selection in selections:
        tree, graph = (np.array(curves[selection, shared]) for shared in (False, True))
        for name in [*sorted(set(names)), "all"]:
            rows = np.array([name in ("all", one) for one in names])
            low, high = interval(tree[rows], graph[rows])
            means = f"{tree[rows, at].mean():.3f} | {graph[rows, at].mean():.3f}"
            shares = f"{share(tree[rows], graph[rows]):.0%} | {low:.0%} to {high:.0%}"
            yield f"| {SELECTIONS[selection]} | {name} | {rows.sum()} | {means} | {shares} |"


def parents(state: rf.State, simulations: int) -> tuple[int, int, int]:
    """Nodes of a graph search but the root, those among them that have several parents, and edges between all nodes."""
    result = rf.search(state, rf.evaluators.Uniform(), simulations=simulations, **SEARCH)
    leading: dict[int, int] = {}
    waiting: list[tuple[rf.State, list[tuple[int, int]]]] = [(state, [])]
    while waiting:
        here, path = waiting.pop()
        known = result.node(path)
        if not known["ready"]:
            continue
        for i, j in np.argwhere(known["edge_visits"] > 0):
            actions = int(known["outcomes"][0][i]), int(known["outcomes"][1][j])
            child = here.after(*actions)
            if child.is_over:
                continue
            leading[child.key] = leading.get(child.key, 0) + 1
            if leading[child.key] == 1:
                waiting.append((child, [*path, actions]))
    return len(leading), sum(count > 1 for count in leading.values()), sum(leading.values())


def larger_table(simulations: list[int]) -> Iterator[str]:
    """Shared nodes from the start of games on larger boards."""
    yield "| board | simulations | nodes | with several parents | edges per node |"
    yield "|---" * 5 + "|"
    for name, params in LARGER.items():
        for budget in simulations:
            found = [parents(rf.make("pyrat", **params).initial_state(seed), budget) for seed in range(BOARDS)]
            nodes, shared, edges = np.sum(found, axis=0)
            yield f"| {name} | {budget:,} | {nodes / BOARDS:,.0f} | {shared / nodes:.1%} | {edges / nodes:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=500, help="0: only larger boards")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--selection", choices=SELECTIONS, action="append")
    parser.add_argument("--simulations", type=int, nargs="+", default=[2_000, 20_000], help="on larger boards")
    given = parser.parse_args()
    started = time.process_time()
    if given.positions:
        for line in sizes_table(given.positions, given.seed, given.selection or list(SELECTIONS)):
            print(line, flush=True)
    for line in larger_table(given.simulations):
        print(line, flush=True)
    print(f"{given.positions} positions, seed {given.seed}, {time.process_time() - started:.0f} s of CPU time")


if __name__ == "__main__":
    main()
