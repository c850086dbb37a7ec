"""Backward induction in plain Python: matrices by linear programming, nothing shared with the core but the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


def matrix_value(payoffs: Floats) -> float:
    """The value of a zero-sum matrix game; the linear program only where no saddle point is seen."""
    maximin, minimax = payoffs.min(axis=1).max(), payoffs.max(axis=0).min()
    if maximin == minimax:
        return float(maximin)
    n0, n1 = payoffs.shape
    found = linprog(
        c=[0.0] * n0 + [-1.0],
        A_ub=np.hstack([-payoffs.T, np.ones((n1, 1))]),
        b_ub=np.zeros(n1),
        A_eq=[[1.0] * n0 + [0.0]],
        b_eq=[1.0],
        bounds=[(0, 1)] * n0 + [(None, None)],
        method="highs",
    )
    assert found.success, found.message
    return -float(found.fun)


class BackwardInduction:
    """Values of half the difference of returns to come, remembered by key."""

    def __init__(self) -> None:
        self.values: dict[int, float] = {}

    def value(self, state: Any) -> float:
        if state.is_over:
            return 0.0
        if state.key not in self.values:
            self.values[state.key] = matrix_value(self.payoffs(state))
        return self.values[state.key]

    def payoffs(self, state: Any) -> Floats:
        """[n0, n1] over the actions that are legal, without the game's own outcomes."""
        acting = state.acting
        lists = [state.legal_actions(player).tolist() if player in acting else [None] for player in (0, 1)]
        table = np.zeros([len(actions) for actions in lists])
        for (i, j), _ in np.ndenumerate(table):
            after = state.copy()
            rewards = after.apply(*(action for action in (lists[0][i], lists[1][j]) if action is not None))
            table[i, j] = 0.5 * (float(rewards[0]) - float(rewards[1])) + self.value(after)
        return table
