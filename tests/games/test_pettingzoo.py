"""PettingZoo's environments as games: against PettingZoo itself, and through check_game."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.games.simulators import FAR

pettingzoo = pytest.importorskip("pettingzoo")
pytest.importorskip("pygame")
from gymnasium import spaces  # noqa: E402

TICTACTOE = "pettingzoo:classic/tictactoe-v3"


@pytest.mark.parametrize("name", ["classic/connect_four-v3", "connect_four-v3", "connect_four_v3"])
def test_names(name: str) -> None:
    game = rf.make(f"pettingzoo:{name}")
    assert (game.num_actions, game.observation_shape, game.simultaneous) == (7, (2, 6, 7), False)


def test_it_plays_as_pettingzoo_does_and_as_the_native_game_does() -> None:
    game, rng = rf.make("pettingzoo:connect_four_v3"), np.random.default_rng(0)
    for _ in range(3):
        state, native = game.initial_state(seed=1), rf.make("connect_four").initial_state()
        plain = pettingzoo.make("aec", "classic/connect_four-v3")
        plain.reset(seed=1)
        while not native.is_over:
            shown = plain.observe(plain.agent_selection)
            np.testing.assert_array_equal(state.observation(), shown["observation"].transpose(2, 0, 1))
            assert state.acting == native.acting
            np.testing.assert_array_equal(state.legal_actions(), native.legal_actions())
            np.testing.assert_array_equal(state.legal_mask(), shown["action_mask"])
            action = int(rng.choice(native.legal_actions()))
            plain.step(action)
            np.testing.assert_array_equal(state.apply(action), native.apply(action))
        assert state.is_over
        assert state.returns.tolist() == native.returns.tolist()


@pytest.mark.parametrize("name", ["tictactoe_v3", "rps_v2"])
def test_every_promise_is_kept(name: str) -> None:
    params = {"max_cycles": 4} if name == "rps_v2" else {}
    report = rf.check_game(rf.make(f"pettingzoo:{name}", **params), games=2)
    assert report.ok, str(report)


def test_a_search_finds_the_win() -> None:
    state = rf.make(TICTACTOE).state(actions=[0, 3, 1, 4])
    assert rf.search(state, simulations=60, solver=True).best_action == 2


def test_agents_that_act_at_once_are_players_that_do() -> None:
    state = rf.make("pettingzoo:rps_v2", max_cycles=2).initial_state(seed=0)
    assert state.acting == (0, 1)
    assert state.observation(0).tolist() == [0, 0, 0, 1]  # nothing shown yet
    assert state.apply(1, 0).tolist() == [1.0, -1.0]  # paper against rock
    assert state.observation(0).tolist() == [1, 0, 0, 0]
    state.apply(2, 2)
    assert state.is_over
    assert state.fields == {"seed": state.fields["seed"], "actions": [[1, 0], [2, 2]]}


def test_a_limit_is_told_from_an_end(walk: Any) -> None:
    state: Any = rf.make("pettingzoo:rps_v2", max_cycles=2).initial_state(seed=0)
    for over in (False, True):
        assert (state.is_over, state.truncated) == (over, over)
        if not over:
            state = state.after(1, 0).after(2, 2)
    for ends, limit in ((3, None), (None, 3), (3, 3)):
        state = walk(length=ends or 99, limit=limit or 99).initial_state(seed=0)
        for _ in range(3):
            assert not state.truncated
            state.apply(1)
        assert state.is_over
        assert state.truncated == (ends is None)
        assert pickle.loads(pickle.dumps(state)).truncated == state.truncated


def test_fields_pickles_and_earlier_positions() -> None:
    game: Any = rf.make(TICTACTOE)
    state = game.initial_state(seed=0)
    trail = [state.copy()]
    for action in (4, 0, 8):
        state.apply(action)
        trail.append(state.copy())
    for twin in (game.state(**state.fields), pickle.loads(pickle.dumps(state)), trail[1].after(0).after(8)):
        assert twin.key == state.key
        np.testing.assert_array_equal(twin.observation(), state.observation())


class Walk(pettingzoo.AECEnv):  # type: ignore[misc,name-defined]
    """Two agents walk on a line of numbers in turn; the number is all that is seen."""

    metadata = {"name": "walk_v0", "render_modes": []}  # noqa: RUF012
    possible_agents = ["walker_0", "walker_1"]  # noqa: RUF012

    def __init__(
        self, length: int = 3 * FAR, lots: bool = False, copies: bool = True, sound: bool = True, limit: int = 99
    ) -> None:
        super().__init__()
        self.length, self.lots, self.copies, self.sound, self.limit = length, lots, copies, sound, limit
        self.started, self.copied = 0, 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-1e9, 1e9, (2,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        Walk.resets += 1
        self.agents, self.agent_selection = list(self.possible_agents), "walker_0"
        self.np_random = np.random.default_rng(seed)
        self.place, self.turn = 0, 0
        self.noise = 0.0 if self.sound else float(Walk.resets)
        for name in ("rewards", "_cumulative_rewards"):
            setattr(self, name, dict.fromkeys(self.agents, 0.0))
        for name in ("terminations", "truncations"):
            setattr(self, name, dict.fromkeys(self.agents, False))
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent: str) -> Any:
        return np.array([self.place, self.noise], np.float32)

    def step(self, action: Any) -> None:
        self.turn += 1
        self.place += (2 * action - 1) * (int(self.np_random.integers(1, 4)) if self.lots else 1)
        self.agent_selection = self.possible_agents[self.turn % 2]
        self.rewards = dict.fromkeys(self.agents, float(action))
        self.terminations = dict.fromkeys(self.agents, self.turn >= self.length)
        self.truncations = dict.fromkeys(self.agents, self.turn >= self.limit)

    def __deepcopy__(self, memo: Any) -> Any:
        if not self.copies:
            raise TypeError("cannot be copied")
        other = object.__new__(Walk)
        other.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return other


@pytest.fixture
def walk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """make(settings) -> a game of Walk, from a module of a user's own"""
    module = types.ModuleType("ramify_walk_v0")
    module.env = Walk  # type: ignore[attr-defined]
    Walk.resets = 0
    monkeypatch.setitem(sys.modules, "ramify_walk_v0", module)
    return lambda **settings: rf.make("pettingzoo:ramify_walk_v0", **settings)


