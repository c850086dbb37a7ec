"""The native games against OpenSpiel's, side by side: legal actions, players, ends, returns, boards.

Action numbers are OpenSpiel's own in all of them, the last index for Hex's swap included, so none is mapped.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest

import ramify as rf

pyspiel = pytest.importorskip("pyspiel")


def rows_of(theirs) -> list[str]:
    """OpenSpiel's board without its spaces and its shift to the right."""
    return [line.replace(" ", "") for line in str(theirs).splitlines() if line and set(line) <= set("xo. ")]


def same_board(ours, theirs) -> None:
    assert ours.fields["board"] == rows_of(theirs)


def same_points(ours, theirs) -> None:
    lines = dict(line.split(":") for line in str(theirs).splitlines() if ":" in line)
    assert ours.fields["points"] == [int(word) for word in lines["Points"].split()]
    assert ours.fields["hands"] == [[int(w) for w in lines[f"P{p} hand"].split()] for p in (0, 1)]


def same_position(ours, theirs, same_parts: Callable) -> None:
    assert ours.is_over == theirs.is_terminal()
    same_parts(ours, theirs)
    if ours.is_over:
        assert ours.acting == ()
        assert ours.returns.tolist() == theirs.returns()
        return
    expected = (0, 1) if theirs.is_simultaneous_node() else (theirs.current_player(),)
    assert ours.acting == expected
    for player in (0, 1):
        legal = theirs.legal_actions(player) if player in expected else []
        assert ours.legal_actions(player).tolist() == legal


def apply_both(ours, theirs, actions: list[int]) -> None:
    ours.apply(*actions)
    if len(actions) == 2:
        theirs.apply_actions(actions)
    else:
        theirs.apply_action(actions[0])


def play_side_by_side(pair: Pair, games: int, seed: int) -> None:
    game, spiel_game = pair.make()
    assert game.num_actions == spiel_game.num_distinct_actions()
    rng = random.Random(seed)
    for _ in range(games):
        ours, theirs = game.initial_state(), spiel_game.new_initial_state()
        same_position(ours, theirs, pair.same_parts)
        while not theirs.is_terminal():
            apply_both(ours, theirs, [int(rng.choice(ours.legal_actions(player))) for player in ours.acting])
            same_position(ours, theirs, pair.same_parts)


def walk_side_by_side(ours, theirs, same_parts: Callable) -> int:
    """Every line of play from here; returns their number."""
    same_position(ours, theirs, same_parts)
    if ours.is_over:
        return 1
    lines = 0
    first, second = ([*map(int, ours.legal_actions(p))] if p in ours.acting else [None] for p in (0, 1))
    for joint in ([a for a in (i, j) if a is not None] for i in first for j in second):
        our_child, their_child = ours.copy(), theirs.clone()
        apply_both(our_child, their_child, joint)
        lines += walk_side_by_side(our_child, their_child, same_parts)
    return lines


class Pair(NamedTuple):
    """A game here, the same game there, and what to compare besides the usual."""

    name: str
    params: dict[str, Any]
    spiel_name: str
    same_parts: Callable
    games: int  # random games in a normal run

    def make(self):
        return rf.make(self.name, **self.params), pyspiel.load_game(self.spiel_name)


def every_pair() -> dict[str, Pair]:
    pairs = {
        "tictactoe": Pair("tictactoe", {}, "tic_tac_toe", same_board, 2000),
        "connect_four": Pair("connect_four", {}, "connect_four", same_board, 1500),
    }
    for size, games in ((2, 300), (3, 1000), (5, 600), (7, 300), (11, 80), (19, 4)):
        for swap in (False, True):
            params = {"size": size, "swap": swap}
            spiel_name = f"hex(board_size={size},swap={swap})"
            pairs[f"hex-{size}{'-swap' * swap}"] = Pair("hex", params, spiel_name, same_board, games)
    kinds = {"win": "win_loss", "difference": "point_difference"}
    for cards, order, kind in product((1, 2, 3, 4, 5, 6, 13), ("descending", "ascending"), kinds):
        params = {"cards": cards, "points": order, "returns": kind}
        spiel_name = f"goofspiel(imp_info=False,num_cards={cards},points_order={order},returns_type={kinds[kind]})"
        pairs[f"goofspiel-{cards}-{order}-{kind}"] = Pair("goofspiel", params, spiel_name, same_points, 100)
    return pairs


PAIRS = every_pair()


@pytest.mark.parametrize("name", PAIRS)
def test_random_games(name: str) -> None:
    play_side_by_side(PAIRS[name], PAIRS[name].games, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_many_more_random_games(name: str) -> None:
    play_side_by_side(PAIRS[name], 10 * PAIRS[name].games, seed=2)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("hex-2", 24),
        ("hex-2-swap", 48),
        ("goofspiel-3-descending-win", 36),
        ("goofspiel-3-ascending-difference", 36),
        ("goofspiel-4-descending-difference", 576),
        ("goofspiel-4-ascending-win", 576),
    ],
)
def test_every_line_of_play(name: str, lines: int) -> None:
    game, spiel_game = PAIRS[name].make()
    start, their_start = game.initial_state(), spiel_game.new_initial_state()
    assert walk_side_by_side(start, their_start, PAIRS[name].same_parts) == lines


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("tictactoe", 255168),
        ("goofspiel-5-descending-difference", 14400),
        ("goofspiel-5-ascending-win", 14400),
    ],
)
def test_every_line_of_play_of_larger_games(name: str, lines: int) -> None:
    game, spiel_game = PAIRS[name].make()
    start, their_start = game.initial_state(), spiel_game.new_initial_state()
    assert walk_side_by_side(start, their_start, PAIRS[name].same_parts) == lines


@pytest.mark.parametrize("name", ["matrix_rps", "matrix_pd", "matrix_bos", "matrix_shapleys_game", "blotto"])
def test_matrix_games(name: str) -> None:
    spiel_game = pyspiel.load_game(name)
    start = spiel_game.new_initial_state()
    counts = [len(start.legal_actions(player)) for player in (0, 1)]

    def returns(i: int, j: int) -> list[float]:
        state = start.clone()
        state.apply_actions([i, j])
        return state.returns()

    pairs = [(i, j) for i in range(counts[0]) for j in range(counts[1])]
    table = [[[returns(i, j)[p] for j in range(counts[1])] for i in range(counts[0])] for p in (0, 1)]
    zero_sum = all(sum(returns(i, j)) == 0 for i, j in pairs)
    for payoffs in (table, table[0]) if zero_sum else (table,):
        game = rf.make("matrix", payoffs=payoffs)
        assert game.num_actions == spiel_game.num_distinct_actions()
        for i, j in pairs:
            ours = game.initial_state()
            assert ours.acting == (0, 1)
            assert [len(ours.legal_actions(player)) for player in (0, 1)] == counts
            ours.apply(i, j)
            assert ours.is_over
            assert ours.returns.tolist() == returns(i, j)
