"""What batching inside one tree costs: descents that do not know what the others of their batch find.

Random positions are searched with ``SIMULATIONS`` each, in batches of 1, 4, 16 and 64 leaves. Value errors, and what a
chosen action loses, are measured by a long search with batches of 1; actions change against batches of 1 at equal
simulations.

Run: ``python -m benchmarks --only batching``
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ramify as rf
from benchmarks._evaluators import judge_distances, judge_lines
from benchmarks._measure import row
from benchmarks._positions import random_positions
from ramify.evaluators import Function

POSITIONS = 64
TURNS = 6
SIMULATIONS = 800
LONG = 6_400  # simulations behind the reference
BATCHES = (1, 4, 16, 64)


def run(judge: Any, states: list[rf.State], **settings: Any) -> list[rf.SearchResult]:
    return rf.Searcher(states[0].game, Function(judge), rf.SearchConfig(**settings)).run_many(states)


def lost(reference: rf.SearchResult, action: int) -> float:
    """By how much the reference thinks this action worse than its own."""
    (player,) = reference.acting
    values = reference.q[player]
    best, chosen = (int(np.flatnonzero(reference.outcomes[player] == a)[0]) for a in (reference.action(), action))
    return float(values[best] - values[chosen])


def case_rows(name: str, game: rf.Game, judge: Any) -> list[dict[str, Any]]:
    states = random_positions(game, POSITIONS, TURNS)
    references = run(judge, states, simulations=LONG)
    alone = run(judge, states, simulations=SIMULATIONS)
    table = []
    for batch, settings in [*((batch, {}) for batch in BATCHES), (BATCHES[-1], {"max_in_flight": 1.0})]:
        results = run(judge, states, simulations=SIMULATIONS, batch=batch, **settings)
        pairs = list(zip(results, references, strict=True))
        error = np.mean([abs(result.value[0] - reference.value[0]) for result, reference in pairs])
        changed = np.mean([a.action() != b.action() for a, b in zip(results, alone, strict=True)])
        regret = np.mean([lost(reference, result.action()) for result, reference in pairs])
        label = f"{name}, batch {batch}{', max_in_flight=1' * bool(settings)}"
        table += [
            row(f"{label}: value error", float(error), ""),
            row(f"{label}: value lost by its best actions", float(regret), ""),
            row(f"{label}: best action changed", 100 * float(changed), "%"),
        ]
    return table


def rows() -> list[dict[str, Any]]:
    """Value errors and changed best actions, per game and batch."""
    return [
        *case_rows("connect four", rf.make("connect_four"), judge_lines),
        *case_rows("Hex 7x7", rf.make("hex", size=7), judge_distances),
    ]
