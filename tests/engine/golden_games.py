"""Positions of sequential games with simultaneous actions whose exact values and payoff matrices are known."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf

GOLDEN = Path(__file__).parents[1] / "golden" / "simultaneous.jsonl"


@dataclass(frozen=True)
class Solved:
    """One position: how to get there, what the first player gets in the end, and the matrix of exact payoffs."""

    name: str
    parameters: dict[str, Any]
    history: list[int]
    value: float
    payoffs: NDArray[np.float64]
    actions: tuple[list[int], list[int]]

    def __str__(self) -> str:
        facts = "-".join(str(value) for value in self.parameters.values())
        return f"{self.name}-{facts}-{'.'.join(map(str, self.history)) or 'start'}"

    def state(self) -> rf.State:
        state = self.game().initial_state(seed=0)
        left = list(self.history)
        while left:
            count = len(state.acting)
            state.apply(*left[:count])
            left = left[count:]
        return state

    def game(self) -> rf.Game:
        facts = self.parameters
        if self.name != "goofspiel":
            return rf.make(f"openspiel:{self.name}", **facts)
        returns = {"win_loss": "win", "point_difference": "difference"}[facts["returns_type"]]
        return rf.make("goofspiel", cards=facts["num_cards"], points=facts["points_order"], returns=returns)


def _parameters(text: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.partition("(")
    facts: dict[str, Any] = {}
    for word in rest.rstrip(")").split(","):
        key, _, value = word.partition("=")
        whole = int(value) if re.fullmatch(r"-?\d+", value) else value
        facts[key] = {"true": True, "false": False}.get(value, whole)
    return name, facts


def solved_positions(*names: str) -> list[Solved]:
    """Positions of these games, starts included, as far as nothing in them is left to chance.

    Where cards come in random order, the exact value is an expectation over orders; here a state's seed decides the
    order, and a search sees that one. There is nothing to compare.
    """
    found = []
    for line in GOLDEN.read_text().splitlines():
        entry = json.loads(line)
        name, _, _ = entry["game"].partition("(")
        if name not in names or "points_order=random" in entry["game"]:
            continue
        payoffs = np.array([[float(Fraction(text)) for text in row] for row in entry["payoff_matrix"]])
        actions = (entry["row_actions"], entry["col_actions"])
        found.append(Solved(*_parameters(entry["game"]), entry.get("history", []), entry["value"], payoffs, actions))
    return found
