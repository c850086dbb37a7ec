"""pgx's games as ours: against pgx itself, against the native games, and through check_game.

JAX is not among what `make test` installs: with `pip install "ramify[pgx]"` these tests run.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramify as rf

jax = pytest.importorskip("jax", reason="needs ramify[pgx]")
pgx = pytest.importorskip("pgx", reason="needs ramify[pgx]")


@pytest.fixture(scope="module")
def connect_four() -> Any:
    return rf.make("pgx:connect_four")


@pytest.fixture(scope="module")
def tictactoe() -> Any:
    return rf.make("pgx:tic_tac_toe")


def test_it_plays_as_pgx_and_the_native_game_do(connect_four: Any) -> None:
    plain, rng = pgx.make("connect_four"), np.random.default_rng(0)
    step = jax.jit(plain.step)
    for _ in range(3):
        state, native = connect_four.initial_state(), rf.make("connect_four").initial_state()
        theirs = plain.init(jax.random.PRNGKey(0))
        while not native.is_over:
            assert state.acting == native.acting
            np.testing.assert_array_equal(state.legal_actions(), native.legal_actions())
            for player in (0, 1):
                seen = plain._observe(theirs, player ^ connect_four._begins)
                np.testing.assert_array_equal(state.observation(player), np.asarray(seen).transpose(2, 0, 1))
            action = int(rng.choice(native.legal_actions()))
            theirs = step(theirs, action)
            np.testing.assert_array_equal(state.apply(action), native.apply(action))
        assert state.is_over
        assert bool(theirs.terminated)


def test_every_promise_is_kept(tictactoe: Any) -> None:
    report = rf.check_game(tictactoe, games=1)
    assert report.ok, str(report)


def test_children_in_a_batch_are_the_children_one_by_one(connect_four: Any) -> None:
    alone = [connect_four.state([3, 3]).after(action) for action in range(7)]
    parent = connect_four.state([3, 3])
    together = [parent.after(action) for action in range(7)]
    assert parent.position.children is not None
    for one, other in zip(alone, together, strict=True):
        assert one.key == other.key
        leaves = zip(*(jax.tree_util.tree_leaves(state.position.state) for state in (one, other)), strict=True)
        assert all(np.array_equal(first, second) for first, second in leaves)


def test_a_search_finds_the_win_and_proves_it(tictactoe: Any) -> None:
    result = rf.search(tictactoe.state([0, 3, 1, 4]), simulations=50, solver=True)
    assert result.best_action == 2
    assert result.proven.tolist() == [1.0, -1.0]


def test_fields_and_pickles(tictactoe: Any) -> None:
    state = tictactoe.state([4, 0, 8])
    assert state.fields == {"actions": [4, 0, 8]}
    twin = pickle.loads(pickle.dumps(state))
    assert twin.key == state.key
    assert twin.after(1).key == state.after(1).key
    assert pickle.loads(pickle.dumps(tictactoe)) == tictactoe


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("backgammon", {}, "draws chance events within a turn.*openspiel:backgammon can be played"),
        ("minatar-asterix", {}, "draws chance events"),
        ("kuhn_poker", {}, "its information is imperfect"),
        ("tictactoe", {}, "pgx has no game 'tictactoe'; did you mean 'tic_tac_toe'"),
        ("tic_tac_toe", {"size": 4}, "game 'pgx:tic_tac_toe' has no parameter 'size'"),
    ],
)
def test_what_cannot_be_made(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidInput, match=message):
        rf.make(f"pgx:{name}", **params)


def test_wrong_fields(tictactoe: Any) -> None:
    with pytest.raises(rf.InvalidInput, match="actions must be a list, not 3"):
        tictactoe.state(3)
    with pytest.raises(rf.InvalidInput, match="action 2 cannot be played"):
        tictactoe.state([0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["animal_shogi", "gardner_chess", "go_9x9", "hex", "othello"])
def test_other_games_keep_every_promise(name: str) -> None:
    report = rf.check_game(rf.make(f"pgx:{name}"), games=1)
    assert report.ok, str(report)
