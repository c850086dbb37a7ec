"""The measures of chess networks: who knows the best moves finds all of them, and a match against an engine counts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import pytest

import ramify as rf

pytest.importorskip("torch")
pytest.importorskip("chess")

from ramify.arena import MatchConfig, Openings, ParallelSettings
from tools.chess_strength import best_positions, level_at, level_rows, share_found
from tools.result_rows import add_row
from tools.timed_match import timed_match

ENGINE = Path(__file__).parent / "protocols" / "fake_uci.py"


class Knows:
    """Chooses the best action of the first positions, and another action in the rest."""

    def __init__(self, positions: list[tuple[Any, int]], right: int) -> None:
        self.best, self.right = {state.fen: best for state, best in positions}, right

    def run_many(self, states: list[Any]) -> list[Any]:
        return [Chosen(self._choice(number, state)) for number, state in enumerate(states)]

    def _choice(self, number: int, state: Any) -> int:
        best = self.best[state.fen]
        return best if number < self.right else next(a for a in state.legal_actions().tolist() if a != best)


class Chosen:
    def __init__(self, chosen: int) -> None:
        self.chosen = chosen

    def action(self) -> int:
        return self.chosen


def test_the_share_of_best_moves() -> None:
    positions = best_positions()
    assert len(positions) == 200
    assert all(best in state.legal_actions() for state, best in positions)
    assert share_found(Knows(positions, 200), positions) == 1.0
    assert share_found(Knows(positions, 50), positions) == 0.25


def test_the_level_of_an_even_score() -> None:
    assert level_at(2000, 0.5) == 2000
    assert level_at(2000, 10 / 11) == pytest.approx(2400)
    assert level_at(2000, 0.0) < 1000


def test_rows_against_levels_are_kept(tmp_path: Path) -> None:
    module = rf.networks.make(rf.make("chess"), "1x8")
    network = str(rf.networks.save(tmp_path / "small", module))
    given = argparse.Namespace(
        network=network,
        simulations=[1],
        levels=[1500],
        games=2,
        engine=f"{sys.executable} {ENGINE}",
        seconds=0.01,
        opening="random:4",
        workers=0,
        copies=1,
        concurrency=1,
        device=None,
        set=[],
        seed=0,
        max_seconds=None,
        results=tmp_path / "rows.jsonl",
    )
    (row,) = level_rows(given)
    assert row["wins"] + row["draws"] + row["losses"] == 2
    add_row(given.results, row)
    assert list(level_rows(given)) == []


def test_a_match_ends_in_time_with_whole_pairs() -> None:
    game = rf.make("tictactoe")
    how = {"config": MatchConfig(Openings("random:1"), 0), "parallel": ParallelSettings(1)}
    assert len(timed_match(game, "random", "random", 6, **how)) == 6
    found = timed_match(game, "random", "random", 1000, **how, seconds=0.0)
    assert len(found) < 4
    assert len(found) % 2 == 0
