"""Gymnasium's tasks as games of one player."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.games.failures import game_failure

gymnasium = pytest.importorskip("gymnasium")

CARTPOLE = "gym:CartPole-v1"


def test_it_plays_as_gymnasium_does() -> None:
    game, rng = rf.make(CARTPOLE), np.random.default_rng(0)
    state = game.initial_state(seed=3)
    plain = gymnasium.make("CartPole-v1")
    seen, _ = plain.reset(seed=state.fields["seed"])
    total, over = 0.0, False
    while not over:
        np.testing.assert_array_equal(state.observation(), seen)
        action = int(rng.integers(2))
        seen, reward, ended, cut, _ = plain.step(action)
        assert state.acting == (0,)
        np.testing.assert_array_equal(state.apply(action), [reward, 0.0])
        total, over = total + reward, ended or cut
    assert state.is_over
    assert state.returns.tolist() == [total, 0.0]


def test_every_promise_is_kept() -> None:
    report = rf.check_game(rf.make(CARTPOLE, time_limit=8), games=3)
    assert report.ok, str(report)


def test_earlier_positions_are_found_again() -> None:
    """A simulator has one position; copies that go other ways, and old positions, are played again from the start."""
    game = rf.make(CARTPOLE)
    state = game.initial_state(seed=1)
    trail = [state.copy()]
    for action in (0, 1, 1, 0):
        state.apply(action)
        trail.append(state.copy())
    other = trail[2].after(0)
    assert other.key != trail[3].key
    np.testing.assert_array_equal(trail[2].after(1).observation(), trail[3].observation())
    again = game.state(**other.fields)
    np.testing.assert_array_equal(again.observation(), other.observation())
    assert again.key == other.key
    assert pickle.loads(pickle.dumps(other)).key == other.key


def test_simulators_are_used_again() -> None:
    game: Any = rf.make(CARTPOLE)
    for seed in range(5):
        state = game.initial_state(seed=seed)
        while not state.is_over:
            state.apply(0)
    assert len(game._spare) == 1
    first = game.initial_state(seed=0)
    early = first.copy()
    while not first.is_over:
        first.apply(0)
    second = game.initial_state(seed=9)  # with the same simulator
    np.testing.assert_array_equal(early.after(0).observation(), game.initial_state(seed=0).after(0).observation())
    assert not second.is_over
    assert second.after(1).fields["actions"] == [1]


def test_time_limits() -> None:
    state = rf.make(CARTPOLE, time_limit=5).initial_state(seed=0)
    for action in (0, 1, 0, 1, 0):
        assert not state.is_over
        state.apply(action)
    assert state.is_over
    assert state.truncated
    assert pickle.loads(pickle.dumps(state)).truncated
    assert not rf.make(CARTPOLE).state(actions=[0] * 5).truncated
    assert rf.make(CARTPOLE).params == {}
    assert rf.make(CARTPOLE, time_limit=None).params == {"time_limit": None}


def test_images_are_planes() -> None:
    class Picture(gymnasium.Env):  # type: ignore[misc, name-defined]
        observation_space = gymnasium.spaces.Box(0, 255, (4, 6, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.turn = 0
            return np.full((4, 6, 3), (0, 51, 255), np.uint8), {}

        def step(self, action: Any) -> Any:
            self.turn += 1
            return np.zeros((4, 6, 3), np.uint8), 0.5, self.turn >= 3, False, {}

    gymnasium.register("ramify-picture-v0", Picture)
    try:
        game = rf.make("gym:ramify-picture-v0")
        state = game.initial_state(seed=0)
        assert game.observation_shape == (3, 4, 6)
        np.testing.assert_allclose(state.observation()[:, 0, 0], [0, 0.2, 1])
        assert state.apply(1)[0] == 0.5
    finally:
        gymnasium.registry.pop("ramify-picture-v0")


def test_one_of_n_choices_is_a_vector_with_a_one() -> None:
    game = rf.make("gym:FrozenLake-v1", is_slippery=False)
    state = game.initial_state(seed=0)
    assert game.observation_shape == (16,)
    assert state.observation().tolist() == [1.0] + [0.0] * 15
    state.apply(2)  # to the right
    assert state.observation().argmax() == 1
    assert rf.search(game.state(actions=[1, 1, 2, 1]), simulations=200).best_action == 2  # the goal is two steps away


class Line(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Steps of 1 or 2 along a line of some length, which may be broken from some place on."""

    observation_space = gymnasium.spaces.Box(-99, 99, (1,), np.float32)

    def __init__(self, actions: Any = None, length: int = 5, broken: int = 99) -> None:
        self.action_space = gymnasium.spaces.Discrete(2, start=1) if actions is None else actions
        self.length, self.places = length, list(range(broken))

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.place += int(action)
        return self.seen(), float(action), self.place >= self.length, False, {}

    def seen(self) -> Any:
        return np.array([self.places[self.place]], np.float32)


