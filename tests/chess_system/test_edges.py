"""Repetition, fifty moves and stalemate in searches of chess: as trees and as graphs."""

from __future__ import annotations

from typing import Any

import pytest

import ramify as rf

pytestmark = pytest.mark.core

GAME: Any = rf.make("chess")
BOTH = pytest.mark.parametrize("graph", [False, True])
QUEEN = "7k/8/8/5K2/6Q1/8/8/8 w - - 0 1"  # mate in two


def prove(state: rf.State, simulations: int, graph: bool) -> rf.SearchResult:
    return rf.search(state, rf.evaluators.Uniform(), simulations=simulations, solver=True, graph=graph)


def edge(state: rf.State, result: rf.SearchResult, move: str) -> tuple[float, float]:
    """Proven bounds of a move for the player to move."""
    assert result.proof is not None
    player = result.acting[0]
    place = result.outcomes[player].tolist().index(state.action(move))
    low, high = result.proof.edges[:, player].reshape(2, -1)[:, place]
    return float(low), float(high)


def minimax(state: Any) -> int:
    """The result with best play for player 0, by looking at everything."""
    if state.is_over:
        return int(state.returns[0])
    found = [minimax(state.after(int(action))) for action in state.legal_actions()]
    return max(found) if state.acting == (0,) else min(found)


# --- repetition ---


@BOTH
@pytest.mark.parametrize("moves", ["", "h5e8 g8h7 e8h5 h7g8"])
def test_perpetual_check_saves_a_lost_game(graph: bool, moves: str) -> None:
    """White, who will be mated, checks on e8 and h5 for ever: the draw is proven, whatever else would lose."""
    state = GAME.state("6k1/6p1/8/7Q/8/8/q1r5/7K w - - 0 1", moves=moves)
    result = prove(state, 10_000, graph)
    assert result.proof is not None
    assert result.proof.bounds[0, 0] == 0.0
    assert state.action_name(result.best_action) == "h5e8"
    quiet = state.after("h5h3")
    assert rf.alphabeta(quiet, depth=3).value[1] == 1.0  # otherwise it is mate


@BOTH
def test_the_winner_avoids_a_repetition(graph: bool) -> None:
    """After this move black could go back to a position for the third time; another one mates."""
    state = GAME.state(QUEEN, moves="g4g3 h8h7 g3g4 h7h8 g4g3 h8h7")
    drawing = state.after("g3g4")
    assert drawing.after("h7h8").fields["reason"] == "threefold_repetition"
    result = prove(state, 20_000, graph)
    assert result.proven is not None
    assert result.proven[0] == 1.0
    assert state.action_name(result.best_action) != "g3g4"
    assert edge(state, result, "g3g4")[1] <= 0.0 or result.visit_counts[state.action("g3g4")] == 0
    taken = prove(drawing, 20_000, graph)  # and black would take it
    assert taken.proven is not None
    assert taken.proven.tolist() == [0.0, 0.0]
    assert drawing.action_name(taken.best_action) == "h7h8"


@BOTH
def test_a_repetition_by_two_orders_of_moves(graph: bool) -> None:
    """The same diagram for the third time is a draw by either order of moves; by an order that passes through other
    positions it is not. What is proven on one way must not be believed on the other."""
    start = "k7/8/8/8/8/8/6R1/K7 w - - 0 1"
    first = "g2g3 a8a7 g3g2 a7a8"  # two ways back to the start
    second = "a1b1 a8b8 b1a1 b8a8"
    for moves in (f"{first} {second}", f"{second} {first}"):
        assert GAME.state(start, moves=moves).fields["reason"] == "threefold_repetition"
    for history in (first, second):
        for move, reply, back in (("g2g3", "a8a7", "g3g2"), ("a1b1", "a8b8", "b1a1")):
            state = GAME.state(start, moves=f"{history} {move} {reply} {back}")
            result = prove(state, 3000, graph)
            repeating = reply[2:] + "a8"
            assert edge(state, result, repeating) == (0.0, 0.0)
            drawn = [name for name in names(state) if edge(state, result, name) == (0.0, 0.0)]
            assert drawn == [name for name in names(state) if state.after(name).is_over]


def names(state: Any) -> list[str]:
    return [state.action_name(int(action)) for action in state.legal_actions()]


@BOTH
@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        ("k7/8/8/3K4/8/8/6R1/8 w - - 96 60", ""),
        ("k7/8/1K6/8/8/8/6R1/8 b - - 96 60", ""),
        ("k7/8/8/8/8/8/6R1/K7 w - - 92 60", "g2g3 a8a7 g3g2 a7a8"),
        ("k7/8/8/8/8/8/6R1/K7 w - - 92 60", "a1b1 a8b8 b1a1 b8a8"),
    ],
)
def test_proofs_are_what_looking_at_everything_finds(graph: bool, fen: str, moves: str) -> None:
    """A king and a rook, four plies before the fifty-move rule ends the game, with and without a history."""
    state = GAME.state(fen, moves=moves)
    result = prove(state, 100_000, graph)
    assert result.proven is not None
    assert int(result.proven[0]) == minimax(state)


# --- fifty moves ---


@BOTH
@pytest.mark.parametrize(("clock", "result"), [(96, 1), (97, 1), (98, 0), (99, 0)])
def test_mate_has_to_come_before_the_fiftieth_move(graph: bool, clock: int, result: int) -> None:
    """Mate in two takes three plies: the hundredth may mate, a hundred and first does not exist."""
    state = GAME.state(QUEEN.replace("0 1", f"{clock} 80"))
    found = prove(state, 5000, graph)
    assert found.proven is not None
    assert int(found.proven[0]) == result
    assert result == 1 or minimax(state) == 0


@BOTH
def test_a_pawn_move_starts_the_count_again(graph: bool) -> None:
    state = GAME.state("7k/8/8/3K4/8/8/P7/6R1 w - - 99 80")
    result = prove(state, 500, graph)
    for name in names(state):
        assert edge(state, result, name) == ((-1.0, 1.0) if name.startswith("a2") else (0.0, 0.0))
    assert result.proof is not None
    assert result.proof.bounds[0, 0] == 0.0


# --- stalemate ---


@BOTH
def test_stalemate_is_a_draw_that_the_winner_avoids(graph: bool) -> None:
    state = GAME.state("7k/5K2/8/6Q1/8/8/8/8 w - - 0 1")
    assert state.after("g5g6").fields["reason"] == "stalemate"
    result = prove(state, 100, graph)
    assert result.proven is not None
    assert result.proven[0] == 1.0
    assert state.after(result.best_action).fields["reason"] == "checkmate"


@BOTH
def test_the_loser_forces_stalemate(graph: bool) -> None:
    """Black's king cannot move, and the rook offers itself: whoever takes it takes the last move away."""
    state = GAME.state("7k/1Q5P/7K/7P/8/8/8/6r1 b - - 0 1")
    offered = state.after("g1g6")
    assert names(offered) == ["h5g6", "h6g6"]
    assert {offered.after(name).fields["reason"] for name in names(offered)} == {"stalemate"}
    result = prove(state, 1000, graph)
    assert result.proof is not None
    assert result.proof.bounds[0, 1] == 0.0
    assert state.action_name(result.best_action) == "g1g6"
    assert rf.alphabeta(state.after("g1f1"), depth=1).value[0] == 1.0  # any other move is mated at once
