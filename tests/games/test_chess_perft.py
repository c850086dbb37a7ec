"""Move generation against Stockfish's counts and exhaustively searched mates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ramify as rf

pytestmark = pytest.mark.core

GOLDEN = Path(__file__).parents[1] / "golden"
POSITIONS = json.loads((GOLDEN / "chess_perft.json").read_text())["positions"]
MATES = [json.loads(line) for line in (GOLDEN / "chess_mates.jsonl").read_text().splitlines()]
QUICK = 20_000_000  # leaves

COUNTS = [
    pytest.param(name, int(depth), count, id=f"{name}-{depth}", marks=[pytest.mark.slow] if count > QUICK else [])
    for name, position in POSITIONS.items()
    for depth, count in position["perft"].items()
]


@pytest.mark.parametrize(("name", "depth", "count"), COUNTS)
def test_perft(name: str, depth: int, count: int) -> None:
    assert rf.make("chess").state(POSITIONS[name]["fen"]).perft(depth) == count


@pytest.mark.parametrize("name", POSITIONS)
def test_divide(name: str) -> None:
    state = rf.make("chess").state(POSITIONS[name]["fen"])
    for depth, expected in POSITIONS[name]["divide"].items():
        found = {}
        for action in state.legal_actions():
            child = state.copy()
            child.apply(action)
            found[state.action_name(action)] = child.perft(int(depth) - 1)
        assert found == expected


def test_perft_of_no_moves_is_one() -> None:
    state = rf.make("chess").initial_state()
    assert state.perft(0) == 1


@pytest.mark.parametrize("name", ["chess", "tictactoe", "goofspiel"])
@pytest.mark.parametrize("depth", [-1, -(2**31), 129, 2**31 - 1])
def test_perft_of_an_absurd_depth_is_refused(name: str, depth: int) -> None:
    with pytest.raises(rf.InvalidInput, match=f"depth of perft must be from 0 to 128, not {depth}"):
        rf.make(name).initial_state().perft(depth)


def test_perft_ignores_draws() -> None:
    """A position that is over by the rules still has moves; counts of moves are about moves."""
    state = rf.make("chess").state("4k3/8/8/8/8/8/8/4K2R w - - 100 80")
    assert state.reason == "fifty_moves"
    assert len(state.legal_actions()) == 0
    assert state.perft(1) == 14


def mates_within(state: rf.State, moves: int) -> bool:
    """Whether the player to move can force mate in at most that many moves."""
    return any(forces(state, action, moves) for action in state.legal_actions())


def forces(state: rf.State, action: int, moves: int) -> bool:
    child = state.copy()
    child.apply(action)
    if child.is_over:
        return child.reason == "checkmate"
    if moves == 1:
        return False
    for reply in child.legal_actions():
        grandchild = child.copy()
        grandchild.apply(reply)
        if grandchild.is_over or not mates_within(grandchild, moves - 1):
            return False
    return True


@pytest.mark.parametrize(
    "mate",
    [
        pytest.param(
            mate,
            id=f"{index}-mate-in-{mate['mate_in']}",
            marks=[pytest.mark.slow] if mate["mate_in"] > 2 else [],
        )
        for index, mate in enumerate(MATES)
    ],
)
def test_forced_mates(mate: dict) -> None:
    state = rf.make("chess").state(mate["fen"])
    actions = state.legal_actions()
    assert len(actions) == mate["n_legal"]
    winning = {state.action_name(action) for action in actions if forces(state, action, mate["mate_in"])}
    assert winning == set(mate["winning_moves"])


@pytest.mark.parametrize("mate", [mate for mate in MATES if mate["mate_in"] == 1], ids=lambda mate: mate["fen"])
def test_mate_pays_the_mover(mate: dict) -> None:
    for name in mate["winning_moves"]:
        state = rf.make("chess").state(mate["fen"])
        winner = state.acting[0]
        rewards = state.apply(state.action(name))
        assert rewards[winner] == 1
        assert rewards[1 - winner] == -1
        assert (state.returns == rewards).all()
        assert state.acting == ()
        assert "checkmate" in str(state)
        assert (rf.make("chess").state(state.fen).returns == rewards).all()
