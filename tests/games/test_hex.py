"""Hex: rules against a plain flood fill and solved boards, the swap, positions from outside, pictures."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from board_checks import apply_random, assert_same, check_promises, random_states
from hex_solver import Solver
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf

pytestmark = pytest.mark.core
GOLDEN = Path(__file__).parent.parent / "golden"
OPENINGS = json.loads((GOLDEN / "hex_openings.json").read_text())["sizes"]
SOLVED = [json.loads(line) for line in (GOLDEN / "hex_solved.jsonl").read_text().splitlines()]


GAMES_PER_SIZE = [(2, 40), (3, 40), (4, 40), (5, 30), (7, 20), (8, 15), (11, 10), (19, 2)]


def neighbours(row: int, column: int) -> list[tuple[int, int]]:
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1))
    return [(row + down, column + right) for down, right in steps]


def flood_winner(board: list[str]) -> int | None:
    """Who has connected its edges, found from nothing but the picture of the board."""
    size = len(board)
    for player, symbol in enumerate("xo"):
        stones = {(r, c) for r in range(size) for c in range(size) if board[r][c] == symbol}
        reached = {cell for cell in stones if cell[player] == 0}
        front = list(reached)
        while front:
            fresh = (stones - reached).intersection(neighbours(*front.pop()))
            reached |= fresh
            front.extend(fresh)
        if any(cell[player] == size - 1 for cell in reached):
            return player
    return None


@pytest.mark.parametrize(("size", "games"), GAMES_PER_SIZE)
@pytest.mark.parametrize("swap", [False, True])
def test_the_winner_is_who_a_flood_fill_says(size: int, games: int, swap: bool) -> None:
    winners = []
    for state in random_states(rf.make("hex", size=size, swap=swap), games, seed=size):
        winner = flood_winner(state.fields["board"])
        assert state.is_over == (winner is not None)
        assert state.returns.tolist() == ([0, 0] if winner is None else [1 - 2 * winner, 2 * winner - 1])
        if winner is not None:
            winners.append(winner)
    assert len(winners) == games
    assert set(winners) == ({0, 1} if games > 2 else set(winners))


@cache
def solver_of(size: int) -> Solver:
    """One solver per size: what it has proved helps every test."""
    return Solver(size)


@pytest.mark.parametrize("size", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_openings_win_as_solved(size: int) -> None:
    expected = OPENINGS[str(size)]
    start = rf.make("hex", size=size).initial_state()
    assert solver_of(size).winning_actions(start) == set(expected["winning_first_moves"])
    assert len(expected["winning_first_moves"]) + len(expected["losing_first_moves"]) == size * size


@pytest.mark.parametrize("size", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_positions_win_as_solved(size: int) -> None:
    solver = solver_of(size)
    rows = [row for row in SOLVED if row["size"] == size]
    assert len(rows) >= 40
    for row in rows:
        state = rf.make("hex", size=row["size"]).state(" ".join(row["moves"]))
        assert state.acting == (0 if row["to_move"] == "black" else 1,)
        assert len(state.legal_actions()) == row["n_legal"]
        assert solver.winning_actions(state) == set(row["winning_moves"]), row
        assert (row["winner"] == row["to_move"]) == bool(row["winning_moves"])


def test_the_swap_takes_the_mirrored_cell() -> None:
    game = rf.make("hex", size=4, swap=True)
    assert game.num_actions == 17
    state = game.initial_state()
    assert 16 not in state.legal_actions()
    state.apply(state.action("c1"))
    assert state.legal_actions().tolist() == [*(a for a in range(16) if a != 2), 16]
    assert state.action_name(16) == "swap"
    assert str(state).endswith("o to move or swap")
    assert state.apply(16).tolist() == [0, 0]
    assert state.fields == {"board": ["....", "....", "o...", "...."], "to_move": "x", "last": "a3"}
    assert state.acting == (0,)
    assert state.legal_actions().tolist() == [a for a in range(16) if a != 8]
    state.apply(0)
    assert 16 not in state.legal_actions()  # only as the answer to the first stone
    assert 16 not in game.state("c1 a1").legal_actions()
    plain = rf.make("hex", size=4).state("c1")
    assert plain.legal_actions().tolist() == [a for a in range(16) if a != 2]


@pytest.mark.parametrize("size", [2, 3, 11, 19])
def test_a_swap_needs_no_last_stone(size: int) -> None:
    """The one stone on the board is the one that is swapped, whether or not the position names it."""
    game = rf.make("hex", size=size, swap=True)
    for cell in {0, 1, size - 1, size * size // 2, size * size - 1}:
        played = game.initial_state()
        played.apply(cell)
        given = game.state(board=played.board)
        assert given.fields["last"] is None
        for state in (played, given):
            state.apply(size * size)
        assert given.fields == played.fields
        assert given.key == played.key
        assert sum(line.count("o") for line in given.board) == 1


def test_a_swap_exchanges_the_players_places() -> None:
    """Whatever follows, the swapped game is the plain one seen in a mirror, with the players exchanged."""
    rng = random.Random(5)
    for _ in range(30):
        first = rng.randrange(25)
        plain = rf.make("hex", size=5).initial_state()
        swapped = rf.make("hex", size=5, swap=True).initial_state()
        plain.apply(first)
        swapped.apply(first)
        swapped.apply(25)
        while not plain.is_over:
            assert swapped.acting == (1 - plain.acting[0],)
            (cell,), _ = apply_random(plain, rng)
            swapped.apply(cell % 5 * 5 + cell // 5)
            mirrored = ["".join(line) for line in zip(*plain.board, strict=True)]
            assert swapped.board == [line.translate(str.maketrans("xo", "ox")) for line in mirrored]
            assert swapped.returns.tolist() == plain.returns.tolist()[::-1]


def test_observations() -> None:
    state = rf.make("hex", size=3).state("b1 c3 a2")
    own, other = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32)
    own[0, 1] = own[1, 0] = other[2, 2] = 1
    ones, zeros = np.ones((3, 3)), np.zeros((3, 3))
    assert np.array_equal(state.observation(0), [own, other, ones])
    assert np.array_equal(state.observation(1), [other, own, zeros])
    swap = rf.make("hex", size=3, swap=True)
    assert np.array_equal(swap.state("b1").observation(1)[3], ones)
    assert np.array_equal(swap.state("b1").observation(0)[3], ones)
    for line in ("", "b1 swap", "b1 c3"):
        assert np.array_equal(swap.state(line).observation(1)[3], zeros)


@pytest.mark.parametrize(("size", "swap"), [(2, True), (3, False), (3, True)])
def test_keys_are_equal_exactly_for_equal_positions(size: int, swap: bool) -> None:
    """Equal means: the same board and the same player to move, whatever the order of the stones."""
    key_of: dict[tuple, int] = {}
    for state in random_states(rf.make("hex", size=size, swap=swap), games=1500, seed=3):
        parts = (*state.board, state.to_move)
        assert key_of.setdefault(parts, state.key) == state.key
    assert len(set(key_of.values())) == len(key_of)
    assert len(key_of) > (30 if size == 2 else 1500)


def test_keys_differ_between_sizes_and_rules() -> None:
    games = [rf.make("hex", size=size, swap=swap) for size in range(2, 20) for swap in (False, True)]
    assert len({game.initial_state().key for game in games}) == len(games)
    assert len({game.state("a1").key for game in games}) == len(games)


@pytest.mark.parametrize(("size", "swap"), [(2, True), (3, False), (4, True), (6, True), (11, False)])
def test_promises_hold_on_random_positions(size: int, swap: bool) -> None:
    rng = random.Random(2)
    states = random_states(rf.make("hex", size=size, swap=swap), games=12 // size, seed=4)
    for number, state in enumerate(states):
        if size < 6 or number % 12 == 0:
            check_promises(state, rng)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 19), st.booleans(), st.integers(0, 60), st.randoms(use_true_random=False))
def test_promises_hold_on_boards_of_any_size(size: int, swap: bool, turns: int, rng: random.Random) -> None:
    state = rf.make("hex", size=size, swap=swap).initial_state()
    for _ in range(turns):
        if not state.is_over:
            apply_random(state, rng)
    check_promises(state, rng)


def test_the_last_stone_is_known_but_not_part_of_the_key() -> None:
    game = rf.make("hex", size=3)
    one, other = game.state("a1 b2 c3"), game.state("c3 b2 a1")
    assert (one.last, other.last) == ("c3", "a1")
    assert one.key == other.key
    assert game.state(board=one.board).last is None
    assert game.state(board=one.board).key == one.key
    assert one.transform(1).last == "a1"


def test_positions_come_from_actions_or_boards() -> None:
    game = rf.make("hex", size=3)
    state = game.state("a1, b2 c1")
    assert state.board == ["x.x", ".o.", "..."]
    assert_same(game.state(actions=[0, 4, 2]), state)
    assert_same(game.state(actions=["a1", "b2", "c1"]), state)
    assert_same(game.state(board=("x.x", ".o.", "..."), to_move="o", last="c1"), state)
    won = game.state(board=["x..", "xo.", "xo."])
    assert won.is_over
    assert won.returns.tolist() == [1, -1]
    assert str(won).endswith("x has won")


def test_boards_with_swap_say_who_is_to_move() -> None:
    game = rf.make("hex", size=3, swap=True)
    even = ["x..", "...", "..o"]
    assert game.state(board=even).acting == (0,)
    assert game.state(board=even, to_move="o").acting == (1,)
    assert game.state(board=even, to_move="o").key != game.state(board=even).key
    assert game.state(board=["...", "o..", "..."]).acting == (0,)
    assert_same(game.state(board=["...", "o..", "..."], last="a2"), game.state("b1 swap"))


BOARD = ["x..", ".o.", "..."]


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({}, "board must be a list of 3 texts of 3 characters"),
        ({"board": BOARD[:2]}, "list of 3 texts"),
        ({"board": ["x...", ".o.", "..."]}, "3 characters out of 'xo.', not 'x...'"),
        ({"board": ["X..", ".o.", "..."]}, "not 'X..'"),
        ({"board": [1, 2, 3]}, "not 1"),
        ({"board": ["xx.", "...", "..."]}, "with 2 x and 0 o the position is impossible"),
        ({"board": ["o..", "...", "..."]}, "with 0 x and 1 o the position is impossible"),
        ({"board": BOARD, "to_move": "o"}, "with 1 x and 1 o it is not o's turn"),
        ({"board": BOARD, "to_move": "black"}, "to_move must be 'x' or 'o', not 'black'"),
        ({"board": BOARD, "to_move": 0}, "to_move must be 'x' or 'o', not 0"),
        ({"board": ["xo.", "xo.", "x.o"]}, "x has connected its edges, so it moved last"),
        ({"board": ["ooo", "xx.", "xx."]}, "o has connected its edges, so it moved last"),
        ({"board": BOARD, "last": "a1"}, "a stone of o, the player who is not to move, not 'a1'"),
        ({"board": BOARD, "last": "z9"}, "last must name a stone of o"),
        ({"board": BOARD, "last": 4}, "last must name a stone of o"),
        ({"board": BOARD, "swapped": True}, "no part 'swapped'"),
        ({"actions": "a1 a1"}, "'a1' is not a legal action"),
        ({"actions": "a1 swap"}, "'swap' is not a legal action"),
        ({"actions": "a1 b1 a2 b2 a3 b3"}, "'b3' is not a legal action"),
        ({"actions": [0, 9]}, "9 is not a legal action"),
        ({"actions": {"a": 1}}, "a text or a list"),
        ({"actions": "a1", "board": BOARD}, "either actions, or board, to_move and last"),
    ],
)
def test_wrong_positions_are_refused(parts: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        rf.make("hex", size=3).state(**parts)


NUMBERS = st.booleans() | st.integers(-(2**70), 2**70) | st.floats()
JUNK = st.recursive(
    st.none() | NUMBERS | st.text("xo.a1swp ,", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
NAMES = ["hex", "connect_four", "goofspiel", "matrix", "tictactoe"]
PARTS = st.sampled_from(["board", "to_move", "last", "actions", "played", "hands", "points", "other"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.dictionaries(PARTS, JUNK, max_size=3))
def test_junk_is_refused_or_makes_a_position(name: str, parts: dict) -> None:
    game = rf.make(name, size=2, swap=True) if name == "hex" else rf.make(name)
    try:
        state = game.state(**parts)
    except rf.InvalidInput:
        return
    assert_same(game.state(**state.fields), state)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [({"size": 1}, "from 2 to 19, not 1"), ({"size": 20}, "not 20"), ({"swap": 1}, "True or False, not 1")],
)
def test_wrong_parameters_are_refused(params: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        rf.make("hex", **params)


def test_the_text_is_a_slanted_board_between_its_edges() -> None:
    assert str(rf.make("hex", size=3).state("b1 a2")).splitlines() == [
        "    a b c",
        "     X X X X",
        "  1 O . x . O 1",
        "   2 O o . . O 2",
        "    3 O . . . O 3",
        "       X X X X",
        "          a b c",
        "x to move",
    ]


def test_the_picture_shows_cells_edges_stones_and_the_last_one() -> None:
    shapes = list(ElementTree.fromstring(rf.make("hex", size=5).state("b1 c3 a2").svg()))
    tags = [shape.tag.rpartition("}")[2] for shape in shapes]
    assert tags.count("polygon") == 25
    assert [shape.attrib["stroke"] for shape in shapes if shape.tag.endswith("path")].count("#d0382f") == 2
    assert tags.count("path") == 4
    circles = [shape.attrib["fill"] for shape in shapes if shape.tag.endswith("circle")]
    assert sorted(circles) == ["#2a66b1", "#d0382f", "#d0382f", "#ffffff"]
    assert [shape.text for shape in shapes if shape.tag.endswith("text")][:4] == ["a", "1", "b", "2"]
