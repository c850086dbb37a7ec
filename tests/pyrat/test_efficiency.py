"""How directly cheese is collected: distances and tours against plain enumeration of the game itself."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import ramify as rf
from ramify.pyrat import collected, distances, shortest_tour
from ramify.pyrat.efficiency import _improved


def turns_to(state: rf.State, goal: tuple[int, int]) -> int:
    """The turns until player 0 can take cheese on a cell, by breadth-first search over real turns."""
    seen, now, turns = set(), [state.copy()], 0
    while True:
        following = []
        for position in now:
            fields = position.fields
            place = (tuple(fields["p1"]), fields["mud1"])
            if place == (goal, 0):
                return turns
            if place not in seen:
                seen.add(place)
                for action in range(5):
                    child = position.copy()
                    child.apply(action, 4)
                    following.append(child)
        now, turns = following, turns + 1


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_the_game(seed: int) -> None:
    game = rf.make("pyrat", width=4, height=4, cheese=8, wall_density=0.4, mud_density=0.4, max_turns=99)
    fields = game.initial_state(seed=seed).fields
    fields |= {"p2": [2, 2], "cheese": [[3, 3], [0, 0]], "score1": 4.0, "score2": 4.0, "total": 10}
    state = game.state(**fields)  # it does not end early
    found = distances(state.fields, (0, 0))
    assert len(found) == 16
    cells = [(3, 3), (0, 3), (2, 1), (3, 0)]
    assert [found[cell] for cell in cells] == [turns_to(state, cell) for cell in cells]


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_the_shortest_tour_is_that_of_all_orders(count: int) -> None:
    rng = np.random.default_rng(count)
    between = rng.integers(1, 30, size=(count + 1, count + 1)).astype(float)
    between = between + between.T
    tours = [
        sum(between[a, b] for a, b in zip((0, *order), order, strict=False))
        for order in permutations(range(1, count + 1))
    ]
    assert shortest_tour(between) == min(tours)
    assert _improved(between) >= min(tours)
    assert shortest_tour(between[:1, :1]) == 0


def test_long_tours_are_close_to_the_best_on_a_line() -> None:
    places = np.array([0, *range(1, 21)], np.float64)
    assert shortest_tour(np.abs(places[:, None] - places)) == 20


def test_what_players_collect() -> None:
    """Both walk along a row towards each other and meet at the last piece, which they share."""
    state = rf.make(
        "pyrat", width=5, height=2, cheese=2, max_turns=50, wall_density=0.0, mud_density=0.0
    ).initial_state()
    fields = {**state.fields, "p1": [0, 0], "p2": [4, 0], "cheese": [[1, 0], [2, 0]], "total": 2}
    state = state.game.state(**fields)
    states = [state.copy()]
    for first, second in ((4, 4), (1, 3), (1, 3)):
        state.apply(first, second)
        states.append(state.copy())
    rat, python = collected(states)
    assert (rat.cells, rat.turns, rat.shortest) == (((1, 0), (2, 0)), 3, 2)
    assert (python.cells, python.turns, python.shortest) == (((2, 0),), 3, 2)
    assert rat.efficiency == pytest.approx(2 / 3)
