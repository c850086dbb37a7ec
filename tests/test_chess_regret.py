"""What moves give away: nothing for who plays the best ones, and as much as the engine says for who does not."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ramify as rf

pytest.importorskip("torch")
pytest.importorskip("chess")

from tools.chess_regret import expected_score, label, losses, score

ENGINE = Path(__file__).parent / "protocols" / "fake_teacher.py"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"


class Plays:
    """Plays one given action in every position."""

    def __init__(self, action: int) -> None:
        self.chosen = action

    def run_many(self, states: list[Any]) -> list[Plays]:
        return [self for _ in states]

    def action(self) -> int:
        return self.chosen


def chess_state(fen: str) -> Any:
    game: Any = rf.make("chess")
    return game.state(fen)


def test_expected_scores_are_those_of_elo() -> None:
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert expected_score(-400) == pytest.approx(1 / 11)


def test_the_loss_is_what_the_best_move_has_more() -> None:
    state = chess_state(MATE_IN_ONE)
    best, other = int(state.action("e1e8")), int(state.action("e1e2"))
    positions = [(state, {best: 0.9, other: 0.4})]
    assert losses(Plays(best), positions).tolist() == [0.0]
    assert losses(Plays(other), positions).tolist() == [0.5]


def test_positions_of_an_engine_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "positions.jsonl"
    label(argparse.Namespace(file=file, positions=3, engine=f"{sys.executable} {ENGINE}", nodes=10, seed=1))
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(found) == 3
    for entry in found:
        state = chess_state(entry["fen"])
        assert len(entry["scores"]) == len(state.legal_actions())
    network = str(rf.networks.save(tmp_path / "small", rf.networks.make(rf.make("chess"), "1x8")))
    tries = ["c_puct=1.4", "c_puct=1.4", "c_puct=3,fpu=zero"]
    results = tmp_path / "rows.jsonl"
    score(
        argparse.Namespace(
            file=file, network=network, positions=None, simulations=[8], tries=tries, device="cpu", results=results
        )
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["settings"] for row in rows] == tries
    assert rows[0]["loss"] == rows[1]["loss"] >= 0
    assert rows[0]["difference"] == rows[1]["difference"] == 0
    assert len(results.read_text(encoding="utf-8").splitlines()) == 3
