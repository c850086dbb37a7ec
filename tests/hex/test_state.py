"""Positions of Hex: independent of each other, with incremental keys that know the rotation."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

import ramify as rf
from ramify.hex import HexGameState

from .helpers import after, random_game


def test_a_move_gives_a_new_position_and_leaves_the_old_one() -> None:
    parent = HexGameState(3)
    before = parent.key, parent.board.tolist(), parent.get_legal_moves()
    child, sibling = parent.make_move(0, 0), parent.make_move(0, 1)
    child.make_move(0, 1).make_move(1, 1)
    assert (parent.key, parent.board.tolist(), parent.get_legal_moves()) == before
    assert child.board.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert sibling.board.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert (parent.current_player, child.current_player) == (0, 1)
    assert (parent.move_history, child.move_history) == ((), ((0, 0),))


@pytest.mark.parametrize("name", ["state", "board", "get_board_tensor"])
def test_what_a_position_hands_out_cannot_change_it(name: str) -> None:
    state = after(3, (1, 1))
    before = state.key, state.board.tolist()
    given = getattr(state, name)
    if name == "state":
        given.apply(0)
    else:
        (given() if callable(given) else given)[...] = 2
    assert (state.key, state.board.tolist()) == before


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_equal_and_independent(duplicate) -> None:
    state = after(3, (1, 1))
    made = duplicate(state)
    assert made == state
    assert hash(made) == hash(state)
    assert made.move_history == state.move_history
    made.make_move(0, 0)
    assert made == state != after(3, (1, 2))


def test_the_end_is_the_winners_and_worth_minus_one_to_the_other() -> None:
    for size, seed in itertools.product((2, 3, 5), range(20)):
        *_, last = random_game(size, np.random.default_rng(seed))
        mover = (len(last.move_history) - 1) % 2
        assert last.game_over
        assert last.winner == mover == 1 - last.current_player
        assert joined(last.board, mover)
        assert not joined(last.board, 1 - mover)
        assert last.get_winner_value() == -1.0
        assert last.get_legal_moves() == []
        with pytest.raises(rf.IllegalAction, match="over"):
            last.make_move(0, 0)


def joined(board: np.ndarray, player: int) -> bool:
    """Whether a player's stones join its edges, by a plain flood over the board."""
    stones = {(int(r), int(c)) for r, c in np.argwhere(board == player + 1)}
    size = len(board)
    front = [cell for cell in stones if cell[player] == 0]
    seen = set(front)
    while front:
        r, c = front.pop()
        if (r, c)[player] == size - 1:
            return True
        near = {(r - 1, c), (r - 1, c + 1), (r, c - 1), (r, c + 1), (r + 1, c - 1), (r + 1, c)}
        front += (found := (near & stones) - seen)
        seen |= found
    return False


def test_nobody_has_won_before_the_end() -> None:
    state = after(3, (1, 1))
    assert (state.winner, state.game_over) == (None, False)
    with pytest.raises(ValueError, match="there is no winner yet"):
        state.get_winner_value()


@pytest.mark.parametrize("cell", [(3, 0), (0, 3), (-1, 0), (1, 1)])
def test_an_impossible_move_is_refused(cell) -> None:
    with pytest.raises(rf.IllegalAction):
        after(3, (1, 1)).make_move(*cell)


def test_other_games_and_swap_are_refused() -> None:
    for game in (rf.make("tictactoe"), rf.make("hex", size=3, swap=True)):
        with pytest.raises(ValueError, match="Hex without swap"):
            HexGameState(state=game.initial_state())


def test_the_tensor_is_the_view_of_the_player_to_move() -> None:
    state = after(3, (0, 1), (2, 2))
    mine, other, first = state.get_board_tensor()
    assert (mine[0, 1], other[2, 2], mine.sum(), other.sum(), first.min()) == (1, 1, 1, 1, 1)
    mine, other, first = state.make_move(1, 1).get_board_tensor()
    assert (mine[2, 2], other[0, 1], mine.sum(), other.sum(), first.max()) == (1, 1, 1, 2, 0)


def test_keys_are_incremental_zobrist_keys() -> None:
    """A move changes the key by the same number wherever it is made, and keys do not depend on the way."""
    changes: dict[tuple, int] = {}
    rng = np.random.default_rng(1)
    for _ in range(30):
        game = list(random_game(4, rng))
        for before, after_it in itertools.pairwise(game):
            cell = (before.current_player, after_it.move_history[-1])
            assert changes.setdefault(cell, before.key ^ after_it.key) == before.key ^ after_it.key
    assert len(changes) == len(set(changes.values())) == 2 * 16
    assert after(4, (0, 0), (1, 1), (2, 2)) == after(4, (2, 2), (1, 1), (0, 0))


def test_canonical_keys_are_equal_exactly_for_rotations() -> None:
    """All positions of 3 x 3 up to three stones, against a canonical form of the test's own."""
    by_form: dict[bytes, set[int]] = {}
    level = {HexGameState(3)}
    for _ in range(4):
        for state in level:
            board = state.board
            form = min(board.tobytes(), board[::-1, ::-1].tobytes())
            by_form.setdefault(form, set()).add(state.canonical_key)
        level = {state.make_move(*move) for state in level for move in state.get_legal_moves()}
    assert all(len(keys) == 1 for keys in by_form.values())
    assert len(set.union(*by_form.values())) == len(by_form) == 1 + 5 + 36 + 128


def test_a_turned_game_has_the_same_canonical_keys() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        *_, last = random_game(5, rng)
        turned = after(5, *((4 - row, 4 - column) for row, column in last.move_history))
        assert turned.canonical_key == last.canonical_key
        assert turned.winner == last.winner
