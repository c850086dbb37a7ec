"""Actions as people write them: in any case, and chess moves in standard algebraic notation."""

from __future__ import annotations

import random

import pytest
from small_games import Pile

import ramify as rf
from ramify.games.notation import UnclearActionError, play_words, read_action


@pytest.mark.parametrize(
    ("name", "word", "meant"), [("hex", "F6", "f6"), ("connect_four", "D", "d"), ("pyrat", "up", "UP")]
)
def test_case_does_not_matter(name: str, word: str, meant: str) -> None:
    state = rf.make(name).initial_state(0)
    assert read_action(state, word, 0) == state.action(meant, 0)


def test_what_names_no_action_is_an_error() -> None:
    state = rf.make("hex", size=3).initial_state()
    with pytest.raises(ValueError, match="z9"):
        read_action(state, "z9", 0)


class Numbered(Pile):
    """Its actions are called by what they take, not by their numbers."""

    def action_name(self, position, player, action):
        return str(action + 1)


def test_a_number_alone_is_an_action_where_no_name_is_a_number() -> None:
    state = rf.make("tictactoe").initial_state()
    assert play_words(state.copy(), ["4", "b1"]) == [(4,), (1,)]
    with pytest.raises(rf.IllegalAction):
        read_action(state, "4", 0)  # not where a person types moves: it may be a slip
    with pytest.raises(rf.IllegalAction, match="99"):
        play_words(state.copy(), ["99"])
    other = Numbered().initial_state()
    assert other.legal_actions().tolist() == [1, 2]
    assert play_words(other.copy(), ["2"]) == [(1,)]
    assert play_words(other.copy(), ["#2"]) == [(2,)]
    with pytest.raises(UnclearActionError, match="write #1"):
        play_words(other.copy(), ["1"])


@pytest.mark.parametrize("games", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_san_means_what_python_chess_says(games: int) -> None:
    chess = pytest.importorskip("chess")
    rng = random.Random(5)
    for _ in range(games):
        state, board = rf.make("chess").initial_state(), chess.Board()
        while not state.is_over and board.ply() < 80:
            moves = list(board.legal_moves)
            for move in moves:
                assert read_action(state, board.san(move), state.acting[0]) == state.action(move.uci())
                assert read_action(state, move.uci().upper(), state.acting[0]) == state.action(move.uci())
            move = rng.choice(moves)
            board.push(move)
            state.apply(state.action(move.uci()))


@pytest.mark.parametrize(
    ("fen", "word", "meant"),
    [
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "o-o", "e1g1"),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "0-0-0", "e1c1"),
        ("8/4P3/8/8/8/8/k7/4K3 w - - 0 1", "e8q", "e7e8q"),
        ("8/4P3/8/8/8/8/k7/4K3 w - - 0 1", "E8=N", "e7e8n"),
        ("4k3/8/8/8/8/2p5/8/3BK3 w - - 0 1", "ba4", "d1a4"),
        ("4k3/8/8/8/3p4/4P3/8/4K3 w - - 0 1", "ed4", "e3d4"),
        ("4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1", "Bxc3", "d2c3"),
        ("4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1", "bxc3", "b2c3"),
    ],
)
def test_chess_moves_may_be_written_carelessly(fen: str, word: str, meant: str) -> None:
    pytest.importorskip("chess")
    state = rf.make("chess").state(fen)
    assert state.action_name(read_action(state, word, 0)) == meant


def test_what_can_mean_two_moves_means_none() -> None:
    pytest.importorskip("chess")
    state = rf.make("chess").state("4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1")
    with pytest.raises(UnclearActionError, match=r"Bxc3 or bxc3|bxc3 or Bxc3"):
        read_action(state, "BXC3", 0)


def test_lists_of_moves_take_them_too() -> None:
    pytest.importorskip("chess")
    state = rf.make("chess").initial_state()
    play_words(state, ["e4", "E7E5", "Nf3", "Nc6", "Bc4", "Bc5", "O-O"])
    assert state.fen.startswith("r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQ1RK1 b")
