"""Plain minimax, written out: what alpha-beta has to find, without any of its ways to find it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import ramify as rf
from ramify.engine import AlphaBetaResult


@dataclass(frozen=True)
class Found:
    """What player 0 wins, and after how many plies a won or lost game ends (0: not known, or a draw)."""

    value: float
    plies: int

    def order(self) -> tuple[float, int]:
        """Larger is better for player 0: of equal wins the sooner, of equal losses the later."""
        return self.value, -self.plies if self.value > 0 else self.plies


def minimax(state: rf.State, depth: int) -> Found:
    """The value of a position at this depth."""
    if state.is_over:
        return Found(0.0, 0)
    if depth == 0:
        return Found(state.heuristic or 0.0, 0)  # type: ignore[attr-defined]
    choices = children(state, depth).values()
    return max(choices, key=Found.order) if state.acting == (0,) else min(choices, key=Found.order)


def children(state: rf.State, depth: int) -> dict[int, Found]:
    """What every action is worth."""
    found = {}
    for action in state.legal_actions().tolist():
        after = state.copy()
        reward = float(after.apply(action)[0])
        rest = minimax(after, depth - 1)
        if reward == 0:
            found[action] = Found(rest.value, rest.plies + 1 if rest.plies else 0)
        else:
            found[action] = Found(reward + rest.value, 1 if after.is_over else 0)
    return found


def best_actions(state: rf.State, depth: int, tolerance: float = 1e-7) -> tuple[Found, list[int]]:
    """The value, and all actions that attain it."""
    worth = children(state, depth)
    best = minimax(state, depth)
    equals = [a for a, w in worth.items() if abs(w.value - best.value) <= tolerance and w.plies == best.plies]
    return best, equals


def walk(game: rf.Game, seed: int, turns: int) -> rf.State:
    """A position some random turns into the game, not a finished one."""
    rng = np.random.default_rng(seed)
    state = game.initial_state(seed)
    for _ in range(turns):
        after = state.copy()
        after.apply(int(rng.choice(state.legal_actions())))
        if after.is_over:
            break
        state = after
    return state


def assert_finds_minimax(state: rf.State, depth: int) -> None:
    """Value, plies and best actions are minimax's, with the table and without; the line can be played."""
    best, equals = best_actions(state, depth)
    plain, bare, ties = (
        rf.alphabeta(state, depth=depth, quiescence=False, **settings)
        for settings in ({}, {"table": 0}, {"ties": True})
    )
    for found in (plain, bare, ties):
        assert found.value == pytest.approx((best.value, -best.value), abs=1e-6)
        assert (found.plies or 0) == best.plies
        assert found.action in equals
        assert found.depth == depth or found.solved
        assert_line(state, found)
    assert sorted(ties.actions) == equals


def assert_line(state: rf.State, found: AlphaBetaResult) -> None:
    """The line can be played, and where it ends the game it brings the value."""
    assert found.principal_variation[0] == found.action
    after = state.copy()
    for action in found.principal_variation:
        after.apply(action)
    if found.plies:
        assert len(found.principal_variation) == found.plies
        assert after.is_over
        assert (after.returns - state.returns).tolist() == pytest.approx(found.value)
