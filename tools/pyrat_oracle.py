"""How close searches of PyRat positions come to exact solutions: mean error of the value, and NashConv.

    python -m tools.pyrat_oracle --positions 60
    python -m tools.pyrat_oracle --results oracle.jsonl     # continues where an earlier call was stopped
    python -m tools.pyrat_oracle --only "regret matching, graph and solver" --simulations 10000
    python -m tools.pyrat_oracle --network FILE --device cuda --results oracle.jsonl     # searches with a network
    python -m tools.pyrat_oracle --forced --positions 60    # the variants of forced playouts instead

The positions are those of ``ramify.pyrat.oracle_positions``, rewarded by the difference of cheese; values are uniform,
so that the rules of search are compared and not an evaluator, unless a network is given. NashConv is that of the
strategy a search would play in the exact payoff matrix of the position: average strategies, visits for PUCT, and with
the solver, which stops as soon as the value is proven, the equilibrium of the payoffs found.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import ramify as rf
from ramify.engine import SearchResult
from ramify.pyrat import OraclePosition, oracle_positions
from tools.oracle_set import light_positions, network_evaluator, search_all
from tools.result_rows import add_row, read_rows

SIMULATIONS = (2_000, 20_000)
SELECTIONS = {"puct": "PUCT", "regret": "regret matching", "exp3": "Exp3"}


Errors = dict[str, float]
Key = tuple[int, int, str, int]  # seed, number of the position, search, simulations
Found = dict[tuple[str, int], list[Errors]]  # of all positions, by search and simulations


def searches(only: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of the searches compared, or of those among them that are named, and their settings."""
    for selection, name in SELECTIONS.items():
        for graph in (False, True):
            for solver in (False, True):
                marks = [word for word, on in (("graph", graph), ("solver", solver)) if on]
                label = f"{name}, {' and '.join(marks)}" if marks else name
                if not only or label in only:
                    yield label, {"selection": selection, "graph": graph, "solver": solver}


def method_of(settings: dict[str, Any]) -> Literal["visits", "average", "nash"]:
    """The policy that a search with these settings is asked for."""
    if settings["solver"]:
        return "nash"
    return "visits" if settings["selection"] == "puct" else "average"


def errors_of(position: OraclePosition, result: SearchResult, settings: dict[str, Any]) -> Errors:
    """Errors of one search of one position."""
    return {"value": position.value_error(result), "nash_conv": position.nash_conv(result, method_of(settings))}


class Results:
    """Errors by search, kept in a file (JSON lines) if there is one, so that no search is repeated."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.known = file, dict[Key, Errors]()
        for row in read_rows(file):
            self.known[row["seed"], row["position"], row["search"], row["simulations"]] = row["errors"]

    def add(self, key: Key, errors: Errors) -> None:
        self.known[key] = errors
        names = ("seed", "position", "search", "simulations")
        add_row(self.file, {**dict(zip(names, key, strict=True)), "errors": errors})


def run(count: int, seed: int, budgets: list[int], file: Path | None, only: Sequence[str] = ()) -> Found:
    """Searches with uniform values."""
    results, found = Results(file), Found()
    for number, position in enumerate(oracle_positions(count, seed)):
        for name, settings in searches(only):
            for simulations in budgets:
                key = (seed, number, name, simulations)
                if key not in results.known:
                    result = rf.search(position.state, rf.evaluators.Uniform(), simulations=simulations, **settings)
                    results.add(key, errors_of(position, result, settings))
                found.setdefault((name, simulations), []).append(results.known[key])
    return found


def run_network(
    count: int, seed: int, budgets: list[int], file: Path | None, network: str, only: Sequence[str], device: str | None
) -> Found:
    """Searches with a network, of all positions at once."""
    results, found = Results(file), Found()
    evaluator, label = network_evaluator(network, device), Path(network).stem
    positions = list(light_positions(count, seed))
    for name, settings in searches(only):
        for simulations in budgets:
            keys = [(seed, number, f"{label}: {name}", simulations) for number in range(count)]
            left = [number for number, key in enumerate(keys) if key not in results.known]
            states = [positions[number].state for number in left]
            searched = search_all(states, evaluator, {**settings, "simulations": simulations})
            for number, result in zip(left, searched, strict=True):
                results.add(keys[number], errors_of(positions[number], result, settings))
            found[keys[0][2], simulations] = [results.known[key] for key in keys]
    return found


def table(found: Found, budgets: list[int]) -> str:
    """Means and their standard errors, as a Markdown table."""
    head = [f"{kind}, {budget:,}" for budget in budgets for kind in ("value error", "NashConv")]
    lines = ["| search | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for name in dict.fromkeys(name for name, _ in found):
        cells = []
        for budget in budgets:
            for kind in ("value", "nash_conv"):
                errors = np.array([row[kind] for row in found[name, budget]])
                spread = errors.std(ddof=1) / math.sqrt(len(errors)) if len(errors) > 1 else math.nan
                cells.append(f"{errors.mean():.4f} ± {spread:.4f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


FORCED: dict[str, dict[str, Any]] = {
    "off": {},
    "sqrt, by player": {"forced_playouts": 2.0},
    "linear, by player": {"forced_playouts": 2.0, "forced_form": "linear"},
    "sqrt, by pair": {"forced_playouts": 2.0, "forced_by": "pair"},
    "linear, by pair": {"forced_playouts": 2.0, "forced_form": "linear", "forced_by": "pair"},
}
FORCED_POLICIES: tuple[Literal["visits", "pruned", "nash"], ...] = ("visits", "pruned", "nash")


def forced_table(count: int, seed: int, budgets: list[int]) -> str:
    """Errors of PUCT on a graph by the variant of forced playouts: the value, NashConv of policies, unvisited pairs."""
    rows: dict[tuple[int, str], list[list[float]]] = {}
    for position in oracle_positions(count, seed):
        for budget in budgets:
            for name, settings in FORCED.items():
                result = rf.search(position.state, simulations=budget, graph=True, **settings)
                errors = [position.nash_conv(result, method) for method in FORCED_POLICIES]
                empty = 100 * float((result.visits == 0).mean())
                rows.setdefault((budget, name), []).append([position.value_error(result), *errors, empty])
    lines = ["| simulations | forced playouts | value error | visits | pruned | nash | pairs not visited, % |"]
    lines.append("|---" * 7 + "|")
    for (budget, name), found in rows.items():
        means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means[:-1], errors[:-1], strict=True)]
        lines.append(f"| {budget:,} | {name} | {' | '.join(cells)} | {means[-1]:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--simulations", type=int, nargs="+", default=list(SIMULATIONS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="JSON lines: finished searches are stored and not repeated")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="these searches alone")
    parser.add_argument("--network", metavar="FILE", help="search with this network in place of uniform values")
    parser.add_argument("--device", help="of the network")
    parser.add_argument("--forced", action="store_true", help="compare the variants of forced playouts")
    given = parser.parse_args()
    started = time.perf_counter()
    if given.forced:
        print(forced_table(given.positions, given.seed, given.simulations))
        return
    if unknown := set(given.only) - {name for name, _ in searches()}:
        parser.error(f"no such search: {', '.join(unknown)}; there are {'; '.join(name for name, _ in searches())}")
    work = (given.positions, given.seed, given.simulations, given.results)
    if given.network is None:
        found = run(*work, given.only)
    else:
        found = run_network(*work, given.network, given.only, given.device)
    print(table(found, given.simulations))
    print(
        f"{given.positions} positions, seed {given.seed}, {time.perf_counter() - started:.0f} s; ± is a standard error"
    )


if __name__ == "__main__":
    main()
