"""Tic-tac-toe: the whole game, every promise on every position, and its picture."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
from board_checks import check_promises

import ramify as rf

pytestmark = pytest.mark.core
GAME = rf.make("tictactoe")


def all_states() -> dict[int, object]:
    """Every position by its key, the ends included."""
    found = {}
    front = [GAME.initial_state()]
    while front:
        state = front.pop()
        if state.key in found:
            assert found[state.key].fields == state.fields, "two positions share a key"
            continue
        found[state.key] = state
        for action in state.legal_actions():
            child = state.copy()
            child.apply(action)
            front.append(child)
    return found


def test_the_whole_game_has_the_known_size_and_value() -> None:
    states = all_states()
    assert len(states) == 5478
    ends = [state for state in states.values() if state.is_over]
    assert len(ends) == 958
    assert [sum(bool(state.returns[0] == value) for state in ends) for value in (1, 0, -1)] == [626, 16, 316]
    known: dict[int, float] = {}
    for state in sorted(states.values(), key=lambda s: "".join(s.fields["board"]).count(".")):
        known[state.key] = best(state, known)
    assert known[GAME.initial_state().key] == 0


def best(state, known: dict[int, float]) -> float:
    """Player 0's value, from those of the positions with fewer empty cells."""
    if state.is_over:
        return float(state.returns[0])
    values = []
    for action in state.legal_actions():
        child = state.copy()
        child.apply(action)
        values.append(known[child.key])
    return max(values) if state.acting == (0,) else min(values)


def test_positions_up_to_symmetry() -> None:
    """765 of them, as is well known."""
    assert len({state.canonical_key for state in all_states().values()}) == 765


def test_a_finished_game_says_who_won() -> None:
    for state in all_states().values():
        wanted = {1: "x has won", -1: "o has won", 0: "draw"}[int(state.returns[0])]
        assert str(state).splitlines()[-1] == (wanted if state.is_over else f"{'xo'[state.acting[0]]} to move")


def test_counts_of_action_sequences() -> None:
    # Games of 5, 6, 7, 8 and 9 turns: 1440, 5328, 47952, 72576, 127872 (255168 in all).
    assert [GAME.initial_state().perft(depth) for depth in range(1, 10)] == [
        9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872,
    ]  # fmt: skip


def test_promises_on_positions_of_every_kind() -> None:
    rng = random.Random(0)
    for state in list(all_states().values())[::45]:
        check_promises(state, rng)


@pytest.mark.parametrize(
    ("board", "complaint"),
    [
        (["x..", "x..", "..."], "as many stones as o or one more"),
        (["o..", "...", "..."], "as many stones as o or one more"),
        (["xxx", "oo.", "o.."], "already won"),
        (["xx", "oo", ".."], "3 characters"),
        (["xyz", "...", "..."], "out of 'xo.'"),
        ("x........", "list of 3 texts"),
        (None, "list of 3 texts"),
    ],
)
def test_wrong_boards_are_refused(board: object, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        GAME.state(board=board)


def test_positions_from_actions() -> None:
    assert GAME.state("a1 b2 c3").fields["board"] == ["x..", ".o.", "..x"]
    assert GAME.state(actions=[0, 4, 8]).fields == GAME.state("a1 b2 c3").fields
    with pytest.raises(rf.InvalidInput, match="'a1' is not a legal action"):
        GAME.state("a1 a1")
    with pytest.raises(rf.InvalidInput, match="not a legal action"):
        GAME.state("a1 a2 b1 b2 c1 c2")  # x has won on c1


def test_the_picture_shows_every_mark_and_a_finished_three() -> None:
    picture = ElementTree.fromstring(GAME.state("a1 b2 c3").svg())
    shapes = [child.tag.rpartition("}")[2] for child in picture]
    assert shapes.count("circle") == 1
    assert shapes.count("line") == 4 + 2 * 2  # the grid and two crosses
    won = ElementTree.fromstring(GAME.state("a1 a2 b1 b2 c1").svg())
    assert [child.tag.rpartition("}")[2] for child in won].count("line") == 4 + 3 * 2 + 1
