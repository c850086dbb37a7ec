"""What the comparisons of searches share."""

from typing import Any

import numpy as np

import ramify as rf

SIMULATIONS = 150


def tictactoe(*actions: int) -> Any:
    """Native tic-tac-toe after these actions."""
    state = rf.make("tictactoe").initial_state()
    for action in actions:
        state.apply(action)
    return state


def simulate(*searches: Any) -> None:
    for _ in range(SIMULATIONS):
        for search in searches:
            search.simulate()


def assert_same(
    first: Any, second: Any, simulations: int = SIMULATIONS, nodes: bool = True, exact: bool = False
) -> None:
    """After every simulation: visits equal, values and q within rounding (or equal)."""
    for simulation in range(simulations):
        first.simulate()
        second.simulate()
        assert first.visits.tolist() == second.visits.tolist(), f"simulation {simulation}"
        assert first.visits.sum() == simulation
        mine, other = (np.concatenate([search.value, *search.q]) for search in (first, second))
        assert np.abs(mine - other).max() <= (0 if exact else 1e-5), f"simulation {simulation}"
        assert not nodes or first.nodes == second.nodes
