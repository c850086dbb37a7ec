"""Chess rule by rule: endings, keys, histories, names, pictures."""

from __future__ import annotations

import builtins
import copy
import pickle
import random
import re
from typing import Any
from xml.etree import ElementTree

import chess
import numpy as np
import pytest

import ramify as rf

pytestmark = pytest.mark.core

GAME = rf.make("chess")
SHUFFLE = "g1f3 g8f6 f3g1 f6g8"  # back where it began


def after(moves: str, fen: str = chess.STARTING_FEN, **params: Any) -> rf.State:
    return rf.make("chess", **params).state(fen, moves=moves)


def test_shape_and_parameters() -> None:
    assert GAME.num_actions == 8 * 8 * 73
    assert GAME.observation_shape == (22, 8, 8)
    assert not GAME.simultaneous
    assert [symmetry.name for symmetry in GAME.symmetries] == ["identity"]
    assert GAME.params == {"draws": "claimed"}
    assert GAME.state_bytes <= 400
    with pytest.raises(ValueError, match="draws"):
        rf.make("chess", draws="never")


# --- actions ---


@pytest.mark.parametrize(
    ("fen", "name", "action"),
    [
        (chess.STARTING_FEN, "e2e4", 73 * 12 + 1),
        (chess.STARTING_FEN, "g1f3", 73 * 6 + 56 + 7),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "e7e5", 73 * 12 + 1),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "g8h6", 73 * 6 + 56),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", 73 * 4 + 7 * 2 + 1),
        ("r3k3/8/8/8/8/8/8/4K3 b q - 0 1", "e8c8", 73 * 4 + 7 * 6 + 1),
        ("3rk3/4P3/8/8/8/8/8/4K3 w - - 0 1", "e7d8q", 73 * 52 + 7 * 7),
        ("3rk3/4P3/8/8/8/8/8/4K3 w - - 0 1", "e7d8n", 73 * 52 + 64),
        ("3rk3/4P3/8/8/8/8/8/4K3 w - - 0 1", "e7d8r", 73 * 52 + 70),
        ("4k3/8/8/8/8/8/4p3/K4R2 b - - 0 1", "e2e1b", 73 * 52 + 68),
        ("4k3/8/8/8/8/8/4p3/K4R2 b - - 0 1", "e2f1b", 73 * 52 + 69),
        ("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", "a1h8", 7 + 6),
    ],
)
def test_action_layout(fen: str, name: str, action: int) -> None:
    state = GAME.state(fen)
    assert state.action(name) == action
    assert state.action_name(action) == name


def test_every_action_has_a_name() -> None:
    """Also those that are not legal, and those that leave the board."""
    state = GAME.state("4k3/P7/8/8/8/8/p7/4K3 w - - 0 1")
    for player in (0, 1):
        names = [state.action_name(action, player) for action in range(GAME.num_actions)]
        assert all(re.fullmatch("[a-h][1-8][a-h][1-8][nbrq]?|off board", name) for name in names)
        assert names.count("off board") > 1000
    assert state.action_name(73 * 48, 0) == "a7a8q"
    assert state.action_name(73 * 48, 1) == "a2a1q"


def test_illegal_actions_are_refused_and_change_nothing() -> None:
    state = GAME.initial_state()
    before = state.key
    for action in (0, 73 * 12 + 2, -1, 4672):
        with pytest.raises(rf.IllegalAction):
            state.apply(action)
    with pytest.raises(rf.IllegalAction, match="e2e5"):
        state.action("e2e5")
    assert state.key == before


# --- endings ---


def test_threefold_repetition_ends_the_game() -> None:
    state = after(f"{SHUFFLE} g1f3 g8f6 f3g1")
    assert state.reason is None
    state.apply(state.action("f6g8"))
    assert (state.reason, state.is_over, state.returns.tolist()) == ("threefold_repetition", True, [0, 0])
    assert str(state).endswith("draw: threefold repetition")
    with pytest.raises(rf.IllegalAction, match="over"):
        state.apply(state.game.initial_state().action("e2e4"))


def test_automatic_draws_wait_for_the_fifth_time() -> None:
    state = after(" ".join([SHUFFLE] * 4)[: -len(" f6g8")], draws="automatic")
    assert state.reason is None
    state.apply(state.action("f6g8"))
    assert state.reason == "fivefold_repetition"


