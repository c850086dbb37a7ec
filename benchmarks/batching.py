"""What batching inside one tree costs: descents that do not know what the others of their batch find.

Random positions are searched with ``SIMULATIONS`` each, in batches of 1, 4, 16 and 64 leaves. Value errors, and what a
chosen action loses, are measured by a long search with batches of 1; actions change against batches of 1 at equal
simulations. The evaluators are hand-written: what matters is that their values say something about the game.

Run: ``python -m benchmarks --only batching``
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ramify as rf
from benchmarks._measure import row
from benchmarks._positions import random_positions
from ramify.evaluators import Function
from ramify.search import Batch

POSITIONS = 64
TURNS = 6
SIMULATIONS = 800
LONG = 6_400  # simulations behind the reference
BATCHES = (1, 4, 16, 64)
FAR = 1e6  # a distance nobody has


def windows() -> NDArray[np.float32]:
    """[69, 42]: the lines of four cells on a connect-four board."""
    lines = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for r in range(6):
            for c in range(7):
                cells = [(r + k * down, c + k * right) for k in range(4)]
                if all(0 <= y < 6 and 0 <= x < 7 for y, x in cells):
                    line = np.zeros((6, 7), np.float32)
                    for cell in cells:
                        line[cell] = 1
                    lines.append(line.ravel())
    return np.array(lines)


WINDOWS = windows()


def judge_lines(batch: Batch) -> tuple[Any, Any]:
    """Connect four: lines of four that only one player can still fill, the fuller the better."""
    stones = batch.observations.reshape(len(batch), 2, 42)
    own, other = stones[:, 0] @ WINDOWS.T, stones[:, 1] @ WINDOWS.T
    worth = ((own**2) * (other == 0) - (other**2) * (own == 0)).sum(axis=1)
    return np.zeros((len(batch), 7), np.float32), np.tanh(worth / 16)


def distances(stones: NDArray[np.float32], blocked: NDArray[np.float32]) -> NDArray[np.float32]:
    """[B]: stones that are missing for a chain from the first row to the last."""
    rows, size = len(stones), stones.shape[1]
    cost = np.where(blocked > 0, FAR, 1 - stones)
    far = np.full((rows, size + 2, size + 2), FAR)
    inner = far[:, 1:-1, 1:-1]
    inner[:, 0] = cost[:, 0]
    for _ in range(size * size):
        before = inner.copy()
        near = [
            far[:, 1 + y : 1 + y + size, 1 + x : 1 + x + size]
            for y, x in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
        ]
        np.minimum(inner, cost + np.minimum.reduce(near), out=inner)
        if np.array_equal(inner, before):
            break
    return inner[:, -1].min(axis=1).astype(np.float32)


def judge_distances(batch: Batch) -> tuple[Any, Any]:
    """Hex: how many more stones the other player needs than the viewer."""
    own, other, first = (batch.observations[:, plane] for plane in range(3))
    down, across = np.where(first > 0, own, other), np.where(first > 0, other, own).swapaxes(1, 2)
    missing = distances(
        np.concatenate([down, across]), np.concatenate([across.swapaxes(1, 2), down.swapaxes(1, 2)])
    ).reshape(2, -1)
    lead = np.where(first[:, 0, 0] > 0, missing[1] - missing[0], missing[0] - missing[1])
    return np.zeros((len(batch), batch.legal.shape[2]), np.float32), np.tanh(lead / 2)


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
