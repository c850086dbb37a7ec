"""Whole games, compared with python-chess after every move."""

from __future__ import annotations

import random
from collections import Counter

import chess
import numpy as np
import pytest
from chess_reference import action_of, observation_of, reason_of

import ramify as rf

pytestmark = pytest.mark.core

# Starts that lead quickly to what random games from the initial position seldom show.
STARTS = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling on every side
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "8/PPPk4/8/8/8/8/4Kppp/8 b - - 0 1",  # promotions
    "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",  # en passant
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # en passant that opens the king's rank
    "8/8/4k3/8/8/3QK3/8/8 w - - 0 1",
    "8/8/5k2/8/2B1N3/4K3/8/8 b - - 0 1",
    "8/5b2/3k4/8/2B5/4K3/7P/8 w - - 0 1",
    "7k/8/8/8/8/8/1R6/K6r w - - 60 90",
    "r5k1/8/8/8/8/8/8/1K5R w - - 95 120",
    "r5k1/8/8/8/8/8/8/1K5R b - - 140 160",
    "k7/8/1K6/8/8/8/7P/8 w - - 98 120",  # the pawn's move and mate both come near the fifty-move limit
    "n1n3k1/PPPP4/8/8/8/8/pppp4/N1N3K1 w - - 0 1",
]


def choose(rng: random.Random, board: chess.Board, moves: list[chess.Move], style: str) -> chess.Move:
    """random: any move; quiet: few captures and pawn moves; shuffle: mostly back to where it came from."""
    if style != "random" and rng.random() < 0.95:
        moves = [move for move in moves if not board.is_zeroing(move)] or moves
    if style == "shuffle" and len(board.move_stack) >= 2 and rng.random() < 0.7:
        last = board.move_stack[-2]
        moves = [m for m in moves if (m.from_square, m.to_square) == (last.to_square, last.from_square)] or moves
    return rng.choice(moves)


def compare(state: rf.State, board: chess.Board, draws: str) -> list[chess.Move]:
    """Everything that can be seen of a position; returns the legal moves."""
    assert state.fen == board.fen()
    assert state.check == board.is_check()
    reason = reason_of(board, draws)
    assert state.reason == reason
    assert state.is_over == (reason is not None)
    if reason:
        assert state.acting == ()
        assert len(state.legal_actions()) == 0
        won = {"checkmate": -1 if board.turn == chess.WHITE else 1}.get(reason, 0)
        assert state.returns.tolist() == [won, -won]
        return []
    assert state.returns.tolist() == [0, 0]
    assert state.acting == (0 if board.turn == chess.WHITE else 1,)
    moves = list(board.legal_moves)
    names = {action_of(move, board.turn): move.uci() for move in moves}
    assert len(names) == len(moves)
    actions = state.legal_actions().tolist()
    assert actions == sorted(names)
    assert [state.action_name(action) for action in actions] == [names[action] for action in actions]
    return moves


def compare_deeply(state: rf.State, board: chess.Board) -> None:
    """What costs more: observations, names back to actions, keys from scratch, the python-chess board."""
    for player in (0, 1):
        np.testing.assert_array_equal(state.observation(player), observation_of(board, player))
    for action in state.legal_actions():
        assert state.action(state.action_name(action)) == action
    again = state.game.state(**state.fields)
    assert again.fields == state.fields
    assert again.key == state.key
    assert again.history_key == state.history_key
    assert again.legal_actions().tolist() == state.legal_actions().tolist()
    assert again.observation(0).tolist() == state.observation(0).tolist()
    assert state.board == board
    for times in (2, 3, 5):
        assert state.board.is_repetition(times) == board.is_repetition(times)


def play(seed: int) -> str | None:
    """One game; returns how it ended."""
    rng = random.Random(seed)
    draws = "automatic" if rng.random() < 0.2 else "claimed"
    style = rng.choice(["random", "quiet", "shuffle"])
    fen = chess.STARTING_FEN if rng.random() < 0.3 else rng.choice(STARTS)
    board = chess.Board(fen)
    state = rf.make("chess", draws=draws).state(fen)
    moves = compare(state, board, draws)
    while moves:
        if rng.random() < 0.03:
            compare_deeply(state, board)
        move = choose(rng, board, moves, style)
        before, key, fields = state.copy(), state.key, state.fields
        state.apply(action_of(move, board.turn))
        board.push(move)
        assert state.last_move == move.uci()
        assert (before.key, before.fields) == (key, fields)
        moves = compare(state, board, draws)
    compare_deeply(state, board)
    return state.reason


def played(seeds: range) -> Counter[str | None]:
    return Counter(play(seed) for seed in seeds)


def test_games() -> None:
    assert None not in played(range(30))


@pytest.mark.slow
def test_every_reason_to_end_has_been_seen() -> None:
    endings = played(range(150))
    assert None not in endings
    assert len(endings) == 7, endings


@pytest.mark.slow
@pytest.mark.parametrize("block", range(150, 2000, 185))
def test_more_games(block: int) -> None:
    endings = played(range(block, block + 185))
    assert {"checkmate", "insufficient_material", "threefold_repetition", "fifty_moves"} < set(endings)
    assert None not in endings
