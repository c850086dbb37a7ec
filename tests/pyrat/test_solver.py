"""The solver in PyRat: what it knows of a position before searching, and of positions one turn before the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.pyrat import oracle_positions

pytestmark = pytest.mark.core

PROVE: dict[str, Any] = {"solver": True, "graph": True}


def position(width: int, **fields: Any) -> Any:
    """A corridor of this length, both players at its ends, rewarded by the difference."""
    game: Any = rf.make("pyrat", width=width, height=2, reward="difference")
    walls = [[[x, 0], [x, 1]] for x in range(width)]
    return game.state(p1=[0, 0], p2=[width - 1, 0], walls=walls, **fields)


def bounds(state: Any, simulations: int = 1) -> tuple[float, float]:
    """What the solver knows of player 0's gains to come."""
    proof = rf.search(state, rf.evaluators.Uniform(), simulations=simulations, **PROVE).proof
    assert proof is not None
    low, high = proof.bounds
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(1, (0, 0)), (2, (0, 1)), (3, (0, 2)), (6, (-1, 3)), (7, (-2, 3)), (10, (-3, 3))],
)
def test_cheese_out_of_reach_is_not_at_stake(turns: int, expected: tuple[float, float]) -> None:
    """Cheese 2, 3 and 4 steps from player 0, and 6, 7 and 8 from player 1."""
    assert bounds(position(11, cheese=[[2, 0], [3, 0], [4, 0]], max_turns=turns)) == expected


def test_mud_takes_time() -> None:
    def least_and_most(mud: int) -> tuple[float, float]:
        return bounds(position(11, cheese=[[2, 0]], max_turns=4, mud=[[[1, 0], [2, 0], mud]]))

    assert least_and_most(2) == (0, 1)  # a step, a step into the mud, two turns in it
    assert least_and_most(3) == (0, 0)
    waiting = position(11, cheese=[[2, 0]], max_turns=4, mud1=3)
    assert bounds(waiting) == (0, 0)


def test_bounds_hold_for_exact_values_and_random_games() -> None:
    rng = np.random.default_rng(0)
    for exact in oracle_positions(25):
        low, high = bounds(exact.state)
        assert low - 1e-6 <= exact.solution.difference / 2 <= high + 1e-6
        state, gained = exact.state.copy(), 0.0
        while not state.is_over:
            gained += float(state.apply(*(int(rng.choice(state.legal_actions(player))) for player in (0, 1)))[0])
        assert low <= gained <= high


def test_what_players_can_secure_holds_in_every_position() -> None:
    """Bounds of children that were visited once, before anything below them is known, against exact values."""
    tight = 0
    for exact in oracle_positions(40):
        after = rf.search(exact.state, rf.evaluators.Uniform(), simulations=26, solver=True)
        assert after.proof is not None
        low, high = after.proof.edges
        known = ~np.isnan(after.payoffs[0])
        assert (low[0][known] <= exact.payoffs[known] + 1e-6).all()
        assert (high[0][known] >= exact.payoffs[known] - 1e-6).all()
        tight += int((high[0][known] - low[0][known] < 1e-6).sum())
    assert tight > 40


def test_a_root_is_not_proven_without_a_way_to_play() -> None:
    """Player 0 is nearer to the only cheese, which it still has to find out how to get, also after a move."""
    state = position(9, cheese=[[2, 0]], max_turns=20)
    searcher = rf.Searcher(state.game, rf.evaluators.Uniform(), rf.SearchConfig(simulations=200, **PROVE))
    for _ in range(2):
        result = searcher.run(state)
        assert result.proven is not None
        action = int(np.argmax(result.policy(0, "nash")))
        assert state.action_name(action, 0) == "RIGHT"
        other = int(np.argmax(result.policy(1, "nash")))
        searcher.advance(action, other)
        state.apply(action, other)
    assert state.is_over
    assert state.returns[0] == 1


@pytest.mark.parametrize("settings", [{}, {"graph": True}, {"graph": True, "selection": "regret"}])
def test_a_position_before_the_last_turn_is_proven_by_one_visit(settings: dict[str, Any]) -> None:
    found = 0
    for seed in range(20):
        game = rf.make("pyrat", width=3, height=3, cheese=4, max_turns=2, symmetric=False, starts="random")
        state: Any = rf.make("pyrat", width=3, height=3, reward="difference").state(  # type: ignore[attr-defined]
            **game.initial_state(seed).fields  # type: ignore[attr-defined]
        )
        pairs = len(state.outcomes(0)[0]) * len(state.outcomes(1)[0])
        result = rf.search(state, rf.evaluators.Uniform(), simulations=1000, solver=True, **settings)
        assert result.proven is not None
        assert result.stats["simulations"] <= 1 + pairs
        assert result.value[0] == pytest.approx(rf.equilibria.solve_game(state).value[0], abs=1e-6)
        found += result.stats["simulations"] > 1
    assert found  # some positions need a search
