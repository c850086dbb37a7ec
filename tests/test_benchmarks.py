"""The benchmark table: every row is shown, rows are checked, and the file for machines holds the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as table
from benchmarks import startup

ROWS = [
    {"name": "fast [1]", "value": 1234567.0, "unit": "turns/s", "target": 1e6, "ok": True},
    {"name": "slow", "value": 0.25, "unit": "s", "target": 0.1, "ok": False},
    {"name": "just so", "value": 3, "unit": "MB", "target": None, "ok": True},
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    """Replaces the benchmarks by one with the given rows."""

    def set_rows(rows: list[dict[str, object]]) -> None:
        monkeypatch.setattr(table, "names", lambda: ["fake"])
        monkeypatch.setitem(sys.modules, "benchmarks.fake", SimpleNamespace(rows=lambda: rows))

    return set_rows


def test_the_table_shows_every_row(fake, capsys, tmp_path: Path) -> None:
    fake(ROWS)
    assert table.main(["--json", str(tmp_path / "rows.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cpu ")
    assert "compiler " in lines[0]
    cells = [line.split() for line in lines[-3:]]
    assert cells[0] == ["fake", "fast", "[1]", "1,234,567", "turns/s", "1,000,000", "yes"]
    assert cells[1] == ["fake", "slow", "0.25", "s", "0.1", "no"]
    assert cells[2] == ["fake", "just", "so", "3", "MB"]  # no target, no verdict
    written = json.loads((tmp_path / "rows.json").read_text())
    assert written["rows"] == [{"benchmark": "fake", **row} for row in ROWS]
    assert written["machine"]["python"]


def test_a_row_that_lacks_something_is_an_error(fake) -> None:
    fake([{"name": "x", "value": 1.0, "unit": "s", "ok": True}])
    with pytest.raises(ValueError, match=r"benchmarks/fake.py: a row lacks target"):
        table.main([])


def test_an_unknown_name_is_refused(fake, capsys) -> None:
    fake(ROWS)
    with pytest.raises(SystemExit) as ended:
        table.main(["--only", "nothing"])
    assert ended.value.code == 2
    assert "nothing" in capsys.readouterr().err


def test_the_folder_is_searched() -> None:
    assert "startup" in table.names()
    assert not [name for name in table.names() if name.startswith("_")]


def test_startup_measures_fresh_processes(monkeypatch) -> None:
    monkeypatch.setattr(startup, "RUNS", 1)
    monkeypatch.setattr(startup, "COMMANDS", (("sleep", ["-c", "import time; time.sleep(0.2)"], 0.1),))
    (row,) = startup.rows()
    assert row["value"] >= 0.2
    assert row["ok"] is False
