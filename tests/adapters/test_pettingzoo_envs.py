"""Games as environments of PettingZoo: by its own tests, and against the games themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.adapters.games import EXPECTED_WARNINGS, everything
from tests.games.small_games import Duel, Pile

pytest.importorskip("pettingzoo")

with warnings.catch_warnings():  # its tests load an environment of its own the old way
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test, seed_test

pytestmark = [pytest.mark.filterwarnings(text) for text in EXPECTED_WARNINGS]
GAMES = everything()
SIMULTANEOUS = [name for name, make in GAMES.items() if make().simultaneous]
OPENSPIEL = ["tic_tac_toe", "goofspiel", "pig"]


@pytest.mark.parametrize("name", GAMES)
def test_pettingzoos_tests_of_aec_pass(name: str) -> None:
    api_test(rf.adapters.aec_env(GAMES[name]()), num_cycles=60)
    seed_test(lambda: rf.adapters.aec_env(GAMES[name]()), num_cycles=30)


@pytest.mark.parametrize("name", SIMULTANEOUS)
def test_pettingzoos_tests_of_parallel_pass(name: str) -> None:
    parallel_api_test(rf.adapters.parallel_env(GAMES[name]()), num_cycles=60)


@pytest.mark.parametrize("name", OPENSPIEL)
def test_pettingzoos_tests_pass_on_openspiels_games(name: str) -> None:
    pytest.importorskip("pyspiel")
    api_test(rf.adapters.aec_env(f"openspiel:{name}"), num_cycles=30)


@pytest.mark.slow
def test_pettingzoos_tests_pass_on_every_game_of_openspiel() -> None:
    pytest.importorskip("pyspiel")
    from tests.games.test_openspiel import PLAYABLE

    for name in PLAYABLE:
        game = rf.make(f"openspiel:{name}")
        api_test(rf.adapters.aec_env(game), num_cycles=30)
        seed_test(lambda game=game: rf.adapters.aec_env(game), num_cycles=20)
        if game.simultaneous:
            parallel_api_test(rf.adapters.parallel_env(game), num_cycles=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", rf.list_games())
def test_pettingzoos_tests_pass_at_full_length(name: str) -> None:
    """With the parameters and the number of cycles that they have by default."""
    api_test(rf.adapters.aec_env(name))
    seed_test(lambda: rf.adapters.aec_env(name))
    if rf.make(name).simultaneous:
        parallel_api_test(rf.adapters.parallel_env(name))


def test_one_agent_where_a_game_has_one_player() -> None:
    pytest.importorskip("gymnasium")
    task = rf.adapters.aec_env("gym:CartPole-v1", time_limit=10)
    assert task.possible_agents == ["player_0"]
    api_test(task, num_cycles=20)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_same_game(name: str) -> None:
    """Observations, masks, rewards and the end are those of a state that is played beside it."""
    game, rng = GAMES[name](), np.random.default_rng(0)
    played = rf.adapters.aec_env(game)
    played.reset(seed=5)
    state = played.game_state.copy()
    for _ in range(40):
        turn = []
        for player in state.acting:
            assert played.agent_selection == f"player_{player}"
            shown, *_ = played.last()
            np.testing.assert_array_equal(shown["observation"], state.observation(player))
            np.testing.assert_array_equal(shown["action_mask"], state.legal_mask(player))
            turn.append(int(rng.choice(state.legal_actions(player))))
            played.step(turn[-1])
        assert list(played.rewards.values()) == state.apply(*turn).tolist()
        if state.is_over:
            break
    assert all(over == state.is_over for over in played.terminations.values())
    assert played.game_state.key == state.key


def test_the_second_to_choose_does_not_see_the_first() -> None:
    game = rf.adapters.aec_env(Duel())
    game.reset(seed=0)
    before = game.observe("player_1")
    game.step(2)
    np.testing.assert_array_equal(game.observe("player_1")["observation"], before["observation"])
    assert game.agent_selection == "player_1"
    assert not game.observe("player_0")["action_mask"].any()
    game.step(1)
    assert game.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_a_parallel_turn_is_a_turn_of_the_game() -> None:
    game: Any = rf.adapters.parallel_env("goofspiel", cards=3)
    game.reset(seed=0)
    state = game.game_state.copy()
    for turn in ([2, 1], [1, 2]):  # the last cards are played by themselves
        shown, rewards, over, _, _ = game.step({"player_0": turn[0], "player_1": turn[1]})
        assert list(rewards.values()) == state.apply(*turn).tolist()
        np.testing.assert_array_equal(shown["player_1"]["observation"], state.observation(1))
        assert over == dict.fromkeys(["player_0", "player_1"], state.is_over)
    assert game.agents == []


def test_an_illegal_action_ends_the_game_or_raises() -> None:
    game = rf.adapters.aec_env("tictactoe", illegal_reward=-5.0)
    game.reset()
    game.step(4)
    game.step(4)
    assert game.rewards == {"player_0": 0.0, "player_1": -5.0}
    assert all(game.terminations.values())
    assert game.infos["player_1"] == {"illegal_action": True}
    strict = rf.adapters.aec_env(Pile(), illegal_reward=None)
    strict.reset(seed=0)
    with pytest.raises(rf.IllegalAction, match="action 0 is not legal"):
        strict.step(0)
    both: Any = rf.adapters.parallel_env("goofspiel", cards=3)
    both.reset()
    both.step({"player_0": 0, "player_1": 1})
    _, rewards, over, _, infos = both.step({"player_0": 0, "player_1": 2})
    assert rewards == {"player_0": -1.0, "player_1": 0.0}
    assert all(over.values())
    assert infos == {"player_0": {"illegal_action": True}, "player_1": {}}
    both = rf.adapters.parallel_env("goofspiel", cards=3, illegal_reward=None)
    both.reset()
    with pytest.raises(rf.IllegalAction, match="action 3 is not legal for player 1"):
        both.step({"player_0": 0, "player_1": 3})


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="in hex the players act in turn: use aec_env"):
        rf.adapters.parallel_env("hex")
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'human', not 'rgb_array'"):
        rf.adapters.aec_env("hex", render_mode="rgb_array")
    with pytest.raises(TypeError, match="parameters of a game go with its name"):
        rf.adapters.aec_env(rf.make("hex"), size=5)


def test_it_is_rendered_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = rf.adapters.aec_env("tictactoe", render_mode="ansi")
    text.reset()
    assert text.render() == str(rf.make("tictactoe").initial_state())
    shown: Any = rf.adapters.parallel_env("goofspiel", render_mode="human")
    shown.reset()
    assert shown.render() is None
    assert "prize" in capsys.readouterr().out
