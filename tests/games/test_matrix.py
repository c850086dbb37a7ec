"""Matrix games: payoffs of both forms, what is refused, positions from outside, the picture."""

from __future__ import annotations

import random
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from board_checks import check_promises, random_states
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ramify as rf

pytestmark = pytest.mark.core
WIDE = [[1, -2, 3.5], [0, 4, -1]]
DILEMMA = [[[3, 0], [5, 1]], [[3, 5], [0, 1]]]
FLOATS = st.floats(-1e6, 1e6, width=32)
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
TABLES = SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=FLOATS))


def test_the_default_is_rock_paper_scissors() -> None:
    game = rf.make("matrix")
    assert game.params == {"payoffs": [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]}
    assert game.simultaneous
    state = game.initial_state()
    assert state.acting == (0, 1)
    assert state.apply(1, 0).tolist() == [1, -1]  # paper beats rock


@settings(max_examples=60, deadline=None)
@given(TABLES, st.booleans(), st.randoms())
def test_every_pair_pays_what_the_table_says(table: np.ndarray, both: bool, rng: random.Random) -> None:
    second = -table if not both else (table * np.float32(0.5) + 1).astype(np.float32)
    game = rf.make("matrix", payoffs=np.stack([table, second]) if both else table)
    assert game.num_actions == max(table.shape)
    start = game.initial_state()
    assert [start.legal_actions(p).tolist() for p in (0, 1)] == [list(range(n)) for n in table.shape]
    keys = {start.key}
    for i, j in product(*map(range, table.shape)):
        state = start.copy()
        rewards = state.apply(i, j)
        assert state.is_over
        assert rewards.tolist() == [table[i, j], second[i, j]]
        assert state.returns.tolist() == rewards.tolist()
        keys.add(state.key)
    assert len(keys) == 1 + table.size
    check_promises(start, rng)
    check_promises(state, rng)


def test_observations_show_the_table_from_the_viewers_side() -> None:
    state = rf.make("matrix", payoffs=WIDE).initial_state()
    own, other = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32)
    own[:2] = WIDE
    other[:2] = -np.array(WIDE)
    assert np.array_equal(state.observation(0), [own, other])
    assert np.array_equal(state.observation(1), [other.T, own.T])
    dilemma = rf.make("matrix", payoffs=DILEMMA).initial_state()
    assert np.array_equal(dilemma.observation(0), dilemma.observation(1))  # a symmetric game looks so


def test_games_are_equal_where_their_payoffs_are() -> None:
    """Down to the last entry of a table too large to be printed, and to digits that are not printed."""
    large = np.zeros((30, 30))
    other = large.copy()
    other[29, 29] = 1
    assert rf.make("matrix", payoffs=large) == rf.make("matrix", payoffs=large)
    assert rf.make("matrix", payoffs=large) != rf.make("matrix", payoffs=other)
    assert rf.make("matrix", payoffs=[[1.0000001]]) != rf.make("matrix", payoffs=[[1.0]])


def test_keys_of_different_games_differ() -> None:
    games = [rf.make("matrix", payoffs=p) for p in (WIDE, DILEMMA, [[1, 2]], [[1], [2]], [[1, 2.0001]])]
    assert len({game.initial_state().key for game in games}) == len(games)


def test_promises_hold_on_random_positions() -> None:
    rng = random.Random(0)
    for payoffs in (WIDE, DILEMMA, [[7]]):
        for state in random_states(rf.make("matrix", payoffs=payoffs), games=3):
            check_promises(state, rng)


@pytest.mark.parametrize(
    ("payoffs", "complaint"),
    [
        (None, r"a table \[n0\]\[n1\] or two of them"),
        (3, r"a table \[n0\]\[n1\] or two of them"),
        ("abc", r"a table \[n0\]\[n1\] or two of them"),
        ([], r"a table \[n0\]\[n1\] or two of them"),
        ([[]], "n0 and n1 from 1 to 1024"),
        ([1, 2], "row 0 is not one"),
        ([[1, 2], 3], "row 1 is not one"),
        ([[1, 2], [3]], "row 1 has 1 entries, row 0 has 2"),
        ([[1, "a"]], "'a' is not one"),
        ([[1, None]], "None is not one"),
        ([[1, True]], "True is not one"),
        ([[1, [2]]], r"\[2\] is not one"),
        ([[1, float("nan")]], "finite numbers"),
        ([[1, float("-inf")]], "finite numbers"),
        ([[1, 1e300]], "finite numbers"),
        ([[[1]]], "one per player, where it is a list of tables \\(it has 1\\)"),
        ([[[1]], [[1]], [[1]]], "it has 3"),
        ([[[1]], [[1, 2]]], "same shape"),
        ([[[1], [2]], [[1]]], "same shape"),
        ([[[1]], 5], "a table"),
        ([[[[1]]], [[[1]]]], "finite numbers"),
        (np.zeros((1025, 1)), "from 1 to 1024"),
        (np.zeros((1, 1025)), "from 1 to 1024"),
    ],
)
def test_wrong_payoffs_are_refused(payoffs: object, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=f"(?s)game 'matrix': payoffs must be .*{complaint}"):
        rf.make("matrix", payoffs=payoffs)


@pytest.mark.parametrize("played", [3, [1], [0, 3], [2, 0], [-1, 0], [0.0, 1], [True, 0], [0, 1, 2], "01"])
def test_wrong_positions_are_refused(played: object) -> None:
    game = rf.make("matrix", payoffs=WIDE)
    with pytest.raises(rf.InvalidInput, match="from 0 to 1 and from 0 to 2"):
        game.state(played=played)
    with pytest.raises(rf.InvalidInput, match="no part 'actions'"):
        game.state(actions=[0, 0])


def test_explicit_positions_have_paid() -> None:
    game = rf.make("matrix", payoffs=WIDE)
    assert game.state().acting == (0, 1)
    assert game.state(played=[0, 2]).returns.tolist() == [3.5, -3.5]


def test_the_text_and_the_picture_are_the_table() -> None:
    state = rf.make("matrix", payoffs=WIDE).initial_state()
    assert str(state).splitlines() == [
        "             0         1         2",
        "   0      1,-1      -2,2  3.5,-3.5",
        "   1       0,0      4,-4      -1,1",
        "both to move",
    ]
    state.apply(1, 2)
    assert str(state).endswith("played 1 against 2")
    shapes = list(ElementTree.fromstring(state.svg()))
    cells = [shape for shape in shapes if shape.tag.endswith("rect")][1:]
    assert len(cells) == 6
    assert [cell.attrib["fill"] for cell in cells].count("#ffe9a8") == 1
    assert cells[5].attrib["fill"] == "#ffe9a8"
    texts = [shape.text for shape in shapes if shape.tag.endswith("text")]
    assert [texts.count("3.5"), texts.count("-3.5")] == [1, 1]
    large = rf.make("matrix", payoffs=np.zeros((30, 40))).initial_state().svg()
    assert "16&#160;×&#160;16&#160;of&#160;30&#160;×&#160;40" in large
