"""Connect Four: rules against a plain search for lines, known counts, positions from outside, the picture."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import numpy as np
import pytest
from board_checks import check_promises, random_states
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf

pytestmark = pytest.mark.core
GAME = rf.make("connect_four")
EMPTY = ["......."] * 6

# Positions after n turns (OEIS A212693).
POSITIONS = [1, 7, 49, 238, 1120, 4263, 16422, 54859]


def every_line() -> list[list[tuple[int, int]]]:
    lines = []
    for row in range(6):
        for column in range(7):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + i * down, column + i * right) for i in range(4)]
                if all(0 <= r < 6 and 0 <= c < 7 for r, c in line):
                    lines.append(line)
    assert len(lines) == 69
    return lines


LINES = every_line()


def has_four(board: list[str], symbol: str) -> bool:
    """Plain: every line of four cells on the board, looked at one by one."""
    return any(all(board[r][c] == symbol for r, c in line) for line in LINES)


def test_ends_and_legal_columns_are_what_the_board_shows() -> None:
    ends = []
    for state in random_states(GAME, games=120, seed=1):
        board = state.fields["board"]
        won = [has_four(board, symbol) for symbol in "xo"]
        full = "." not in "".join(board)
        assert state.is_over == (any(won) or full)
        assert state.returns.tolist() == [won[0] - won[1], won[1] - won[0]]
        if state.is_over:
            ends.append(tuple(state.returns))
        else:
            assert state.acting == ("".join(board).count("x") - "".join(board).count("o"),)
            assert state.legal_actions().tolist() == [c for c in range(7) if board[0][c] == "."]
    assert {(1.0, -1.0), (-1.0, 1.0)} <= set(ends)


def test_a_full_board_without_a_line_is_a_draw() -> None:
    board = ["".join("xo"[(column // 2 + row) % 2] for column in range(7)) for row in range(6)]
    assert not has_four(board, "x")
    assert not has_four(board, "o")
    assert board[0] == "xxooxxo"
    state = GAME.state(board=["xx.oxxo", *board[1:]])
    assert state.acting == (1,)
    assert state.legal_actions().tolist() == [2]
    assert state.apply(2).tolist() == [0, 0]
    assert state.is_over
    assert state.returns.tolist() == [0, 0]
    assert str(state).endswith("draw")


def test_counts_of_positions_and_keys_without_collision() -> None:
    layer = {GAME.initial_state().key: GAME.initial_state()}
    seen: dict[int, str] = {}
    for expected in POSITIONS[:7]:
        assert len(layer) == expected
        following = {}
        for key, state in layer.items():
            board = "".join(state.fields["board"])
            assert seen.setdefault(key, board) == board, "two positions share a key"
            for column in state.legal_actions().tolist():
                child = state.copy()
                child.apply(column)
                following[child.key] = child
        layer = following
    assert len(layer) == POSITIONS[7]
    assert len(set(seen.values())) == len(seen)
    assert len({state.canonical_key for state in layer.values()}) < 0.51 * len(layer)


def test_stones_fall_and_observations_follow_the_viewer() -> None:
    state = GAME.state("d d a")
    assert state.fields["board"] == [*EMPTY[:4], "...o...", "x..x..."]
    planes = np.zeros((2, 6, 7), np.float32)
    planes[0, 5, [0, 3]] = planes[1, 4, 3] = 1
    assert np.array_equal(state.observation(0), planes)
    assert np.array_equal(state.observation(1), planes[::-1])
    assert [state.action_name(a) for a in range(7)] == list("abcdefg")
    assert str(state).splitlines()[-3:] == ["x . . x . . .", "a b c d e f g", "o to move"]


def test_promises_hold_on_random_positions() -> None:
    rng = random.Random(2)
    for state in random_states(GAME, games=12, seed=3):
        check_promises(state, rng)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=42))
def test_promises_hold_after_any_actions(columns: list[int]) -> None:
    state = GAME.initial_state()
    for column in columns:
        if column in state.legal_actions(state.acting[0] if state.acting else 0):
            state.apply(column)
    check_promises(state, random.Random(0))


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"board": [*EMPTY[:4], "x......", "......."]}, "column a is above an empty cell"),
        ({"board": [*EMPTY[:5], "xx....."]}, "not 2 against 0"),
        ({"board": [*EMPTY[:5], "o......"]}, "not 0 against 1"),
        ({"board": [*EMPTY[:4], "ooo....", "xxxxo.."]}, "x has four in a line, so it moved last"),
        ({"board": EMPTY[:5]}, "list of 6 texts of 7 characters"),
        ({"board": [*EMPTY[:5], "......y"]}, "out of 'xo.', not '......y'"),
        ({}, "list of 6 texts"),
        ({"actions": "a h"}, "'h' is not a legal action"),
        ({"actions": "a a a a a a a"}, "'a' is not a legal action"),
        ({"actions": 3}, "a text or a list, not 3"),
        ({"actions": "a", "board": EMPTY}, "either actions or board"),
        ({"bored": EMPTY}, "no part 'bored'"),
    ],
)
def test_wrong_positions_are_refused(parts: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        GAME.state(**parts)


def test_there_are_no_parameters() -> None:
    with pytest.raises(rf.InvalidInput, match="it has no parameters"):
        rf.make("connect_four", rows=6)


def test_the_picture_shows_discs_and_rings_four() -> None:
    def circles(state) -> list[dict[str, str]]:
        return [shape.attrib for shape in ElementTree.fromstring(state.svg()) if shape.tag.endswith("circle")]

    state = GAME.state("d d a")
    assert len(circles(state)) == 42 + 3
    assert sum(c["fill"] == "#d9362b" for c in circles(state)) == 2
    assert sum(c["fill"] == "#f5c518" for c in circles(state)) == 1
    won = GAME.state("a b a b a b a")
    assert sum(c["stroke"] == "#ffffff" for c in circles(won)) == 4
