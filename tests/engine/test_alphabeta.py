"""Alpha-beta in native games: it finds what plain minimax finds, solves and mates; and what its heuristics say."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.minimax import assert_finds_minimax, assert_line, best_actions, minimax, walk

pytestmark = pytest.mark.core
GOLDEN = Path(__file__).parents[1] / "golden"
CHESS = rf.make("chess")


def golden(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text().splitlines()]


GAMES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {  # depths, and the most random turns before
    "tictactoe": ("tictactoe", {}, (1, 2, 3, 4), 5),
    "connect four": ("connect_four", {}, (1, 2, 3, 4), 24),
    "hex 3x3": ("hex", {"size": 3}, (1, 2, 3, 4), 4),
    "hex 4x4": ("hex", {"size": 4}, (1, 2, 3), 7),
    "hex 4x4, deep": ("hex", {"size": 4}, (4,), 9),
    "hex with swap": ("hex", {"size": 3, "swap": True}, (1, 2, 3), 1),
    "chess": ("chess", {}, (1, 2), 60),
}


@pytest.mark.parametrize(("name", "depth"), [(name, depth) for name, case in GAMES.items() for depth in case[2]])
def test_it_finds_what_minimax_finds(name: str, depth: int) -> None:
    game, params, _, turns = GAMES[name]
    for seed in range(3 if name == "chess" else 5):
        state = walk(rf.make(game, **params), seed, int(np.random.default_rng(seed).integers(turns + 1)))
        assert_finds_minimax(state, depth)


@pytest.mark.parametrize("table", [1, 2, 100, 100_000])
@pytest.mark.parametrize(
    ("game", "depth", "turns"),
    [("chess", 4, 30), ("connect_four", 9, 12), ("hex", 4, 6)],
)
def test_a_table_of_any_size_changes_the_work_alone(game: str, depth: int, turns: int, table: int) -> None:
    rules = rf.make(game, **({"size": 5} if game == "hex" else {}))
    for seed in range(3):
        state = walk(rules, seed, turns)
        quiescence = seed != 0
        without = rf.alphabeta(state, depth=depth, table=0, quiescence=quiescence)
        found = rf.alphabeta(state, depth=depth, table=table, quiescence=quiescence)
        assert (found.value, found.plies) == (without.value, without.plies)


def test_the_table_saves_work() -> None:
    state = rf.make("connect_four").initial_state()
    assert rf.alphabeta(state, depth=9).nodes < 0.7 * rf.alphabeta(state, depth=9, table=0).nodes


def test_repetitions_are_kept_apart() -> None:
    """The white king wanders; the third time the position comes the game is drawn, and not the second time."""
    moves = ["e2e4", "e7e5", "g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1"]
    state = CHESS.state(moves=moves)  # type: ignore[attr-defined]  # f6g8 would repeat for the third time
    for depth in (1, 2, 3):
        best, equals = best_actions(state, depth)
        found = rf.alphabeta(state, depth=depth, quiescence=False)
        assert found.value[0] == pytest.approx(best.value, abs=1e-6)
        assert found.action in equals


# ---------- solved games ----------


def test_tictactoe_is_a_draw_and_that_is_known() -> None:
    found = rf.alphabeta(rf.make("tictactoe").initial_state(), depth=20)
    assert (found.value, found.plies, found.solved, found.depth) == ((0.0, 0.0), None, True, 9)


@pytest.mark.parametrize("width", [None, 8])
def test_solved_hex(width: int | None) -> None:
    rows = [row for row in golden("hex_solved.jsonl") if row["size"] == 4]
    assert len(rows) >= 40
    for row in rows:
        state = rf.make("hex", size=4).state(" ".join(row["moves"]))  # type: ignore[attr-defined]
        found = rf.alphabeta(state, depth=16, width=width)
        mover_wins = row["winner"] == row["to_move"]
        assert found.value[state.acting[0]] == (1 if mover_wins else -1)
        assert found.solved == (width is None)
        if mover_wins:
            assert state.action_name(found.action) in row["winning_moves"]


@pytest.mark.slow
def test_solved_hex_5x5() -> None:
    rows = [row for row in golden("hex_solved.jsonl") if row["size"] == 5 and len(row["moves"]) >= 4]
    assert len(rows) >= 40
    for row in rows:
        state = rf.make("hex", size=5).state(" ".join(row["moves"]))  # type: ignore[attr-defined]
        found = rf.alphabeta(state, depth=25, table=4_000_000)
        assert found.value[state.acting[0]] == (1 if row["winner"] == row["to_move"] else -1)


def check_mates(mate_in: int, **settings: Any) -> None:
    rows = [row for row in golden("chess_mates.jsonl") if row["mate_in"] == mate_in]
    assert len(rows) >= 20
    for row in rows:
        state = CHESS.state(row["fen"])  # type: ignore[attr-defined]
        found = rf.alphabeta(state, depth=2 * mate_in - 1, **settings)
        assert found.plies == 2 * mate_in - 1
        assert found.value[state.acting[0]] == 1
        assert found.solved
        assert state.action_name(found.action) in row["winning_moves"]
        assert_line(state, found)
        shallow = rf.alphabeta(state, depth=2 * mate_in - 2, quiescence=False) if mate_in > 1 else None
        assert shallow is None or shallow.plies is None


@pytest.mark.parametrize("quiescence", [True, False])
@pytest.mark.parametrize("mate_in", [1, 2])
def test_mates(mate_in: int, quiescence: bool) -> None:
    check_mates(mate_in, quiescence=quiescence)


@pytest.mark.slow
@pytest.mark.parametrize("quiescence", [True, False])
def test_mates_in_three(quiescence: bool) -> None:
    check_mates(3, quiescence=quiescence)


def test_quiescence_sees_the_recapture() -> None:
    """The queen can take a pawn that another defends: at depth 1 only quiescence sees what it costs."""
    state = CHESS.state("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1")  # type: ignore[attr-defined]
    blind, seeing = (rf.alphabeta(state, depth=1, quiescence=quiescence) for quiescence in (False, True))
    assert state.action_name(blind.action) == "e2e5"
    assert state.action_name(seeing.action) != "e2e5"


def test_in_check_quiescence_looks_at_every_answer() -> None:
    """After 1. Qxf7 the king is mated: quiescence sees no way out though the depth is used up."""
    state = CHESS.state("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 1")  # type: ignore[attr-defined]
    assert state.action_name(rf.alphabeta(state, depth=1).action) == "f3f7"


# Columns as played from the start, the mover's best, and the plies to the end: each found by looking at the board.
TACTICS = [
    ("d a d a d", {"d"}, None),  # o has to close the column
    ("d a d a d b", {"d"}, 1),  # x completes it
    ("c c d d", {"b", "e"}, 3),  # three in a row with both ends open
]


@pytest.mark.parametrize(("played", "best", "plies"), TACTICS)
def test_connect_four_tactics(played: str, best: set[str], plies: int | None) -> None:
    state = rf.make("connect_four").state(played)  # type: ignore[attr-defined]
    found = rf.alphabeta(state, depth=6)
    assert state.action_name(found.action) in best
    if plies is not None:
        assert found.plies == plies


def test_a_lost_game_is_dragged_out() -> None:
    state = rf.make("connect_four").state("c c d d e")  # type: ignore[attr-defined]  # b and f both win for x
    found = rf.alphabeta(state, depth=6, ties=True)
    best, equals = best_actions(state, 4)
    assert found.value == (1, -1)
    assert found.plies == best.plies == 2
    assert sorted(found.actions) == equals


# ---------- limits ----------


@pytest.mark.parametrize("game", ["chess", "hex", "connect_four"])
def test_node_and_depth_limits_are_repeatable(game: str) -> None:
    state = walk(rf.make(game), 3, 8)
    for limits in ({"nodes": 1}, {"nodes": 777}, {"nodes": 20_000}, {"depth": 2}):
        first, second = (rf.alphabeta(state, **limits) for _ in range(2))
        assert {**vars(first), "seconds": 0} == {**vars(second), "seconds": 0}
        assert first.nodes <= limits.get("nodes", first.nodes)
        assert first.action in state.legal_actions()
    assert rf.alphabeta(state, nodes=1).depth == 0


def test_other_threads_run_meanwhile() -> None:
    done = threading.Event()
    worker = threading.Thread(target=lambda: (rf.alphabeta(CHESS.initial_state(), seconds=0.5), done.set()))
    worker.start()
    turns = 0
    while not done.is_set():
        time.sleep(0.01)
        turns += 1
    worker.join()
    assert turns > 10


def test_other_signals_pass() -> None:
    def handler(*_: Any) -> None:
        raise LookupError("from a signal")

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(LookupError, match="from a signal"):
            rf.alphabeta(CHESS.initial_state(), seconds=60)
    finally:
        signal.signal(signal.SIGALRM, previous)


# ---------- heuristics ----------


@pytest.mark.parametrize("size", [2, 3, 5, 8, 11, 19])
def test_the_hex_heuristic_is_the_two_distance(size: int) -> None:
    """Against the definition, cell by cell, from nothing but the picture of the board."""
    game = rf.make("hex", size=size)
    for seed in range(6 if size < 11 else 2):
        state = walk(game, seed, size * size * (seed + 1) // 9)
        board = state.fields["board"]  # type: ignore[attr-defined]
        turned = ["".join("xo."["ox.".index(board[c][r])] for c in range(size)) for r in range(size)]
        (least0, ways0), (least1, ways1) = two_distance(board), two_distance(turned)
        lead = 100 * (least1 - least0) + ways0 - ways1
        assert state.heuristic == pytest.approx(lead / (abs(lead) + 200), abs=1e-6)  # type: ignore[attr-defined]


def two_distance(board: list[str]) -> tuple[int, int]:
    """The least sum of x's distances to the top and the bottom over the empty cells, and how many attain it."""
    size = len(board)
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1))

    def beside(cell: tuple[int, int]) -> set[tuple[int, int]]:
        near = {(cell[0] + down, cell[1] + right) for down, right in steps}
        return {(r, c) for r, c in near if r in (-1, size) or (0 <= r < size and 0 <= c < size and board[r][c] != "o")}

    def neighbours(cell: tuple[int, int]) -> set[tuple[int, int]]:
        """Empty cells and edges (rows -1 and size) that the cell touches, over x's stones too."""
        reached, front = {cell}, [cell]
        while front:
            fresh = beside(front.pop()) - reached
            reached |= fresh
            front += [(r, c) for r, c in fresh if 0 <= r < size and board[r][c] == "x"]
        return {(r, c) for r, c in reached if r in (-1, size) or board[r][c] == "."} - {cell}

    empty = [(r, c) for r in range(size) for c in range(size) if board[r][c] == "."]
    links = {cell: neighbours(cell) for cell in empty}
    sums = dict.fromkeys(empty, 0)
    for edge in (-1, size):
        distance = {cell: 1 if any(r == edge for r, _ in links[cell]) else 200 for cell in empty}
        for _ in empty:
            for cell in empty:
                inner = sorted(distance[n] for n in links[cell] if n in distance)
                if distance[cell] != 1 and len(inner) > 1:
                    distance[cell] = min(distance[cell], inner[1] + 1)
        for cell in empty:
            sums[cell] += distance[cell]
    least = min([200, *sums.values()])
    return least, sum(value == least for value in sums.values())


