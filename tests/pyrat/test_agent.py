"""The agent and its policies, against their formulas written out and games with known equilibria."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.pyrat import (
    DecoupledPUCTConfig,
    MCTSAgent,
    PyRatGame,
    compute_pruning_adjustment,
    prune_visit_counts,
    reduce_and_expand_nash,
    visits_to_marginal_policy,
)

BESIDE = {"width": 3, "height": 3, "cheese": [[1, 0], [2, 2], [0, 2]], "p1": [0, 0], "p2": [2, 1], "max_turns": 10}


def statistics(seed: int, n1: int = 4, n2: int = 3) -> Any:
    """Made-up statistics of a root in which the first outcome of each player was visited most, by far."""
    rng = np.random.default_rng(seed)
    visits = rng.integers(0, 12, (n1, n2))
    visits[0, :] += 60
    visits[:, 0] += 60
    q = rng.uniform(0, 1, n1).astype(np.float32), rng.uniform(0, 1, n2).astype(np.float32)
    priors = tuple(rng.dirichlet([2.0] * n).astype(np.float32) for n in (n1, n2))
    return visits, q, priors


def adjustment_by_hand(q: Any, prior: Any, visits: Any, c: float) -> list[float]:
    best, root = int(np.argmax(visits)), math.sqrt(sum(visits))
    target = q[best] + c * prior[best] * root / (1 + visits[best])
    found = []
    for i, n in enumerate(visits):
        if i == best or q[i] >= target:
            found.append(0.0)
        else:
            least = c * prior[i] * root / (target - q[i]) - 1
            found.append(min(float(n), max(0.0, n - least)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_pruning_is_its_formula(seed: int) -> None:
    visits, q, priors = statistics(seed)
    taken = []
    for player in (0, 1):
        marginal = visits.sum(axis=1 - player)
        found = compute_pruning_adjustment(q[player], priors[player], marginal, 1.3)
        assert found == pytest.approx(adjustment_by_hand(q[player], priors[player], marginal, 1.3), abs=1e-3)
        taken.append(found)
    by_hand = visits - np.outer(taken[0], priors[1]) - np.outer(priors[0], taken[1])
    assert prune_visit_counts(visits, q, priors, 1.3) == pytest.approx(np.maximum(0, by_hand), abs=1e-3)


def test_marginal_policies() -> None:
    visits = [[1, 2, 3], [4, 0, 0]]
    assert visits_to_marginal_policy(visits, axis=1).tolist() == [0.6, 0.4]
    assert visits_to_marginal_policy(visits, axis=0).tolist() == [0.5, 0.2, 0.3]
    with pytest.raises(ValueError, match="no visits"):
        visits_to_marginal_policy(np.zeros((2, 2)), 0)
    with pytest.raises(ValueError, match="axis 0 or 1"):
        visits_to_marginal_policy(visits, 2)


def test_nash_of_actions_that_amount_to_the_same() -> None:
    # Matching pennies between UP and STAY; RIGHT, DOWN and LEFT are walls, hence STAY.
    pennies = np.full((5, 5), 0.0)
    own, other = [0, 4, 4, 4, 4], [4, 1, 4, 4, 4]
    for i, mine in enumerate(own):
        for j, theirs in enumerate(other):
            pennies[i, j] = 1.0 if (mine == 4) == (theirs == 4) else -1.0
    x, y = reduce_and_expand_nash(pennies, own, other)
    assert x == pytest.approx([0.5, 0, 0, 0, 0.5])
    assert y == pytest.approx([0, 0.5, 0, 0, 0.5])
    pennies[1:4] = np.nan  # known of one of the actions is enough
    assert reduce_and_expand_nash(np.stack([pennies, -pennies]), own, other)[0] == pytest.approx(x)
    with pytest.raises(ValueError, match="shape"):
        reduce_and_expand_nash(np.zeros((3, 5)), own, other)


def test_actions_hardly_tried_are_left_out_of_the_nash_policy() -> None:
    payout = [[1.0, 1.0], [9.0, 9.0]]
    visits = [[50, 50], [1, 1]]
    assert reduce_and_expand_nash(payout, [0, 1], [0, 1], visits)[0].tolist() == [1.0, 0.0]
    assert reduce_and_expand_nash(payout, [0, 1], [0, 1])[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("method", ["nash", "visits"])
def test_agent_takes_the_cheese_beside_it(method: str) -> None:
    config = DecoupledPUCTConfig(simulations=300, c_puct=1.0, action_method=method, action_temperature=0.0)
    game = PyRatGame.from_parts(**BESIDE)
    agent = MCTSAgent(config)
    assert agent.get_move(game, player=1) == 1  # RIGHT, to (1, 0)
    assert agent.get_move(game, player=2) == 0  # UP, to (2, 2)


def test_acting_policies_come_from_the_search() -> None:
    game = PyRatGame.from_parts(**BESIDE)
    for settings, method, temperature in (
        ({}, "nash", 1.0),
        ({"action_method": "visits", "action_temperature": 0.5}, "visits", 0.5),
        ({"action_method": "visits", "force_k": 2.0}, "pruned", 1.0),
    ):
        agent = MCTSAgent({"simulations": 100, **settings})
        result = agent.search(game)
        for player in (1, 2):
            expected = result.policy(player - 1, method, temperature)
            assert agent.policy(result, player).tolist() == expected.tolist()


def test_moves_follow_the_policy_and_the_seed() -> None:
    game = PyRatGame(rf.make("pyrat", preset="tiny").initial_state(seed=3))
    first, again = (MCTSAgent({"simulations": 60, "action_method": "visits", "seed": 5}) for _ in range(2))
    moves = [first.get_move(game) for _ in range(12)]
    assert moves == [again.get_move(game) for _ in range(12)]
    policy = first.policy(first.search(game), 1)
    assert all(policy[move] > 0 for move in moves)


@pytest.mark.parametrize(
    "settings", [{"simulation": 5}, {"action_method": "best"}, {"force_k": -1}, {"action_temperature": -0.1}]
)
def test_settings_are_strict(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        DecoupledPUCTConfig(**settings)


def test_players_are_1_and_2() -> None:
    game = PyRatGame.from_parts(**BESIDE)
    with pytest.raises(ValueError, match="player must be 1 or 2"):
        MCTSAgent({"simulations": 5}).get_move(game, player=0)