def test_lost_rights_and_a_lost_en_passant_make_positions_different() -> None:
    """The same pieces on the same squares, but the first time castling, or en passant, was possible."""
    rook = "4k3/7p/8/8/8/8/P7/4K2R w K - 0 1"
    tour = "h1g1 e8d8 g1h1 d8e8 h1g1 e8d8 g1h1 d8e8"
    assert after(tour, rook).reason is None
    assert after(f"{tour} h1g1", rook).reason == "threefold_repetition"
    pawn = "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1"
    tour = "d7d5 e1d1 e8d8 d1e1 d8e8 e1d1 e8d8 d1e1 d8e8"
    assert after(tour, pawn).reason is None
    assert after(f"{tour} e1d1", pawn).reason == "threefold_repetition"


@pytest.mark.parametrize(
    ("draws", "clock", "reason"), [("claimed", 100, "fifty_moves"), ("automatic", 150, "seventy_five_moves")]
)
def test_the_clock(draws: str, clock: int, reason: str) -> None:
    game = rf.make("chess", draws=draws)
    assert game.state(f"4k3/8/8/8/8/8/P7/4K2R w - - {clock - 1} 90").reason is None
    state = game.state(f"4k3/8/8/8/8/8/P7/4K2R w - - {clock - 1} 90", moves="h1g1")
    assert (state.reason, state.returns.tolist()) == (reason, [0, 0])
    assert game.state(f"4k3/8/8/8/8/8/P7/4K2R w - - {clock - 1} 90", moves="a2a3").reason is None
    assert game.state(f"4k3/8/8/8/8/8/P7/4K2R w - - {clock} 90").reason == reason
    mate = game.state(f"k7/8/1K6/8/8/8/8/7R w - - {clock - 1} 90", moves="h1h8")
    assert (mate.reason, mate.returns.tolist()) == ("checkmate", [1, -1])
    stalemate = game.state(f"k7/8/8/8/8/8/7Q/1K6 w - - {clock - 1} 90", moves="h2c7")
    assert stalemate.reason == "stalemate"


@pytest.mark.parametrize(
    "fen",
    [
        "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/8/4KN2 w - - 0 1",
        "4k3/8/8/8/8/8/8/4KNN1 w - - 0 1",
        "4k1n1/8/8/8/8/8/8/4KN2 w - - 0 1",
        "4kb2/8/8/8/8/8/8/4KN2 w - - 0 1",
        "4kb2/8/8/8/8/8/8/2B1K3 w - - 0 1",
        "4kb2/8/8/8/8/8/8/4KB2 w - - 0 1",
        "4k3/8/8/8/8/8/8/1BB1K1B1 w - - 0 1",
        "4k3/8/8/8/8/8/8/B1B1K1B1 w - - 0 1",
        "4k3/8/8/8/8/8/8/4KBN1 w - - 0 1",
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
        "4kq2/8/8/8/8/8/8/4KN2 w - - 0 1",
        "4k3/8/8/8/8/8/8/4K2R w - - 0 1",
    ],
)
def test_insufficient_material(fen: str) -> None:
    assert (GAME.state(fen).reason == "insufficient_material") == chess.Board(fen).is_insufficient_material()