@pytest.mark.parametrize("copies", [True, False])
def test_copies_save_turns_and_change_nothing(walk: Any, copies: bool) -> None:
    game = walk(copies=copies)
    assert game._copies == copies
    state = game.initial_state(seed=0)
    for _ in range(2 * FAR):
        state.apply(1)
    last = state.copy()
    state.apply(1)
    Walk.resets = 0
    for _ in range(5):
        assert last.after(0).observation().tolist() == [2 * FAR - 1, 0]
        assert last.after(1).observation().tolist() == [2 * FAR + 1, 0]
    assert Walk.resets == (1 if copies else 10)


def test_actions_are_counted_from_0_whatever_the_first_of_an_agent_is(
    walk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Walk, "action_space", lambda _, agent: spaces.Discrete(2, start=int(agent[-1])))
    game = walk()
    assert game.num_actions == 2
    state = game.initial_state(seed=0)
    assert state.legal_actions().tolist() == [0, 1]
    assert [state.apply(0).tolist() for _ in range(2)] == [[0.0, 0.0], [1.0, 1.0]]


def test_turns_that_draw_lots_are_noticed(walk: Any) -> None:
    assert walk(lots=True).chance
    assert not walk(lots=False).chance


def test_what_cannot_be_repeated_cannot_be_searched(walk: Any) -> None:
    state = walk(copies=False, sound=False).initial_state(seed=0)
    early = state.copy()
    state.apply(1)
    with pytest.raises(rf.InvalidInput, match="cannot be searched: the same seed and actions led to another position"):
        early.after(0)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("texas_holdem_v4", {}, "agents do not see the whole position"),
        ("connect_for_v3", {}, "has no environment 'connect_for_v3'.*did you mean 'connect_four-v3'"),
        ("json", {}, "the module has neither parallel_env nor env"),
        ("connect_four_v3", {"colour": 3}, "cannot make 'connect_four_v3' with"),
    ],
)
def test_what_cannot_be_made(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make(f"pettingzoo:{name}", **params)


def test_three_agents_are_too_many(walk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walk, "possible_agents", ["walker_0", "walker_1", "walker_2"])
    with pytest.raises(rf.InvalidInput, match="it has 3 agents, not one or two"):
        walk()


def test_there_and_back_again() -> None:
    """A game as an environment, and that as a game."""
    module = types.ModuleType("ramify_back_v0")
    module.env = lambda: rf.adapters.aec_env("tictactoe")  # type: ignore[attr-defined]
    sys.modules["ramify_back_v0"] = module
    try:
        ours, back = rf.make("tictactoe").initial_state(), rf.make("pettingzoo:ramify_back_v0").initial_state()
        for action in (4, 0, 8, 1, 2, 6, 5):
            np.testing.assert_array_equal(ours.legal_actions(), back.legal_actions())
            np.testing.assert_array_equal(ours.apply(action), back.apply(action))
    finally:
        del sys.modules["ramify_back_v0"]