def test_heuristics_stay_within_a_win_and_turn_with_the_board() -> None:
    for name in ("connect_four", "hex", "chess"):
        game = rf.make(name)
        for seed in range(40):
            state = walk(game, seed, 3 * seed // 2)
            assert abs(state.heuristic) < 1  # type: ignore[attr-defined]
            for k in range(len(game.symmetries)):
                assert state.transform(k).heuristic == state.heuristic  # type: ignore[attr-defined]
    white = CHESS.state("4k3/8/8/8/3P4/8/8/4K3 w - - 0 1").heuristic  # type: ignore[attr-defined]
    black = CHESS.state("4k3/8/8/3p4/8/8/8/4K3 b - - 0 1").heuristic  # type: ignore[attr-defined]
    assert white == -black > 0
    assert rf.make("tictactoe").initial_state().heuristic is None
    assert rf.make("hex", size=3).state("a1 a2 b1 b2 a3 c2").heuristic == 0  # type: ignore[attr-defined]  # over


def test_connect_four_counts_what_completes_a_line() -> None:
    """x has three in the bottom row, and the cell beside them is free."""
    game = rf.make("connect_four")
    three = game.state("a a b b c c")  # type: ignore[attr-defined]  # both have three: d1 is x's row, d2 o's
    assert three.heuristic == 0
    alone = game.state("a a b b c g")  # type: ignore[attr-defined]
    assert alone.heuristic > 0.2
    assert minimax(alone, 1).value == 1


def test_a_function_stops_the_search() -> None:
    """From any thread: it is asked while the search runs, and what was found so far is the answer."""
    asked: list[int] = []

    def stop() -> bool:
        asked.append(threading.get_ident())
        return len(asked) == 3

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(rf.alphabeta(CHESS.initial_state(), seconds=60, stop=stop)))
    thread.start()
    thread.join(50)
    assert len(asked) == 3
    assert set(asked) == {thread.ident}
    (result,) = found
    assert (result.stopped, result.interrupted) == (True, False)
    assert result.depth > 0
    assert result.action in CHESS.initial_state().legal_actions()
    assert not rf.alphabeta(CHESS.initial_state(), depth=1, stop=lambda: True).stopped  # over before it is asked
    with pytest.raises(ZeroDivisionError):
        rf.alphabeta(CHESS.initial_state(), seconds=60, stop=lambda: bool(1 / 0))
