"""What users are told when they hand in something that cannot be used: the whole of it, and what would be right."""

import numpy as np
import pytest
from table import load_example

import ramify as rf

WRONG_SEEDS = [
    ("x", "'x'"),
    (-1, "-1"),
    (1.5, "1.5"),
    (2.0, "2.0"),
    (2**64, "18446744073709551616"),
    (True, "True"),
    ([1], "[1]"),
    (np.arange(2), "array([0, 1])"),
    (10**5000, "a value of type int"),  # Python refuses to write it
]


@pytest.mark.parametrize(("seed", "shown"), WRONG_SEEDS, ids=[shown for _, shown in WRONG_SEEDS])
def test_a_wrong_seed_is_named(seed, shown):
    right = "seed must be a whole number from 0 to 2**64 - 1"
    for game in (rf.make("hex", size=3), load_example().TicTacToe(), rf.make("pyrat", preset="tiny")):
        with pytest.raises(rf.InvalidInput) as caught:
            game.initial_state(seed=seed)
        assert str(caught.value) == f"{right}, or None for a fresh one, not {shown}"
    with pytest.raises(rf.InvalidInput) as caught:
        rf.search(rf.make("hex", size=3).initial_state(), simulations=2, seed=seed)
    assert str(caught.value) == f"{right}, not {shown}"


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.int64(7), np.uint8(7)])
def test_every_whole_number_is_a_seed(seed):
    game = rf.make("pyrat", preset="tiny")
    assert game.initial_state(seed).fields == game.initial_state(int(seed)).fields
    assert str(load_example().TicTacToe().initial_state(seed))
    assert rf.search(game.initial_state(1), simulations=2, seed=seed).stats["seed"] == int(seed)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(5.0, "the float 5.0"), (-3.0, "the float -3.0"), (5.5, "5.5"), (20, "20"), ("5", "'5'"), (True, "True")],
)
def test_a_float_is_told_from_a_whole_number(value, shown):
    with pytest.raises(rf.InvalidInput) as caught:
        rf.make("hex", size=value)
    assert str(caught.value) == f"game 'hex': size must be a whole number from 2 to 19, not {shown}"


def test_numbers_of_any_length_are_refused():
    with pytest.raises(rf.InvalidInput, match="game 'hex': 1000000000000000000000 does not fit 64 bits"):
        rf.make("hex", size=10**21)
    with pytest.raises(rf.InvalidInput, match="a value of type int does not fit 64 bits"):
        rf.make("hex", size=10**5000)
    with pytest.raises(
        rf.IllegalAction, match="an action is a whole number from 0 to 120 or a name, not a value of type int"
    ):
        rf.make("hex").initial_state().apply(10**5000)
    with pytest.raises(
        rf.IllegalAction, match="an action is a whole number from 0 to 120 or a name, not 1099511627776"
    ):
        rf.make("hex").initial_state().apply(2**40)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (
            lambda: rf.make("goofspiel", points="up\0down"),
            r"game 'goofspiel': the text 'up\\x00down' contains a NUL character",
        ),
        (lambda: rf.make("hex", **{"si\0ze": 5}), r"'si\\x00ze' contains a NUL character"),
        (
            lambda: rf.make("chess").state("8/8\0/8 w - -"),
            r"chess: the text '8/8\\x00/8 w - -' contains a NUL character",
        ),
        (lambda: rf.make("tictactoe").state(board=["x\0.", "...", "..."]), r"'x\\x00\.' contains a NUL character"),
        (lambda: rf.make("hex").initial_state().action("a1\0"), r"'a1\\x00' contains a NUL character"),
        (lambda: rf.make("goofspiel", points="\ud800"), r"'\\ud800' is not valid Unicode"),
        (lambda: rf.make("chess").state("\ud800"), r"'\\ud800' is not valid Unicode"),
        (lambda: rf.make("hex").initial_state().action("\ud800"), r"'\\ud800' is not valid Unicode"),
        (lambda: rf.make("hex").state("é\0" * 90), r"'é\\x00.*\.\.\. contains a NUL character"),
    ],
)
def test_texts_are_shown_to_their_end(call, shown):
    with pytest.raises(ValueError, match=shown) as caught:
        call()
    assert type(caught.value) in (rf.InvalidInput, rf.IllegalAction)


@pytest.mark.parametrize("side", [0, -1, 4, 65, 5.0, "5", None])
def test_the_sides_of_a_maze_are_those_of_the_game(side):
    game = rf.make("pyrat", width=5, height=7)
    with pytest.raises(rf.InvalidInput, match="width must be 5 as in the game, not "):
        game.state(cheese=[], width=side)
    assert game.state(cheese=[], width=5, height=7).width == 5


def broken(**methods):
    """Tic-tac-toe with other methods."""
    return type("Broken", (load_example().TicTacToe,), methods)()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "must return the numbers of the legal actions, not None"),
        (["a1"], "must return whole numbers, not ['a1']"),
        (np.ones(9, bool), "of a mask, np.flatnonzero(mask) are the numbers"),
    ],
    ids=["None", "names", "mask"],
)
def test_what_are_no_legal_actions(given, told):
    with pytest.raises(rf.BrokenGame) as caught:
        broken(legal_actions=lambda game, cells, player: given).initial_state().legal_actions()
    assert told in str(caught.value).splitlines()[0]


def test_a_position_without_rewards():
    game = broken(apply=lambda game, cells, cell: (cells, 1))
    with pytest.raises(rf.BrokenGame, match=r"must return \(position, rewards\), with a finite reward for each player"):
        game.initial_state().apply(0)


def test_a_text_that_is_none():
    with pytest.raises(rf.BrokenGame, match=r"Broken.text must return a string, not 3"):
        str(broken(text=lambda game, cells: 3).initial_state())


def test_moves_are_no_position_of_a_game_in_python():
    game = broken(acting=lambda game, cells: (int(cells[9]),))
    with pytest.raises(rf.InvalidInput, match=r"for moves, state = game.initial_state\(\) and then state.apply"):
        game.state("b2 a1")
