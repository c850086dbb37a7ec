"""Games as environments of Gymnasium: by its own test, and against the games themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.arena import Turn
from tests.adapters.games import EXPECTED_WARNINGS, SMALL, everything
from tests.games.small_games import Duel, Pile

gymnasium = pytest.importorskip("gymnasium")

check_env = pytest.importorskip("gymnasium.utils.env_checker").check_env

pytestmark = [pytest.mark.filterwarnings(text) for text in EXPECTED_WARNINGS]
GAMES = everything()
NAME = "ramify.adapters.gymnasium_envs:ramify/Game-v0"


@pytest.mark.parametrize("name", GAMES)
def test_gymnasiums_test_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Made by gymnasium.make, so that it also tries whether the same seed gives the same game, and rendering."""
    game = GAMES[name]() if name not in SMALL else "pyrat"
    params = SMALL.get(name)
    check_env(gymnasium.make(NAME, disable_env_checker=True, game=game, params=params, opponent="random").unwrapped)
    assert capsys.readouterr().out  # rendered


@pytest.mark.slow
def test_gymnasiums_test_passes_on_every_game_of_openspiel() -> None:
    pytest.importorskip("pyspiel")
    from tests.games.test_openspiel import PLAYABLE

    for name in PLAYABLE:
        task = gymnasium.make(NAME, disable_env_checker=True, game=f"openspiel:{name}", opponent="random")
        check_env(task.unwrapped, skip_render_check=True)


def test_a_game_for_one_player_needs_no_opponent() -> None:
    task = rf.adapters.gymnasium_env("gym:CartPole-v1")
    plain = gymnasium.make("CartPole-v1")
    seen, info = task.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1]
    expected, _ = plain.reset(seed=task.game_state.fields["seed"])
    np.testing.assert_array_equal(seen, expected)
    with pytest.raises(ValueError, match="gym:CartPole-v1 has one player: leave out opponent and player"):
        rf.adapters.gymnasium_env("gym:CartPole-v1", opponent="random")


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
def test_an_episode_is_one_side_of_a_game(name: str, player: int) -> None:
    """Its rewards sum to the returns, and it ends with the game."""
    task: Any = rf.adapters.gymnasium_env(GAMES[name](), opponent="random", player=player)
    rng = np.random.default_rng(1)
    _, info = task.reset(seed=2)
    total, over = 0.0, False
    while not over:
        assert player in task.game_state.acting
        seen, reward, over, cut, info = task.step(rng.choice(np.flatnonzero(info["action_mask"])))
        np.testing.assert_array_equal(seen, task.game_state.observation(player))
        np.testing.assert_array_equal(task.action_masks(), info["action_mask"].astype(bool))
        total += reward
        assert not cut
    assert task.game_state.is_over
    assert total == pytest.approx(float(task.game_state.returns[player]))
    with pytest.raises(gymnasium.error.ResetNeeded):
        task.step(0)


class First:
    """A player of the arena that takes the first action, and remembers its turns."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        self.turns += turns
        return [int(turn.state.legal_actions(turn.player)[0]) for turn in turns]

    def close(self) -> None:
        raise AssertionError("a player that was given is its owner's to close")


def test_opponents_of_every_kind() -> None:
    first = First()

    def least(state: Any, player: int) -> int:
        return int(state.legal_actions(player)[0])

    for opponent in (first, least, "alphabeta:depth=9", rf.arena.RandomConfig()):
        task: Any = rf.adapters.gymnasium_env("tictactoe", opponent=opponent, player=1)
        task.reset(seed=0)
        task.step(int(task.game_state.legal_actions()[-1]))
        assert task.game_state.acting == (1,)
        task.close()
        task.close()
    assert [turn.ply for turn in first.turns] == [0, 2]
    best: Any = rf.adapters.gymnasium_env("tictactoe", opponent="alphabeta:depth=9", player=0)
    for seed in range(3):  # nobody wins against it
        _, info = best.reset(seed=seed)
        reward, over = 0.0, False
        while not over:
            _, reward, over, _, info = best.step(best.action_space.sample(info["action_mask"]))
        assert reward <= 0.0


def test_both_choose_at_once() -> None:
    task: Any = rf.adapters.gymnasium_env(Duel(), opponent=lambda state, player: 1, player=1)
    task.reset()
    assert task.step(2)[1] == 1.0
    assert task.step(0)[1] == -1.0


def test_the_side_can_be_drawn() -> None:
    task: Any = rf.adapters.gymnasium_env(Pile(), opponent="random", player=None)
    task.reset(seed=0)
    sides = []
    for _ in range(20):
        task.reset()
        sides.append(task.player)
        assert task.game_state.acting == (task.player,)
    assert set(sides) == {0, 1}


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    task: Any = rf.adapters.gymnasium_env("tictactoe", opponent=lambda state, player: 0)
    task.reset()
    task.step(4)
    _, reward, over, _, info = task.step(0)
    assert (reward, over, info["illegal_action"]) == (-1.0, True, True)
    assert not info["action_mask"].any()
    strict: Any = rf.adapters.gymnasium_env("tictactoe", opponent="random", illegal_reward=None)
    strict.reset()
    with pytest.raises(rf.IllegalAction, match="9"):
        strict.step(9)


def test_a_game_for_two_needs_an_opponent_that_can_play_it() -> None:
    with pytest.raises(ValueError, match='hex has two players: give an opponent, such as opponent="random"'):
        rf.adapters.gymnasium_env("hex")
    with pytest.raises(ValueError, match="alpha-beta needs a turn-based game"):
        rf.adapters.gymnasium_env("pyrat", opponent="alphabeta:depth=1")
    with pytest.raises(TypeError, match="opponent must be a player, its text or a function"):
        rf.adapters.gymnasium_env("hex", opponent=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="player must be 0, 1 or None, not 2"):
        rf.adapters.gymnasium_env("hex", opponent="random", player=2)


def test_vectors_of_them_are_made_by_name() -> None:
    many = gymnasium.make_vec(NAME, 2, "sync", game="hex", params={"size": 3}, opponent="random")
    seen, info = many.reset(seed=1)
    assert seen.shape == (2, *rf.make("hex", size=3).observation_shape)
    assert info["action_mask"].shape == (2, 9)
    many.close()
