"""``ramify uci``: mates that it announces, and values as scores."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from ramify.chess import centipawns, win_draw_loss
from ramify.protocols.mates import Mate, find_mate, shorter_mate
from tests.protocols.uci_session import MATE_IN_TWO, PATIENCE, Session, infos

GOLDEN = Path(__file__).parent.parent / "golden"


def test_mates_are_announced_and_the_shortest_is_played(session: Session) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "chess_mates.jsonl").read_text().splitlines()]
    for row in [row for row in rows if row["mate_in"] < 3][::5] + [row for row in rows if row["mate_in"] == 3][::5]:
        session.send("ucinewgame", f"position fen {row['fen']}")
        lines = session.go("go movetime 5000")
        assert infos(lines)[-1]["mate"] == row["mate_in"], row["fen"]
        assert lines[-1].split()[1] in row["winning_moves"], row["fen"]


def test_a_mate_that_cannot_be_avoided_is_announced(session: Session) -> None:
    session.send(MATE_IN_TWO + " moves f5f6")
    shown = infos(session.go("go movetime 2000"))[-1]
    assert (shown["mate"], shown["wdl"]) == (-1, [0, 0, 1000])


def test_go_mate(session: Session) -> None:
    session.send(MATE_IN_TWO)
    shown = infos(session.go("go mate 2"))[-1]
    assert (shown["mate"], len(shown["pv"])) == (2, 3)
    lines = session.go("go mate 1 nodes 50")  # there is none: the answer is that of an ordinary search
    assert lines[-1].startswith("bestmove ")


def test_the_solver_proves_mates_for_the_lines_it_shows(session: Session) -> None:
    """With some moves only there is no search for mates: the tree proves it."""
    session.send(MATE_IN_TWO)
    shown = infos(session.go("go searchmoves f5f6 nodes 5000"))[-1]
    assert (shown["mate"], shown["pv"][0], len(shown["pv"])) == (2, "f5f6", 3)


def test_a_longer_mate_is_shortened() -> None:
    state = rf.make("chess").state("7k/8/8/5K2/6Q1/8/8/8 w - - 0 1")  # type: ignore[attr-defined]
    known = Mate(5, ())
    assert shorter_mate(state, known, time.monotonic() + PATIENCE, lambda: False).moves == 2
    assert shorter_mate(state, known, time.monotonic() - 1, lambda: False) is known
    assert find_mate(state, moves=1) is None
    assert find_mate(rf.make("chess").initial_state(), stop=lambda: True) is None  # without end, if it did not stop


def test_values_as_scores() -> None:
    assert [centipawns(value) for value in (-1.0, 0.0, 1.0)] == [-centipawns(1.0), 0, centipawns(1.0)]
    last = -1e9
    for value in np.linspace(-1, 1, 41):
        win, draw, loss = win_draw_loss(float(value))
        assert win + draw + loss == pytest.approx(1.0)
        assert win - loss == pytest.approx(float(value), abs=1e-9)
        assert min(win, draw, loss) >= 0
        assert centipawns(float(value)) > last
        last = centipawns(float(value))
    assert win_draw_loss(0.0)[1] > win_draw_loss(0.8)[1]
