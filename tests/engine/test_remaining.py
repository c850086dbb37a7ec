"""Values on the scale of what can still be won."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf
from tests.engine.positions import walk
from tests.engine.stepping import Stepper
from tests.reference.evaluators import HashEvaluator

pytestmark = pytest.mark.core


@pytest.mark.parametrize("seed", range(8))
def test_scores_divide_values_by_the_cheese_left(seed: int) -> None:
    """score = Q / cheese left + c * P * sqrt(N) / (1 + M), computed here from the report's own numbers."""
    state = walk("pyrat", seed)
    engine = Stepper(state, HashEvaluator(seed, zero_sum=False), rf.SearchConfig(normalize="remaining", c_puct=0.7))
    for _ in range(60):
        engine.simulate()
    report = engine.report()
    for player in (0, 1):
        marginal = report["edge_visits"].sum(axis=1 - player)
        explore = 0.7 * report["priors"][player] * np.sqrt(report["visits"]) / (1 + marginal)
        known = np.where(marginal > 0, report["q"][player] / len(state.cheese), 0.0)  # untried outcomes count as 0
        np.testing.assert_allclose(report["scores"][player], known + explore, atol=1e-5)


def test_games_without_a_scale_of_their_own_are_not_scaled() -> None:
    state = walk("tictactoe", 3)
    plain = rf.search(state, HashEvaluator(1), simulations=200)
    scaled = rf.search(state, HashEvaluator(1), simulations=200, normalize="remaining")
    np.testing.assert_array_equal(plain.visits, scaled.visits)
