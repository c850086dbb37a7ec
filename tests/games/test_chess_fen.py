"""Positions from text: accepted exactly when python-chess accepts them, refused with a reason otherwise."""

from __future__ import annotations

import contextlib
import random
import re
from collections import Counter

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ramify as rf

pytestmark = pytest.mark.core

GAME = rf.make("chess")
START = chess.STARTING_FEN

# The spelling that is accepted; python-chess is freer (fewer words, Shredder castling, "Q~", "+7", blanks).
BLANK = "[ \t\n\r]"
SPELLING = re.compile(
    rf"{BLANK}*[1-8pnbrqkPNBRQK/]+{BLANK}+[wb]{BLANK}+(-|(?=[KQkq])K?Q?k?q?){BLANK}+(-|[a-h][36])"
    rf"({BLANK}+0*[0-9]{{1,4}}({BLANK}+0*[0-9]{{1,4}})?)?{BLANK}*\Z"
)


def python_chess_accepts(fen: str) -> bool:
    """Whether it does and keeps every castling right (it drops "q" without a rook on the back rank)."""
    try:
        board = chess.Board(fen)
    except ValueError:
        return False
    return board.is_valid() and (len(fen.split()) < 3 or board.castling_xfen() == fen.split()[2])


def accepts(fen: str) -> bool:
    state = refusal = None
    try:
        state = GAME.state(fen)
    except rf.InvalidInput as error:
        refusal = str(error)
    if state is None:
        assert refusal.startswith("chess: the text " if "\0" in fen else "chess: FEN '")
        assert len(refusal) < 400
        return False
    assert state.fen == chess.Board(fen).fen()
    assert [state.action_name(a) for a in state.legal_actions()] or state.is_over
    return True


def check(fen: str) -> bool:
    accepted = accepts(fen)
    assert accepted == (bool(SPELLING.match(fen)) and python_chess_accepts(fen)), fen
    return accepted


