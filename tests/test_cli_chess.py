"""Chess on the command line: lines in standard notation, chances, mates and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import chess
import pytest
from typer.testing import CliRunner

from ramify.chess import MaterialEvaluator
from ramify.cli.app import app

SCHOLAR = "e4 e5 Bc4 Nc6 Qh5 Nf6"  # Qxf7 mates


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, ["analyze", "chess", "--network", "material", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_lines_are_in_standard_notation(tmp_path: Path) -> None:
    picture = tmp_path / "lines.svg"
    given = ("--actions", "e4 e5 Nf3", "--multipv", "3", "--simulations", "300")
    data = json.loads(run(*given, "--json"))
    rows = data["players"][0]["actions"]
    assert len(rows) == 3
    for row in rows:
        board = chess.Board()
        for san in ("e4", "e5", "Nf3"):
            board.push_san(san)
        assert [board.san_and_push(chess.Move.from_uci(name)) for name in row["continuation"]] == row["san_line"]
        assert row["san"] == row["san_line"][0]
        win, draw, loss = row["win_draw_loss"]
        assert win - loss == pytest.approx(row["value"])
        assert win + draw + loss == pytest.approx(1.0)
    shown = run(*given, "--svg", str(picture)).splitlines()
    head = next(line for line in shown if "visits" in line)
    for column in ("move", "visits", "value", "win draw loss", "prior", "continuation"):
        assert column in head
    best = next(line for line in shown if line.startswith("1 ") and "%" in line)
    assert best.split()[1] == rows[0]["san"]
    assert " ".join(rows[0]["san_line"][1:3]) in best
    words = [
        (text.text or "").replace("\xa0", " ")
        for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert any(f"1. {rows[0]['san']} (" in word for word in words)


def test_mates_are_named() -> None:
    shown = run("--actions", SCHOLAR, "-s", "solver=true", "--top", "2")
    assert any(
        line.split()[1:2] == ["Qxf7#"] and "mate 1" in line and "100   0   0" in line for line in shown.splitlines()
    )
    row = json.loads(run("--actions", SCHOLAR, "-s", "solver=true", "--json"))["players"][0]["actions"][0]
    assert (row["san"], row["mate"], row["win_draw_loss"]) == ("Qxf7#", 1, [1.0, 0.0, 0.0])


def test_without_python_chess_moves_are_in_uci_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chess", None)
    row = json.loads(run("--simulations", "20", "--json"))["players"][0]["actions"][0]
    assert "san" not in row
    assert len(row["name"]) == 4
    assert "win draw loss" in run("--simulations", "20")


def test_players_are_white_and_black() -> None:
    assert "White to move" in run("--simulations", "20")
    assert "Black to move" in run("--simulations", "20", "--actions", "e4")


def test_without_a_network_the_shipped_one_is_used_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def chess_evaluator(network: str | None) -> tuple[object, str]:
        asked.append(network)
        return MaterialEvaluator(), "chess"

    monkeypatch.setattr("ramify.chess.chess_evaluator", chess_evaluator)

    def last_line(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["analyze", *arguments])
        assert done.exit_code == 0, done.output
        return str(done.stdout.splitlines()[-1])

    assert "evaluated by the network chess; 1,000 simulations" in last_line("chess")
    assert asked == [None]
    assert "evaluated by random games; 20 simulations" in last_line(
        "chess", "--evaluator", "rollout", "--simulations", "20"
    )
    assert "evaluated by random games; 10,000 simulations" in last_line("tictactoe")
    assert "evaluated by uniform;" in last_line("hex", "--evaluator", "uniform", "--simulations", "20")
    assert asked == [None]
