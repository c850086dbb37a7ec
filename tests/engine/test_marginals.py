"""Where both choose, what is known of each outcome is kept from visit to visit: it must be what the edges say.

Sums are kept from the fifth pair on, in tables of up to 255 pairs; the best of up to eight outcomes is found in a way
of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf
from ramify import _core
from tests.engine.positions import walk
from tests.engine.random_games import RandomGame
from tests.engine.test_against_reference import compare
from tests.reference.evaluators import HashEvaluator

pytestmark = pytest.mark.core

SHAPES = [(2, 3), (5, 5), (8, 2), (9, 4), (3, 12), (15, 17), (16, 16)]


def matrix(shape: tuple[int, int], seed: int, scale: float = 1.0) -> rf.State:
    """A random table of both players' rewards, of sizes that differ by up to ``scale``."""
    rng = np.random.default_rng(seed)
    payoffs = rng.uniform(-1, 1, (2, *shape)) * scale ** rng.uniform(0, 1, (2, *shape))
    return rf.make("matrix", payoffs=payoffs.tolist()).initial_state()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_tables_of_every_size_equal_the_reference(shape: tuple[int, int]) -> None:
    simulations = min(500, 3 * math.prod(shape))
    compare(matrix(shape, 1), HashEvaluator(1, zero_sum=False), {"c_puct": 2.0}, simulations=simulations)
    compare(matrix(shape, 2), HashEvaluator(2, zero_sum=False), {"fpu": "reduction", "normalize": "minmax"})


def test_values_of_very_different_sizes_equal_the_reference() -> None:
    compare(matrix((4, 5), 3, scale=1e9), HashEvaluator(3, zero_sum=False), {"c_puct": 1e6}, simulations=300)


CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "c_puct": st.sampled_from([0.3, 1.0, 4.0]),
    "fpu": st.sampled_from(["zero", "parent", "reduction"]),
    "normalize": st.sampled_from(["none", "minmax"]),
    "discount": st.sampled_from([1.0, 0.9]),
    "graph": st.booleans(),
    "short_circuit": st.booleans(),
    "opponent_weights": st.sampled_from(["conditional", "conditional", "prior", "visits", "blended"]),
    "forced_playouts": st.sampled_from([0.0, 0.0, 8.0]),
    "forced_by": st.sampled_from(["player", "pair"]),
}


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 30), name=st.sampled_from(["pyrat", "goofspiel"]), chosen=st.fixed_dictionaries(CHOICES))
def test_games_with_any_settings_equal_the_reference(seed: int, name: str, chosen: dict[str, Any]) -> None:
    compare(walk(name, seed), HashEvaluator(seed, zero_sum=False), chosen, simulations=70)


@pytest.mark.parametrize("kind", ["both", "mixed"])
def test_random_games_equal_the_reference(kind: str) -> None:
    for seed in range(3):
        game = RandomGame(kind, seed, zero_sum=False)
        compare(game.initial_state(seed=0), HashEvaluator(seed, zero_sum=False), {"fpu": "parent"}, simulations=100)


def best(report: dict[str, Any], player: int) -> int:
    """The outcome with the highest score; of several the one with the highest prior, then the first."""
    scores, priors = report["scores"][player], report["priors"][player]
    return max(range(len(scores)), key=lambda i: (scores[i], priors[i], -i))


RUNS: list[dict[str, Any]] = [
    {},
    {"graph": True},
    {"graph": True, "canonical": True},
    {"graph": True, "short_circuit": True, "threads": 2},
    {"threads": 2},
    {"fpu": "reduction", "normalize": "minmax"},
    {"normalize": "remaining", "fpu": "parent", "discount": 0.95, "graph": True},
    {"max_nodes": 200, "graph": True},
]


@pytest.mark.parametrize("changes", RUNS, ids=str)
@pytest.mark.parametrize("games", [0, 2])
def test_the_next_pair_is_the_best_by_a_report(changes: dict[str, Any], games: int) -> None:
    state: Any = rf.make("pyrat", width=5, height=5, cheese=7, wall_density=0.0, mud_density=0.2).initial_state(seed=2)
    search = _core.make_search(state, rf.SearchConfig(**changes).for_evaluator(None).model_dump())
    search.begin(0)
    search.run_native(games, 0, 700, math.inf)
    for _ in range(60):
        before = search.report([])
        search.run_native(games, 0, 1, math.inf)
        visited = search.report([])["edge_visits"] - before["edge_visits"]
        if not visited.any():  # a full graph has no way on from there
            continue
        assert visited.sum() == 1
        first, second = (int(place) for place in np.argwhere(visited)[0])
        if not search.stats["full"]:
            assert (first, second) == (best(before, 0), best(before, 1))
