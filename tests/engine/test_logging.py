"""What the logger hears, and that listening changes nothing and not listening costs nothing."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

import ramify as rf
from ramify import _core
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk


def test_one_line_per_search(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ramify"):
        result = rf.search(tictactoe(), HashEvaluator(0), simulations=300)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    stats = result.stats
    text = record.getMessage()
    assert text.startswith(
        f"search tictactoe: 300 simulations, {stats['evaluations']} evaluations, {stats['nodes']} nodes"
    )
    assert f"value ({result.value[0]:+.3f}, {result.value[1]:+.3f})" in text
    with caplog.at_level(logging.INFO, "ramify"):
        searcher_of(tictactoe(), simulations=20).run_many([tictactoe()] * 3)
    assert len(caplog.records) == 4


@pytest.mark.parametrize("evaluator", [None, HashEvaluator(0)])
def test_every_simulation_of_a_small_search(evaluator: Any, caplog: pytest.LogCaptureFixture) -> None:
    state = tictactoe(4)
    with caplog.at_level(logging.DEBUG, "ramify"):
        traced = rf.search(state, evaluator, simulations=30)
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    for number in range(1, 31):
        mine = [line for line in lines if line.startswith(f"simulation {number}:")]
        (path,) = [line for line in mine if "path" in line]
        depths = [line for line in mine if "depth" in line]
        assert len(depths) == (1 if "(root)" in path else path.count(">") + 2)
        assert f"depth 0 visits={number} value=" in depths[0]
        scores = [line for line in mine if "scores of player 1 at the root" in line]
        assert len(scores) == (number > 1)
    last = f"simulation 30: depth 0 visits=30 value=({traced.value[0]:+.4f}, {traced.value[1]:+.4f})"
    assert last in lines
    assert_same_result(traced, rf.search(state, evaluator, simulations=30))


def test_the_path_is_where_the_best_score_leads(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ramify"):
        rf.search(tictactoe(), HashEvaluator(1), simulations=60)
    lines = [record.getMessage() for record in caplog.records]
    for number in range(2, 61):
        (scores,) = [line for line in lines if line.startswith(f"simulation {number}: scores")]
        (path,) = [line for line in lines if line.startswith(f"simulation {number}: path")]
        table = {name: float(score) for name, score in re.findall(r"(\S+):(-?\d+\.\d+)", scores.split("root:")[1])}
        first = path.split("path ")[1].split(" > ")[0]
        assert table[first] == max(table.values())


def test_both_players_scores_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ramify"):
        rf.search(walk("pyrat zero-sum", 0), simulations=5)
    lines = [record.getMessage() for record in caplog.records]
    for player in (0, 1):
        assert sum(f"scores of player {player} at the root" in line for line in lines) == 4


@pytest.mark.parametrize("settings", [{"batch": 8}, {"threads": 2}, {"simulations": 201}])
def test_listening_never_changes_a_search(settings: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    def once() -> rf.SearchResult:
        return rf.search(walk("hex", 0), HashEvaluator(0), **{"simulations": 100, **settings})

    quiet = once()
    with caplog.at_level(logging.DEBUG, "ramify"):
        heard = once()
    assert not [record for record in caplog.records if record.levelno == logging.DEBUG]
    assert_same_result(quiet, heard)


@pytest.mark.parametrize(("level", "reports"), [(logging.WARNING, 1), (logging.INFO, 1), (logging.DEBUG, 100)])
def test_nothing_is_computed_that_nobody_hears(level: int, reports: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"report": 0, "last_path": 0}
    report, last_path = _core.Search.report, _core.Search.last_path

    def counted_report(search: Any, path: Any) -> Any:
        asked["report"] += 1
        return report(search, path)

    def counted_path(search: Any) -> Any:
        asked["last_path"] += 1
        return last_path.__get__(search)

    monkeypatch.setattr(_core.Search, "report", counted_report)
    monkeypatch.setattr(_core.Search, "last_path", property(counted_path))
    logger = logging.getLogger("ramify")
    before = logger.level
    try:
        logger.setLevel(level)
        rf.search(tictactoe(), HashEvaluator(0), simulations=100)
    finally:
        logger.setLevel(before)
    if level == logging.DEBUG:
        assert asked["report"] > reports
    else:
        assert asked == {"report": reports, "last_path": 0}