def test_positions_that_are_over_already_have_paid() -> None:
    mated = GAME.state("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
    assert (mated.reason, mated.check, mated.returns.tolist()) == ("checkmate", True, [-1, 1])
    assert str(mated).endswith("checkmate: black wins")
    assert GAME.state("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").returns.tolist() == [0, 0]


# --- keys ---


def test_transpositions_share_a_key() -> None:
    one, other = after("g1f3 g8f6 b1c3"), after("b1c3 g8f6 g1f3")
    assert one.key == other.key
    assert one.observation().tolist() == other.observation().tolist()
    assert one.history_key != other.history_key  # they passed through different positions
    assert after("e2e4 e7e5 g1f3").key != after("g1f3 e7e5 e2e4").key  # the clocks differ
    assert after("e2e4 e7e6 d2d4").key == after("d2d4 e7e6 e2e4").key
    assert after("e2e4 e7e6 d2d4").history_key == after("d2d4 e7e6 e2e4").history_key  # nothing can come back


def test_what_the_key_covers() -> None:
    base = GAME.state("r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1")
    others = [
        "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq - 0 1",
        "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQk d6 0 1",
        "r3k2r/8/8/3pP3/8/8/8/R3K2R w Qkq d6 0 1",
        "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 1 1",
        "r3k2r/8/8/3pP3/8/8/8/R3K2R b KQkq - 0 1",
        "r3k2r/8/8/3pP3/8/8/8/R3K1R1 w Qkq d6 0 1",
    ]
    assert len({base.key, *(GAME.state(fen).key for fen in others)}) == 7
    assert GAME.state("r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 77").key == base.key  # the move number does not matter
    assert rf.make("chess", draws="automatic").state(base.fen).key != base.key


def test_a_repeated_position_has_another_key() -> None:
    fresh = GAME.state("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 3")
    again = after(SHUFFLE)
    assert fresh.fen == again.fen
    assert fresh.key != again.key
    assert fresh.observation()[12].max() == 0
    assert again.observation()[12].min() == 1


def test_equal_keys_can_have_different_histories() -> None:
    """The third position of each line repeats in one future and not in the other: only history_key tells."""
    one = after("b1c3 b8c6 c3b1 c6b8 e2e3 e7e6 b1c3 b8c6 c3d5 c6d4 d5c3 d4c6")
    other = after("b1c3 b8c6 c3b1 c6b8 e2e3 e7e6 b1c3 b8c6 c3e4 c6e5 e4c3 e5c6")
    assert one.fen == other.fen
    assert one.key == other.key
    assert one.history_key != other.history_key


def test_keys_of_a_game_never_come_back() -> None:
    """The clock is part of the key, so no line of play, however it shuffles, visits a key twice."""
    rng = random.Random(3)
    for _ in range(20):
        state = GAME.state("r5k1/8/8/8/8/8/8/1K5R w - - 0 1")
        seen = {state.key}
        while not state.is_over:
            state.apply(rng.choice(state.legal_actions().tolist()))
            assert state.key not in seen
            seen.add(state.key)


def test_keys_and_fens_agree_over_many_positions() -> None:
    """Equal keys mean equal positions, clocks and repetition counts, and the other way round."""
    rng = random.Random(7)
    by_key: dict[int, tuple[Any, ...]] = {}
    by_facts: dict[tuple[Any, ...], int] = {}
    positions = 0
    for _ in range(60):
        state = GAME.initial_state()
        for _ in range(60):
            if state.is_over:
                break
            state.apply(rng.choice(state.legal_actions().tolist()))
            planes = state.observation(0)
            facts = (state.fen.rsplit(" ", 1)[0], bool(planes[12].any()), bool(planes[13].any()))
            assert by_key.setdefault(state.key, facts) == facts
            assert by_facts.setdefault(facts, state.key) == state.key
            positions += 1
    assert len(by_key) < positions  # some were met twice


# --- states as data ---


def test_history_comes_back_from_fields() -> None:
    state = after(f"e2e4 e7e5 {SHUFFLE} g1f3")
    assert state.fields == {
        "fen": "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 5 4",
        "history": f"{SHUFFLE} g1f3",
        "last_move": "g1f3",
        "check": False,
        "reason": None,
    }
    again = GAME.state(**state.fields)
    for left, right in (
        (state, again),
        (state, copy.deepcopy(state)),
        (state, pickle.loads(pickle.dumps(state))),
    ):
        assert (left.key, left.history_key, left.fields) == (right.key, right.history_key, right.fields)
        right.apply(right.action("g8f6"))
        assert right.observation()[12].min() == 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"history": "g1f3"}, "1 moves do not fit a half-move clock of 0"),
        ({"fen": "4k3/8/8/8/8/8/P7/4K2R w - - 9 9", "history": "a2a3"}, "cannot be taken back"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R b - - 9 9", "history": "a2a3"}, "history must be"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R b - - 9 9", "history": "e2e1 e7e8"}, "cannot be taken back"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R w K - 9 9", "history": "e1e2 e8e7 e2e1 e7e8"}, "history must be"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R w - - 9 9", "history": "a5a1 e7e8"}, "cannot be taken back"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R b - - 9 9", "history": "b3h1"}, "'b3h1' is not a legal move"),
        ({"fen": "4k3/8/8/8/8/P7/8/4K2R b - - 9 9", "history": "h8h1"}, "before them, black is in check"),
        ({"fen": "4k3/8/8/8/8/8/8/4K2R b - - 9 9", "history": "castle"}, "cannot be taken back"),
        ({"fen": "4k3/8/8/8/8/8/8/4K2R b - - 9 9", "history": 7}, "must be a text or a list"),
        ({"fen": 7}, "fen must be a text, not 7"),
        ({"last_move": "e2e4"}, "last_move 'e2e4' does not lead to this position"),
        ({"last_move": "e9e4"}, "last_move must be a move in UCI notation"),
        ({"last_move": 5}, "last_move must be a text, not 5"),
        ({"check": True}, "check is False in this position, not True"),
        ({"reason": "stalemate"}, "reason is None in this position, not 'stalemate'"),
        ({"moves": "e2e4 e2e4"}, "'e2e4' is not a legal move"),
        ({"moves": "f2f3 e7e5 g2g4 d8h4 a2a3"}, "'a2a3' is not a legal move"),
        ({"moves": 3}, "must be a text or a list"),
        ({"board": "x"}, "a position has no part 'board'"),
    ],
)
def test_false_parts_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidInput, match=re.escape(message)):
        GAME.state(**parts)


