"""Alpha-beta: actions tried per second in each game, by the CPU time of this process; the heuristics are most of it.

A node limit makes every repetition the same work.

Run: ``python -m benchmarks --only alphabeta``
"""

from __future__ import annotations

from typing import Any

import ramify as rf
from benchmarks._measure import best_rate, row
from benchmarks._positions import random_positions

GAMES: dict[str, tuple[str, dict[str, Any], int, int]] = {  # name: game, parameters, random turns before, nodes
    "tic-tac-toe": ("tictactoe", {}, 0, 5_000),
    "connect four": ("connect_four", {}, 4, 200_000),
    "chess": ("chess", {}, 10, 100_000),
    "hex 5x5": ("hex", {"size": 5}, 4, 50_000),
    "hex 11x11": ("hex", {"size": 11}, 10, 20_000),
    "breakthrough of OpenSpiel": ("openspiel:breakthrough", {}, 4, 1_000),
}


def rows() -> list[dict[str, Any]]:
    """One row per game."""
    return [row(name, best_rate(lambda case=case: _search(*case)), "nodes/s") for name, case in GAMES.items()]  # type: ignore[misc]


def _search(name: str, params: dict[str, Any], turns: int, nodes: int) -> tuple[int, object]:
    (state,) = random_positions(rf.make(name, **params), 1, turns, seed=1)
    found = rf.alphabeta(state, nodes=nodes)
    return found.nodes, found
