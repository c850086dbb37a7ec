"""What the three selection rules find in matrix games: NashConv of the strategy each would play, by simulations.

The games are the payoff matrices of ``tests/golden/simultaneous.jsonl`` (positions of goofspiel, oshi-zumo, laser tag,
Markov soccer and blotto, and random ones), scaled to [-1, 1]. Decoupled PUCT answers with its visits, the others with
their average strategies. Of three seeds, the mean over games, and the worst game.

Run: ``python -m benchmarks --only simultaneous``; ``python -m benchmarks.simultaneous`` also draws
``docs/methods/figures/nashconv.svg``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from benchmarks._measure import row
from ramify.games.pictures.svg import Canvas

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden/simultaneous.jsonl"
FIGURE = ROOT / "docs/methods/figures/nashconv.svg"
RULES = {"regret": "regret matching+", "exp3": "Exp3", "puct": "decoupled PUCT"}
SIMULATIONS = (100, 300, 1000, 3000, 10_000, 30_000)
SEEDS = range(3)
TARGET = 0.01  # of the mean, regret matching, after the most simulations

Floats = NDArray[np.float64]


def golden_matrices() -> Iterator[tuple[str, Floats]]:
    """Names and payoffs to the first player, scaled to [-1, 1], of games in which both players choose."""
    for line in GOLDEN.read_text().splitlines():
        entry = json.loads(line)
        payoffs = np.array([[float(Fraction(text)) for text in texts] for texts in entry["payoff_matrix"]])
        if min(payoffs.shape) > 1:
            span = np.ptp(payoffs)
            yield entry["game"], 2 * (payoffs - payoffs.min()) / span - 1 if span else 0 * payoffs


def gap(payoffs: Floats, selection: str, simulations: int, seed: int = 0) -> float:
    """NashConv of what a search with this rule would play."""
    state = rf.make("matrix", payoffs=payoffs.tolist()).initial_state()
    found = rf.search(state, rf.evaluators.Uniform(), simulations=simulations, seed=seed, selection=selection)
    method: Any = "visits" if selection == "puct" else "average"
    x, y = (found.policy(player, method)[: payoffs.shape[player]] for player in (0, 1))
    return rf.equilibria.nash_conv(payoffs, x / x.sum(), y / y.sum())


def gaps(selection: str, simulations: int) -> Floats:
    """NashConv of every game, the mean over seeds; PUCT has no chance in it."""
    seeds = SEEDS if selection != "puct" else range(1)
    tables = [payoffs for _, payoffs in golden_matrices()]
    return np.mean([[gap(payoffs, selection, simulations, seed) for payoffs in tables] for seed in seeds], axis=0)


def measure() -> dict[str, list[Floats]]:
    """{rule: NashConv of all games, for each number of simulations}"""
    return {selection: [gaps(selection, n) for n in SIMULATIONS] for selection in RULES}


def rows() -> list[dict[str, Any]]:
    """Mean and worst NashConv, by rule and simulations."""
    table = []
    for selection, results in measure().items():
        for simulations, found in zip(SIMULATIONS, results, strict=True):
            last = selection == "regret" and simulations == SIMULATIONS[-1]
            name = f"{RULES[selection]}, {simulations:,} simulations"
            table.append(row(f"{name}, mean", found.mean(), "NashConv", TARGET if last else None, at_most=True))
            table.append(row(f"{name}, worst", found.max(), "NashConv"))
    return table


# --- the figure ---

INK, GRID = "#333333", "#dddddd"
COLOURS = {"regret": "#1b7f5c", "exp3": "#c07a00", "puct": "#b03a48"}
LEFT, TOP, WIDTH, HEIGHT = 80.0, 30.0, 470.0, 300.0
DECADES = (-4, 1)  # of NashConv


def place(simulations: float, value: float) -> tuple[float, float]:
    """Where a point lies, both axes logarithmic."""
    low, high = math.log10(SIMULATIONS[0]), math.log10(SIMULATIONS[-1])
    across = (math.log10(simulations) - low) / (high - low)
    up = (math.log10(max(value, 10.0 ** DECADES[0])) - DECADES[0]) / (DECADES[1] - DECADES[0])
    return LEFT + across * WIDTH, TOP + (1 - up) * HEIGHT


def draw(results: dict[str, list[Floats]]) -> str:
    """Lines of the mean over games, and dashed ones of the worst game."""
    canvas = Canvas(LEFT + WIDTH + 130, TOP + HEIGHT + 60, "#ffffff")
    draw_axes(canvas)
    for selection, found in results.items():
        for kind, dash in ((np.mean, None), (np.max, "5 4")):
            points = [place(n, float(kind(values))) for n, values in zip(SIMULATIONS, found, strict=True)]
            data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            colour = COLOURS[selection]
            canvas.path(
                data, fill="none", stroke=colour, stroke_width=2 if dash is None else 1.2, stroke_dasharray=dash
            )
            for x, y in points if dash is None else []:
                canvas.circle(x, y, 3, fill=colour)
        x, y = place(SIMULATIONS[-1], float(found[-1].mean()))
        canvas.text(x + 10, y + 4, RULES[selection], size=13, anchor="start", fill=COLOURS[selection])
    return canvas.render()


def draw_axes(canvas: Canvas) -> None:
    for decade in range(DECADES[0], DECADES[1] + 1):
        x, y = place(SIMULATIONS[0], 10.0**decade)
        canvas.line((x, y), (x + WIDTH, y), stroke=GRID)
        canvas.text(x - 8, y + 4, f"{10.0**decade:g}", size=12, anchor="end", fill=INK)
    for simulations in SIMULATIONS:
        x, y = place(simulations, 0.0)
        canvas.line((x, y), (x, y - HEIGHT), stroke=GRID)
        canvas.text(x, y + 18, f"{simulations:,}", size=12, fill=INK)
    canvas.text(LEFT + WIDTH / 2, TOP + HEIGHT + 42, "simulations", size=13, fill=INK)
    canvas.text(LEFT, TOP - 12, "NashConv: mean over games, dashed the worst game", size=13, anchor="start", fill=INK)


if __name__ == "__main__":
    FIGURE.parent.mkdir(exist_ok=True)
    FIGURE.write_text(draw(measure()) + "\n")
    print(f"wrote {FIGURE}")
