"""Vectors of eight numbers find what vectors of four find, bit for bit, whatever the number of edges and their ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify import _core
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of
from tests.engine.positions import GAMES, SIMULTANEOUS, walk

pytestmark = [
    pytest.mark.core,
    pytest.mark.skipif(not _core.use_wide_vectors(True), reason="this processor has no AVX2"),
]


@pytest.fixture(autouse=True)
def wide_afterwards() -> Iterator[None]:
    yield
    _core.use_wide_vectors(True)


def both_ways(state: rf.State, evaluator: Any, **chosen: Any) -> tuple[rf.SearchResult, rf.SearchResult]:
    results = []
    for wide in (True, False):
        assert _core.use_wide_vectors(wide) == wide
        results.append(searcher_of(state, evaluator, **chosen).run(state))
    return results[0], results[1]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(GAMES)),
    seed=st.integers(0, 20),
    uniform=st.booleans(),
    simulations=st.integers(1, 600),
    chosen=st.sampled_from(
        [
            {},
            {"graph": True},
            {"fpu": "parent", "batch": 8},
            {"fpu": "reduction"},
            {"normalize": "minmax", "discount": 0.9},
            {"solver": True},
        ]
    ),
)
def test_any_search(name: str, seed: int, uniform: bool, simulations: int, chosen: dict[str, Any]) -> None:
    evaluator = rf.evaluators.Rollout(1) if uniform else HashEvaluator(seed, zero_sum=name not in SIMULTANEOUS)
    assert_same_result(*both_ways(walk(name, seed), evaluator, simulations=simulations, **chosen))


class Choices(rf.PythonGame):
    """One choice among so many actions, all of which are ends of the game with a few different rewards."""

    observation_shape = (1,)

    def __init__(self, num_actions: int) -> None:
        self.num_actions = num_actions

    def start(self, rng: np.random.Generator) -> int:
        return 0

    def acting(self, position: int) -> tuple[int, ...]:
        return () if position else (0,)

    def legal_actions(self, position: int, player: int) -> range:
        return range(self.num_actions)

    def apply(self, position: int, action: int) -> tuple[int, tuple[float, float]]:
        return 1, ((action * 7 % 5 - 2) / 10, 0.25 - action % 3 / 8)

    def observation(self, position: int, player: int) -> tuple[int]:
        return (position,)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 63, 64, 65, 71, 130])
def test_every_number_of_edges(number: int) -> None:
    """With equal priors, scores are tied until the priors' order decides."""
    state = Choices(number).initial_state()
    for simulations in (number // 2 + 1, number + 1, 4 * number + 3):
        assert_same_result(*both_ways(state, rf.evaluators.Uniform(), simulations=simulations))
        assert_same_result(*both_ways(state, HashEvaluator(number, zero_sum=False), simulations=simulations))
