"""What every native board game promises, checked on one position; and random positions to check it on."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import numpy as np
import pytest

import ramify as rf


def apply_random(state, rng: random.Random):
    """Play one uniformly random turn in place; returns the actions and the rewards."""
    actions = [int(rng.choice(state.legal_actions(player))) for player in state.acting]
    return actions, state.apply(*actions)


def random_states(game, games: int, seed: int = 0) -> Iterator:
    """Every position of some random games, the ends included."""
    rng = random.Random(seed)
    for _ in range(games):
        state = game.initial_state(seed=0)
        yield state.copy()
        while not state.is_over:
            apply_random(state, rng)
            yield state.copy()


def assert_same(one, other) -> None:
    """Two states that nobody can tell apart."""
    assert one.key == other.key
    assert one.history_key == other.history_key
    assert one.canonical_key == other.canonical_key
    assert one.acting == other.acting
    assert one.fields == other.fields
    assert str(one) == str(other)
    assert one.returns.tolist() == other.returns.tolist()
    for player in (0, 1):
        assert one.legal_actions(player).tolist() == other.legal_actions(player).tolist()
        assert np.array_equal(one.observation(player), other.observation(player))


def check_promises(state, rng: random.Random, canonical: bool = True) -> None:
    """Round trips, copies, names, outcomes, symmetries and refusals of one position.

    A game may leave out the canonical key; then it is the key itself.
    """
    assert_same(state.game.state(**state.fields), state)
    assert_same(pickle.loads(pickle.dumps(state)), state)
    check_actions(state)
    check_refusals(state)
    check_symmetries(state, rng)
    check_canonical(state, canonical)
    before = pickle.dumps(state)
    if not state.is_over:
        clone = state.copy()
        apply_random(clone, rng)
        assert clone.fields != state.fields
    assert pickle.dumps(state) == before, "a copy was not independent"


def check_actions(state) -> None:
    for player in (0, 1):
        legal = state.legal_actions(player)
        assert legal.dtype == np.int32
        assert legal.tolist() == sorted(set(legal.tolist()))
        assert bool(len(legal)) == (player in state.acting)
        actions, index = state.outcomes(player)
        assert actions.tolist() == legal.tolist()
        expected = np.full(state.game.num_actions, -1)
        expected[legal] = np.arange(len(legal))
        assert index.tolist() == expected.tolist()
        assert [state.action(state.action_name(int(a), player), player) for a in legal] == legal.tolist()
        view = state.observation(player)
        assert view.dtype == np.float32
        assert view.shape == state.game.observation_shape


def check_refusals(state) -> None:
    """Whatever is not legal raises and changes nothing."""
    before = pickle.dumps(state)
    wrong: list[tuple[int, ...]] = [(), (0, 0, 0)]
    choices = [state.legal_actions(player).tolist() for player in state.acting]
    if len(choices) != 1:
        wrong.append((0,))
    if len(choices) != 2:
        wrong.append((0, 0))
    for turn, legal in enumerate(choices):
        for action in (-1, state.game.num_actions, 2**31, *range(state.game.num_actions)):
            if action not in legal:
                wrong.append((*(c[0] for c in choices[:turn]), action, *(c[0] for c in choices[turn + 1 :])))
    for actions in wrong:
        with pytest.raises(rf.IllegalAction):
            state.apply(*actions)
    with pytest.raises(rf.IllegalAction):
        state.action("no such action", 0)
    assert pickle.dumps(state) == before


def check_symmetries(state, rng: random.Random) -> None:
    """Images have permuted observations, actions, rewards and futures."""
    symmetries = state.game.symmetries
    assert symmetries[0].name == "identity"
    images = [state.transform(k) for k in range(len(symmetries))]
    assert_same(images[0], state)
    for symmetry, image in zip(symmetries, images, strict=True):
        assert_image(state, symmetry, image)
        if not state.is_over:
            clone, clone_image = state.copy(), image.copy()
            actions, _ = apply_random(clone, rng)
            mapped = symmetry.actions[actions].tolist()
            clone_image.apply(*(mapped[::-1] if symmetry.swaps_players else mapped))
            assert_image(clone, symmetry, clone_image)


def check_canonical(state, canonical: bool) -> None:
    images = [state.transform(k) for k in range(len(state.game.symmetries))]
    least = min(image.key for image in images)
    expected = [least if canonical else image.key for image in images]
    assert [image.canonical_key for image in images] == expected


def assert_image(state, symmetry, image) -> None:
    assert sorted(symmetry.actions.tolist()) == list(range(state.game.num_actions))
    if not symmetry.swaps_players:
        assert image.acting == state.acting
    assert_same(image.game.state(**image.fields), image)  # an image is a position like any other
    for player in (0, 1):
        seat = 1 - player if symmetry.swaps_players else player
        assert image.returns[seat] == state.returns[player]
        mapped = symmetry.actions[state.legal_actions(player)]
        assert image.legal_actions(seat).tolist() == sorted(mapped.tolist())
        seen = state.observation(player).ravel()[symmetry.observation]
        assert np.array_equal(image.observation(seat).ravel(), seen)
