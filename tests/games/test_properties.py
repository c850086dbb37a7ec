"""Promises of the State protocol as properties, for every game: native, written in Python, adapted."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table import NATIVE, label, load_example

import ramify as rf

load_example()
GAMES: list[tuple[str, dict[str, Any]]] = [
    *NATIVE,
    ("tictactoe_python", {}),
    ("openspiel:connect_four", {"rows": 4, "columns": 5}),
    ("openspiel:goofspiel", {"num_cards": 4}),
]


@pytest.fixture(params=GAMES, ids=label)
def game(request: pytest.FixtureRequest) -> rf.Game:
    name, params = request.param
    return rf.make(name, **params)


# The same examples in every run, so that a failure is a failure for everybody.
few = settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def advance(state: rf.State, number: int, length: int = 60) -> list[tuple[int, ...]]:
    """Play random turns, those that the number stands for, until the game is over; returns the turns."""
    rng = np.random.default_rng(number)
    turns = []
    while not state.is_over and len(turns) < length:
        turns.append(tuple(int(rng.choice(state.legal_actions(player))) for player in state.acting))
        state.apply(*turns[-1])
    return turns


def seen(state: rf.State) -> list[Any]:
    """All there is to see of a state, in comparable form."""
    views = [state.observation(player).tobytes() for player in (0, 1)]
    legal = [state.legal_actions(player).tolist() for player in (0, 1)]
    return [state.acting, state.is_over, state.key, state.returns.tolist(), str(state), *views, *legal]


numbers = st.integers(0, 2**32 - 1)


@st.composite
def positions(draw: st.DrawFn, game: rf.Game) -> rf.State:
    """A position somewhere in a game, the first and the last included."""
    state = game.initial_state(draw(numbers))
    advance(state, draw(numbers), draw(st.integers(0, 40)))
    return state


@given(data=st.data())
@few
def test_observations_are_finite_and_of_the_declared_shape(game, data):
    state = data.draw(positions(game))
    for player in (0, 1):
        view = state.observation(player)
        assert view.dtype == np.float32
        assert view.shape == game.observation_shape
        assert np.isfinite(view).all()
        legal = state.legal_actions(player)
        assert legal.dtype == np.int32
        assert (legal.size > 0) == (player in state.acting)
        assert legal.tolist() == sorted(set(legal.tolist()) & set(range(game.num_actions)))


@given(data=st.data())
@few
def test_copies_are_independent(game, data):
    state = data.draw(positions(game))
    before, copy = seen(state), state.copy()
    turns = advance(copy, data.draw(numbers))
    assert seen(state) == before
    again = state.copy()
    for turn in turns:
        state.apply(*turn)
    assert seen(again) == before
    assert seen(state) == seen(copy)


@given(seed=numbers, number=numbers)
@few
def test_rewards_sum_to_returns(game, seed, number):
    state = game.initial_state(seed)
    total = np.zeros(2)
    assert state.returns.tolist() == [0.0, 0.0]
    for turn in advance(state.copy(), number):
        rewards = state.apply(*turn)
        assert rewards.dtype == np.float32
        assert rewards.shape == (2,)
        assert np.isfinite(rewards).all()
        total += rewards
        np.testing.assert_allclose(state.returns, total, rtol=1e-5, atol=1e-5)


@given(seed=numbers, number=numbers)
@few
def test_equal_keys_mean_equal_views(game, seed, number):
    """Over all positions of three games from one start."""
    known: dict[int, list[Any]] = {}
    for game_number in range(number, number + 3):
        state = game.initial_state(seed)
        for turn in [(), *advance(state.copy(), game_number)]:
            if turn:
                state.apply(*turn)
            now = seen(state)
            assert (
                known.setdefault(state.key, now[:3] + now[5:]) == now[:3] + now[5:]
            )  # not the text, not what was paid


def after(state: rf.State, turns: list[tuple[int, ...]]) -> rf.State | None:
    """The state after these turns, or None if one of them is not legal."""
    for turn in turns:
        if len(turn) != len(state.acting):
            return None
        if any(a not in state.legal_actions(p) for p, a in zip(state.acting, turn, strict=True)):
            return None
        state.apply(*turn)
    return state


@given(data=st.data())
@few
def test_equal_keys_mean_equal_futures(game, data):
    """Two paths to one key: the same turns with the first and the last exchanged."""
    start = data.draw(positions(game))
    for number in range(data.draw(numbers), 2**32 + 4)[:4]:
        one = start.copy()
        turns = advance(one, number, 3)
        other = after(start.copy(), [*turns[-1:], *turns[1:-1], *turns[:1]][: len(turns)])
        if other is None or (other.key, other.history_key) != (one.key, one.history_key):
            continue
        for turn in advance(one.copy(), number):
            assert one.apply(*turn).tolist() == other.apply(*turn).tolist()
            assert one.acting == other.acting
        assert one.key == other.key


@given(data=st.data())
@few
def test_symmetries_commute_with_apply(game, data):
    state = data.draw(positions(game))
    k = data.draw(st.integers(0, len(game.symmetries) - 1))
    symmetry, image = game.symmetries[k], state.transform(k)
    order = -1 if symmetry.swaps_players else 1
    assert image.returns.tolist() == state.returns.tolist()[::order]
    for player in (0, 1):
        there = 1 - player if symmetry.swaps_players else player
        np.testing.assert_array_equal(
            state.observation(player).ravel()[symmetry.observation], image.observation(there).ravel()
        )
        assert sorted(symmetry.actions[state.legal_actions(player)]) == image.legal_actions(there).tolist()
    if not state.is_over:
        turn = advance(state.copy(), data.draw(numbers), 1)[0]
        paid = state.apply(*turn).tolist()
        assert image.apply(*[symmetry.actions[action] for action in turn[::order]]).tolist() == paid[::order]
        assert seen(image) == seen(state.transform(k))
    assert state.transform(0).key == state.key


NO_ACTIONS = st.one_of(
    st.floats(), st.text("ab1 -", max_size=3), st.none(), st.binary(max_size=2), st.booleans(),
    st.integers(min_value=2**31), st.integers(max_value=-1), st.lists(st.integers(0, 3), max_size=2),
    st.just(np.float32(1)), st.just(np.array([0, 1])), st.just(np.bool_(True)),
)  # fmt: skip


@given(data=st.data())
@few
def test_what_cannot_be_played_is_refused_and_changes_nothing(game, data):
    state = data.draw(positions(game))
    before = seen(state)
    good = next(iter(advance(state.copy(), 0, 1)), ())
    tries = [(), (*good, 0), (0,) * 3]
    if state.is_over:
        tries += [(0,), (0, 0)]
    for place, player in enumerate(state.acting):
        bad = [data.draw(NO_ACTIONS), game.num_actions]
        number = data.draw(st.integers(0, game.num_actions - 1))
        if number not in state.legal_actions(player):
            bad += [number, np.int64(number)]
        tries += [(*good[:place], action, *good[place + 1 :]) for action in bad]
    for actions in tries:
        with pytest.raises(rf.IllegalAction):
            state.apply(*actions)
        assert seen(state) == before


@given(data=st.data())
@few
def test_whole_numbers_of_numpy_are_actions(game, data):
    state = data.draw(positions(game))
    if not state.is_over:
        kind = data.draw(st.sampled_from([np.int16, np.int32, np.int64, np.uint16, np.array]))
        turn = advance(state.copy(), data.draw(numbers), 1)[0]
        copy = state.copy()
        assert copy.apply(*map(kind, turn)).tolist() == state.apply(*turn).tolist()
        assert seen(copy) == seen(state)


@given(data=st.data())
@few
def test_names_invert(game, data):
    state = data.draw(positions(game))
    for player in state.acting:
        legal = state.legal_actions(player).tolist()
        names = [state.action_name(action, player) for action in legal]
        assert len(set(names)) == len(names)
        assert [state.action(name, player) for name in names] == legal
    for player in (0, 1):
        with pytest.raises(rf.IllegalAction):
            state.action("no such name", player)


@given(data=st.data())
@few
def test_outcomes_cover_the_legal_actions(game, data):
    state = data.draw(positions(game))
    for player in (0, 1):
        actions, index = state.outcomes(player)
        assert index.shape == (game.num_actions,)
        assert np.flatnonzero(index >= 0).tolist() == state.legal_actions(player).tolist()
        assert index[actions].tolist() == list(range(len(actions)))
        assert index.max(initial=-1) == len(actions) - 1


@given(data=st.data())
@few
def test_pickles_and_fields_come_back_equal(game, data):
    state = data.draw(positions(game))
    twin = pickle.loads(pickle.dumps(state))
    assert seen(twin) == seen(state)
    assert twin.game == game == pickle.loads(pickle.dumps(game))
    parsed = game.state(**state.fields)
    for built in (twin, parsed):
        assert built.key == state.key
        assert built.history_key == state.history_key
        assert built.canonical_key == state.canonical_key
    assert seen(parsed)[5:] == seen(state)[5:]
    assert parsed.acting == state.acting
    for turn in advance(state.copy(), data.draw(numbers)):
        paid = state.apply(*turn).tolist()
        assert twin.apply(*turn).tolist() == parsed.apply(*turn).tolist() == paid
    assert twin.key == parsed.key == state.key


@given(seed=numbers, number=numbers)
@few
def test_the_same_seed_gives_the_same_game(game, seed, number):
    one, other = game.initial_state(seed), game.initial_state(seed)
    assert seen(one) == seen(other)
    assert advance(one, number) == advance(other, number)
    assert seen(one) == seen(other)
