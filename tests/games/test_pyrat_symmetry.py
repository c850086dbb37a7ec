"""Symmetries of PyRat: playing and turning the board may change places."""

import random

import numpy as np
import pytest

import ramify as rf

pytestmark = pytest.mark.core

SIZES = [(5, 5), (7, 4), (2, 3), (2, 2)]


def make(size, **params):
    return rf.make(
        "pyrat",
        width=size[0],
        height=size[1],
        cheese=0,
        max_turns=40,
        mud_density=0.3,
        symmetric=False,
        **params,
    )


def random_state(game, seed):
    """A generated maze with random cheese, scores and timers."""
    rng = random.Random(seed)
    fields = game.initial_state(seed).fields
    cells = [[x, y] for x in range(fields["width"]) for y in range(fields["height"])]
    score = rng.randrange(3)
    return game.state(
        **{
            **{name: fields[name] for name in ("walls", "mud", "max_turns")},
            "cheese": rng.sample(cells, rng.randrange(len(cells) + 1)),
            "p1": rng.choice(cells),
            "p2": rng.choice(cells),
            "mud1": rng.choice([0, 0, 2]),
            "mud2": rng.choice([0, 0, 3]),
            "turn": 5,
            "misses1": rng.randrange(5),
            "score1": score / 2,
            "score2": score / 2 + rng.randrange(2),
        }
    )


def test_which_symmetries():
    square, oblong = make((5, 5)).symmetries, make((7, 4)).symmetries
    assert [s.name for s in oblong] == [
        "identity",
        "rotate 180",
        "flip x",
        "flip y",
        "swap players",
        "rotate 180, swap players",
        "flip x, swap players",
        "flip y, swap players",
    ]
    assert len(square) == len({s.name for s in square}) == 16
    for symmetries in (square, oblong):
        size = len(symmetries[0].observation)
        assert (symmetries[0].observation == np.arange(size)).all()
        assert symmetries[0].actions.tolist() == [0, 1, 2, 3, 4]
        assert sum(s.swaps_players for s in symmetries) * 2 == len(symmetries)
        for symmetry in symmetries:
            assert sorted(symmetry.observation) == list(range(size))
            assert sorted(symmetry.actions) == [0, 1, 2, 3, 4]


def test_what_the_symmetries_do():
    """By hand: where the corner (0, 0) and the way UP go."""
    wanted = {
        "identity": ((0, 0), "UP"),
        "rotate 180": ((4, 4), "DOWN"),
        "flip x": ((4, 0), "UP"),
        "flip y": ((0, 4), "DOWN"),
        "rotate left": ((4, 0), "LEFT"),
        "rotate right": ((0, 4), "RIGHT"),
        "transpose": ((0, 0), "RIGHT"),
        "antitranspose": ((4, 4), "LEFT"),
    }
    game = make((5, 5))
    state = game.state(cheese=[], p1=[0, 0], p2=[0, 1])
    for k, symmetry in enumerate(game.symmetries):
        corner, way = wanted[symmetry.name.removesuffix(", swap players").replace("swap players", "identity")]
        image = state.transform(k)
        assert tuple(image.p2 if symmetry.swaps_players else image.p1) == corner
        assert image.action_name(symmetry.actions[0], 0) == way
        assert symmetry.swaps_players == ("swap" in symmetry.name)


@pytest.mark.parametrize("reward", ["cheese", "difference", "win"])
@pytest.mark.parametrize("size", SIZES)
def test_playing_and_turning_change_places(size, reward):
    game = make(size, reward=reward)
    rng = random.Random(f"{size} {reward}")
    for seed in range(6):
        state = random_state(game, seed)
        while not state.is_over:
            actions = rng.randrange(5), rng.randrange(5)
            after = state.copy()
            rewards = after.apply(*actions)
            for k, symmetry in enumerate(game.symmetries):
                order = -1 if symmetry.swaps_players else 1
                image = state.transform(k)
                paid = image.apply(*(int(symmetry.actions[a]) for a in actions[::order]))
                wanted = after.transform(k)
                assert image.fields == wanted.fields
                assert image.key == wanted.key
                assert paid.tolist() == rewards.tolist()[::order]
                assert image.returns.tolist() == wanted.returns.tolist()
            state = after


@pytest.mark.parametrize("size", SIZES)
def test_the_image_is_observed_through_the_permutation(size):
    game = make(size)
    for seed in range(10):
        state = random_state(game, seed)
        for k, symmetry in enumerate(game.symmetries):
            image = state.transform(k)
            for player in (0, 1):
                wanted = state.observation(player).ravel()[symmetry.observation]
                mine = 1 - player if symmetry.swaps_players else player
                assert (image.observation(mine).ravel() == wanted).all()
                # Outcomes are classes of actions, so they map as sets do.
                classes = {symmetry.actions[a] for a in state.outcomes(player)[0]}
                assert classes == set(image.outcomes(mine)[0])


@pytest.mark.parametrize("size", SIZES)
def test_images_form_a_group(size):
    """Turning twice is a turn again, and the images of a lopsided position all differ."""
    game = make(size)
    state = game.state(cheese=[[0, 1]], p1=[0, 0], p2=[1, 1], walls=[[[0, 0], [1, 0]]], mud2=1)
    count = len(game.symmetries)
    keys = [state.transform(k).key for k in range(count)]
    assert len(set(keys)) == count
    for first in range(count):
        assert sorted(state.transform(first).transform(k).key for k in range(count)) == sorted(keys)


def test_a_symmetric_game_equals_its_half_turn_with_players_swapped():
    game = rf.make("pyrat", preset="tiny")
    swap = [s.name for s in game.symmetries].index("rotate 180, swap players")
    for seed in range(10):
        state = game.initial_state(seed)
        assert state.transform(swap).key == state.key
        assert (state.observation(0).ravel()[game.symmetries[swap].observation] == state.observation(1).ravel()).all()
