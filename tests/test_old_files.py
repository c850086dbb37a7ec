"""Files of version 0.1 (commit 139f8b3) still open, resume and rate; the archive holds a small run and a store."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parent / "golden" / "run-0.1.tar.gz"


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_a_run_resumes_under_the_new_names_and_is_rated(run, unpacked: Path) -> None:
    pytest.importorskip("torch")
    old = (unpacked / "old-run/config.yaml").read_text()
    assert "reuse: 2" in old
    (unpacked / "mine.yaml").write_text(old)
    code, out, err = run("train", "mine.yaml", "loop.iterations=3", "--folder", "old-run", "--json")
    assert code == 0, err
    assert json.loads(out)["iteration"] == 3
    lines = (unpacked / "old-run/metrics.jsonl").read_text().splitlines()
    assert [line["games"] for line in map(json.loads, lines) if line["kind"] == "iteration"] == [8, 8, 8]
    code, out, err = run("rate", "old-run", "--games", "2", "--simulations", "4", "--no-references", "--json")
    assert code == 0, err
    names = {row["name"] for row in json.loads(out)["players"]}
    assert {"untrained", "iteration 3"} <= names


def test_games_of_a_store_are_rated_and_not_taken_for_those_of_today(run, unpacked: Path) -> None:
    code, out, err = run("ratings", "--store", "old.db", "--json")
    assert code == 0, err
    assert [row["games"] for row in json.loads(out)["players"]] == [4, 4]
    players = ("random", "search:simulations=4")
    code, out, err = run("match", "tictactoe", *players, "--games", "4", "--store", "old.db", "--json")
    assert code == 0, err
    assert json.loads(out)["found"] == 0  # another version of the engine played those
