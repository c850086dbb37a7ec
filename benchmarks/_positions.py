"""Positions to measure on: random play from the start, undecided when it stops."""

from __future__ import annotations

import numpy as np

import ramify as rf


def random_positions(game: rf.Game, count: int, turns: int, seed: int = 0) -> list[rf.State]:
    """So many positions after so many random turns; games that ended before do not count."""
    rng = np.random.default_rng(seed)
    found: list[rf.State] = []
    while len(found) < count:
        state = game.initial_state(int(rng.integers(2**31)))
        for _ in range(turns):
            if not state.is_over:
                state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
        if not state.is_over:
            found.append(state)
    return found