SEEDS = [
    START,
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R2Pp1k/8/6P1/8 b - e3 0 1",
    "4k3/8/8/8/8/8/8/4K2R w K - 99 80",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A FEN with a few characters changed, removed or added."""
    text = list(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text) - 1)) if text else 0
        symbol = draw(st.sampled_from("pnbrqkPNBRQK12345678/ wb-KQkqabcdefgh36019+~x\t\n\x00é"))
        kind = draw(st.integers(0, 2))
        text[place : place + (kind != 2)] = [] if kind == 0 else [symbol]
    return "".join(text)


@settings(max_examples=600, deadline=None)
@given(mutated())
def test_mutated_fens(fen: str) -> None:
    check(fen)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=100) | st.text("pnbrqkPNBRQK12345678/ wb-KQkqabcdefgh36019", max_size=90))
def test_random_text(text: str) -> None:
    check(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")), st.text(max_size=20))
def test_random_parts(history: str, move: str) -> None:
    """Garbage in the other parts: a position or InvalidInput, never anything else."""
    for parts in (
        {"history": history},
        {"last_move": move},
        {"moves": move},
        {"history": move, "moves": history},
    ):
        with contextlib.suppress(rf.InvalidInput):
            assert GAME.state(START, **parts).fen == START


FAULTS = [
    chess.STATUS_NO_WHITE_KING,
    chess.STATUS_NO_BLACK_KING,
    chess.STATUS_PAWNS_ON_BACKRANK,
    chess.STATUS_BAD_CASTLING_RIGHTS,
    chess.STATUS_INVALID_EP_SQUARE,
    chess.STATUS_OPPOSITE_CHECK,
    chess.STATUS_TOO_MANY_CHECKERS,
    chess.STATUS_IMPOSSIBLE_CHECK,
]


def random_position(rng: random.Random) -> str:
    """Few pieces at random: checks of every kind, castling rights and en-passant squares true and false."""
    board = chess.Board(None)
    for square in rng.sample(chess.SQUARES, rng.randint(0, 9)):
        board.set_piece_at(square, chess.Piece(rng.choice([1, 1, 2, 3, 4, 4, 5, 5]), rng.random() < 0.5))
    for colour in chess.COLORS:
        if rng.random() < 0.97:
            home = chess.E1 if colour else chess.E8
            square = home if rng.random() < 0.5 else rng.choice(chess.SQUARES)
            board.set_piece_at(square, chess.Piece(chess.KING, colour))
    for square in (chess.A1, chess.H1, chess.A8, chess.H8):
        if rng.random() < 0.3:
            board.set_piece_at(square, chess.Piece(chess.ROOK, square < 8))
    turn = rng.random() < 0.5
    rights = "".join(letter for letter in "KQkq" if rng.random() < 0.1) or "-"
    passed = "-"
    if rng.random() < 0.4:
        file = rng.randrange(8)
        passed = chess.square_name(chess.square(file, 5 if turn else 2))
        board.set_piece_at(chess.square(file, 4 if turn else 3), chess.Piece(chess.PAWN, not turn))
        if rng.random() < 0.8:
            board.remove_piece_at(chess.square(file, 5 if turn else 2))
            board.remove_piece_at(chess.square(file, 6 if turn else 1))
    side = "w" if turn else "b"
    return f"{board.board_fen()} {side} {rights} {passed} {rng.randint(0, 160)} {rng.randint(0, 200)}"


def compare_random_positions(seed: int, count: int) -> Counter[chess.Status]:
    """Both answers for many positions; returns how often python-chess named each fault."""
    rng = random.Random(seed)
    faults: Counter[chess.Status] = Counter()
    for _ in range(count):
        fen = random_position(rng)
        if check(fen):
            faults[chess.STATUS_VALID] += 1
            moves = {move.uci() for move in chess.Board(fen).legal_moves}
            state = GAME.state(fen)
            assert state.is_over or {state.action_name(a) for a in state.legal_actions()} == moves
        status = chess.Board(fen).status()
        faults.update(flag for flag in FAULTS if status & flag)
    return faults


def test_random_positions() -> None:
    faults = compare_random_positions(0, 2500)
    assert all(faults[fault] >= 10 for fault in (chess.STATUS_VALID, *FAULTS)), faults


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_more_random_positions(seed: int) -> None:
    compare_random_positions(seed, 50_000)


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("", "4 to 6 words"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "white must have one king, not 0"),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "white must have one king, not 2"),
        ("4k3/8/8/8/8/8/8/4K2P w - - 0 1", "a pawn stands on the first or last rank"),
        ("4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1", "white has more than 8 pawns"),
        ("4k3/8/8/8/8/N7/NNNNNNNN/NNNNKNNN w - - 0 1", "white has more than 16 pieces"),
        ("4k3/8/8/8/8/8/8/4KR2 w K - 0 1", "castling right K needs the king on e1 and a rook on h1"),
        ("4k3/8/8/8/8/8/8/4K3 w kq - 0 1", "castling right k needs the king on e8 and a rook on h8"),
        ("4k3/8/8/8/8/8/8/4K3 w q - 0 1", "castling right q needs the king on e8 and a rook on a8"),
        ("4k3/8/8/8/8/8/8/4K3 w qk - 0 1", "letters of KQkq in that order, not 'qk'"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "no pawn can just have passed over e6"),
        ("4k3/8/8/4p3/8/8/8/4K3 b - e6 0 1", "a square of rank 3 (black is to move), not 'e6'"),
        ("4k3/8/8/8/8/8/8/4KR1R w - - 0 1 x", "4 to 6 words"),
        ("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "black is in check but white is to move"),
        ("4k3/8/8/8/8/3n1n2/8/r3K3 w - - 0 1", "a check that no move can have given"),
        ("4k3/8/8/8/8/8/8/r3K2r w - - 0 1", "a check that no move can have given"),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "the half-move clock must be a number from 0 to 9999, not '-1'"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 10000", "the move number must be a number from 0 to 9999, not '10000'"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "the side to move must be w or b, not 'x'"),
        ("4k3/8/8/8/8/8/44/4K3 w - - 0 1", "'4' does not fit on rank 2"),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", "rank 1 has more than 8 squares"),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "8 ranks of 8 squares"),
    ],
)
def test_refusals_say_why(fen: str, reason: str) -> None:
    with pytest.raises(rf.InvalidInput, match=re.escape(reason)):
        GAME.state(fen)


@pytest.mark.parametrize(
    "fen",
    [
        "4k3/8/8/8/8/2n1r3/8/4K3 w - - 0 1",  # one check
        "4k3/8/8/8/8/3n4/8/r3K3 w - - 0 1",  # two, one of them discovered
        "8/8/8/8/4k3/8/8/4K3 w - - 0 1",
        "k7/q2r3p/8/r5pK/8/8/8/8 w - g6 6 89",  # no game leads here either, but no check gives it away
    ],
)
def test_positions_that_pass(fen: str) -> None:
    assert check(fen)


def test_a_long_text_gives_a_short_message() -> None:
    with pytest.raises(rf.InvalidInput) as caught:
        GAME.state("x" * 1_000_000 + " w " + "é" * 1_000_000 + " -")
    assert len(str(caught.value)) < 400


def test_counters_may_be_left_out() -> None:
    assert GAME.state("4k3/8/8/8/8/8/8/4K2R w K -").fen == "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    assert GAME.state("4k3/8/8/8/8/8/8/4K2R w K - 7").fen == "4k3/8/8/8/8/8/8/4K2R w K - 7 1"
    assert GAME.state("4k3/8/8/8/8/8/8/4K2R w K - 7 0").fen == "4k3/8/8/8/8/8/8/4K2R w K - 7 1"


@pytest.mark.parametrize(
    ("fen", "count"),
    [
        ("3Q4/1Q4Q1/4Q3/2Q4R/Q4Q2/3Q4/1Q4Rp/1K1BBNNk w - - 0 1", 218),  # the most that a game can reach
        ("2QQ2K1/Q4Q2/2Q4Q/4Q3/1Q4Q1/3Q3Q/Q4Qpp/2QQ2nk w - - 0 1", 238),  # but a valid text can say this
    ],
)
def test_very_many_moves(fen: str, count: int) -> None:
    state = GAME.state(fen)
    assert len(state.legal_actions()) == state.perft(1) == count
    assert {state.action_name(a) for a in state.legal_actions()} == {m.uci() for m in chess.Board(fen).legal_moves}


def test_en_passant_square_is_kept_only_if_capturable() -> None:
    assert GAME.state("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1").fen.split()[3] == "d6"
    assert GAME.state("4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1").fen.split()[3] == "-"
    assert GAME.state("8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 1").fen.split()[3] == "-"  # it would open the rank
    assert GAME.initial_state().fen == START
    assert GAME.state(moves="e2e4").fen == "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