def test_moves_may_be_names_or_actions() -> None:
    first = GAME.initial_state().action("e2e4")
    assert GAME.state(moves=[first, "e7e5"]).fen == after("e2e4 e7e5").fen
    assert GAME.state().fen == chess.STARTING_FEN


def test_the_longest_history_fits() -> None:
    """149 reversible moves without a fifth repetition, under the rules that allow them."""
    game = rf.make("chess", draws="automatic")
    state = game.state("8/8/8/3k4/8/8/8/RK6 w - - 0 1")
    rng = random.Random(1)
    while not state.is_over:
        quiet = []
        for action in state.legal_actions().tolist():
            child = state.copy()
            child.apply(action)
            if not child.is_over or child.reason == "seventy_five_moves":
                quiet.append(action)
        state.apply(rng.choice(quiet))
    assert state.reason == "seventy_five_moves"
    assert len(state.history.split()) == 150
    assert game.state(**state.fields).history_key == state.history_key
    assert state.copy().history == state.history


def test_copies_are_independent() -> None:
    state = after(SHUFFLE)
    twin = state.copy()
    fields, key = state.fields, state.history_key
    twin.apply(twin.action("e2e4"))
    assert (state.fields, state.history_key) == (fields, key)
    state.apply(state.action("d2d4"))
    assert twin.last_move == "e2e4"


# --- for people ---


def test_text() -> None:
    lines = str(after("e2e4 e7e5 d1h5 e8e7 h5e5")).splitlines()
    assert lines[0] == "8  r n b q . b n r"
    assert lines[7] == "1  R N B . K B N R"
    assert lines[8:] == ["   a b c d e f g h", "checkmate: white wins"]
    assert str(after("f2f3 e7e5 e1f2 d8h4")).endswith("white to move, in check")


def test_picture_shows_pieces_last_move_and_check() -> None:
    picture = ElementTree.fromstring(after("f2f3 e7e5 e1f2 d8h4").svg())
    paths = [node for node in picture if node.tag.endswith("path") and node.get("fill") != "none"]
    assert len(paths) == 32
    assert len([node for node in picture if node.get("fill") == "#e5c532"]) == 2
    assert len([node for node in picture if node.get("fill") == "#d8432b"]) == 1
    letters = {node.text for node in picture if node.tag.endswith("text")}
    assert letters == set("abcdefgh12345678")
    still = ElementTree.fromstring(GAME.initial_state().svg())
    assert not [node for node in still if node.get("fill") in ("#e5c532", "#d8432b")]


def test_board_counts_repetitions() -> None:
    board = after("e2e4 g8f6 g1f3 f6g8 f3g1").board
    assert board.is_repetition(2)
    assert [move.uci() for move in board.move_stack] == ["g8f6", "g1f3", "f6g8", "f3g1"]
    assert board.fullmove_number == 3
    board.push_uci("e7e5")  # the board is the caller's own


def test_board_without_python_chess(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def blocked(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "chess":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", blocked)
    with pytest.raises(ImportError, match=re.escape("pip install ramify[chess]")):
        _ = GAME.initial_state().board


def test_observation_is_a_copy_of_float32() -> None:
    planes = GAME.initial_state().observation()
    assert planes.dtype == np.float32
    planes[:] = 5
    assert GAME.initial_state().observation().max() == 1