@pytest.fixture
def line() -> Iterator[str]:
    """The name of a task of a user's own."""
    gymnasium.register("ramify-line-v0", Line)
    yield "gym:ramify-line-v0"
    gymnasium.registry.pop("ramify-line-v0")


def test_actions_are_counted_from_0_whatever_the_first_of_the_task_is(line: str) -> None:
    game = rf.make(line)
    assert game.num_actions == 2
    state = game.initial_state(seed=0)
    assert state.legal_actions().tolist() == [0, 1]
    assert [state.apply(action)[0] for action in (0, 1)] == [1.0, 2.0]
    assert state.fields["actions"] == [0, 1]
    assert state.after(0).observation().tolist() == [4.0]
    assert game.state(**state.fields).key == state.key


@pytest.mark.parametrize("space", [gymnasium.spaces.MultiBinary(3), gymnasium.spaces.MultiDiscrete([2, 2])])
def test_actions_that_are_not_one_choice_are_refused(line: str, space: Any) -> None:
    with pytest.raises(rf.InvalidInput, match=r"its actions are Multi.*, not a number of choices"):
        rf.make(line, actions=space)


def test_an_error_in_a_task_of_ones_own_is_shown_where_it_is(line: str, run: Any) -> None:
    state = rf.make(line, length=99, broken=20).state(actions=[1] * 9)
    with pytest.raises(IndexError) as caught:
        state.after(1)
    sentence = str(game_failure(caught.value))
    number = Line.seen.__code__.co_firstlineno + 1
    assert sentence.startswith(f"game '{line}': step raised IndexError: list index out of range (")
    assert f"test_gym.py:{number}); " in sentence
    words = ("-p", "length=99", "-p", "broken=20", "--games", "1", "--simulations", "4")
    code, _, err = run("selfplay", line, "games", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert f"game '{line}': step raised IndexError: " in err
    with pytest.raises(rf.IllegalAction) as illegal:
        state.apply(7)
    assert game_failure(illegal.value) is None


def test_numbers_that_are_not_bytes_stay_as_they_are() -> None:
    from ramify.games.simulators import observed, planes_shape

    numbers, rng = gymnasium.spaces.Box(-9, 9, (2, 4, 3), np.float32), np.random.default_rng(0)
    image = rng.uniform(-9, 9, (2, 4, 3)).astype(np.float32)
    np.testing.assert_array_equal(observed(numbers, image), np.moveaxis(image, 2, 0))
    flat = gymnasium.spaces.Box(-9, 9, (2, 4), np.float32)
    np.testing.assert_array_equal(observed(flat, image[..., 0]), image[None, ..., 0])
    assert [planes_shape(shape) for shape in ((7,), (2, 4), (2, 4, 3))] == [(7,), (1, 2, 4), (3, 2, 4)]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("gym:Nothing-v7", {}, "Gymnasium cannot make 'Nothing-v7'"),
        ("gym:Pendulum-v1", {}, "its actions are"),
        ("gym:Blackjack-v1", {}, "its observations are Tuple"),
        *(
            (CARTPOLE, {"time_limit": wrong}, f"time_limit must be a positive whole number or None, not {wrong!r}")
            for wrong in (0, -1, 1.5, "x", True)
        ),
        ("gym:CartPole-v1", {"colour": 3}, "cannot make 'CartPole-v1' with"),
    ],
)
def test_what_cannot_be_made(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make(name, **params)


def test_wrong_fields() -> None:
    game: Any = rf.make(CARTPOLE)
    with pytest.raises(rf.InvalidInput, match="seed must be a whole number"):
        game.state(seed=-1)
    with pytest.raises(rf.InvalidInput, match="action 2 cannot be played"):
        game.state(actions=[0, 7])
