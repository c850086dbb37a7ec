"""Measured speeds are kept in a file, and no state of that file is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ramify.evaluators import speeds
from ramify.evaluators.speeds import SpeedTable, fastest, machine, speeds_file

RATES = {"openvino": 300.0, "torch": 100.0}


def test_a_measurement_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "speeds.json"
    SpeedTable(file).add("6x64", {"game": "hex"}, 8, RATES)
    again = SpeedTable(file)
    assert again.sizes("6x64") == {8: RATES}
    assert again.networks["6x64"]["recipe"] == {"game": "hex"}
    assert again.sizes("another network") == {}


def test_the_first_of_two_processes_counts(tmp_path: Path) -> None:
    one, two = SpeedTable(tmp_path / "f"), SpeedTable(tmp_path / "f")
    one.add("net", None, 1, RATES)
    two.add("net", None, 1, {"torch": 7.0})
    two.add("net", None, 8, {"torch": 8.0})
    assert two.sizes("net") == SpeedTable(tmp_path / "f").sizes("net") == {1: RATES, 8: {"torch": 8.0}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b"[" * 100_000,
        b'{"format": 1}',
        b'{"format": 2, "machines": {}}',
        {"net": {"sizes": {"one": RATES}}},
        {"net": {"sizes": {"1": {"torch": "fast"}}}},
        {"net": {"sizes": {"1": {"torch": -1.0}}}},
        {"net": {"sizes": {"1": {"torch": float("nan")}}}},
        {"net": {"sizes": {"1": {}}}},
        {"net": []},
        [],
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(content: object, tmp_path: Path) -> None:
    file = tmp_path / "f"
    if not isinstance(content, bytes):
        content = json.dumps({"format": 1, "machines": {machine(): content}}).encode()
    file.write_bytes(content)
    table = SpeedTable(file)
    assert dict(table.networks) == {}
    table.add("net", None, 1, RATES)
    assert SpeedTable(file).sizes("net") == {1: RATES}


def test_a_file_that_cannot_be_written_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for table in (SpeedTable(tmp_path / "file" / "f"), SpeedTable(None)):
        table.add("net", None, 1, RATES)
        table.add("net", None, 8, {"torch": 8.0})
        assert table.sizes("net") == {1: RATES, 8: {"torch": 8.0}}


def test_other_machines_keep_their_speeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = machine(), "Abacus 2000, 1 thread; torch 1"
    monkeypatch.setattr(speeds, "machine", lambda: there)
    SpeedTable(tmp_path / "f").add("net", None, 1, {"torch": 7.0})
    monkeypatch.setattr(speeds, "machine", lambda: here)
    table = SpeedTable(tmp_path / "f")
    assert table.sizes("net") == {}
    table.add("net", None, 1, RATES)
    table.clear()
    assert dict(table.networks) == dict(SpeedTable(tmp_path / "f").networks) == {}
    monkeypatch.setattr(speeds, "machine", lambda: there)
    assert SpeedTable(tmp_path / "f").sizes("net") == {1: {"torch": 7.0}}


def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path))
    assert speeds_file() == tmp_path / "cpu-speeds.json"
    monkeypatch.delenv("RAMIFY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert speeds_file() == tmp_path / "xdg" / "ramify" / "cpu-speeds.json"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says to ignore it
    monkeypatch.setenv("HOME", str(tmp_path))
    assert speeds_file() == tmp_path / ".cache" / "ramify" / "cpu-speeds.json"


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"openvino": 100.0, "torch": 200.0, "onnxruntime": 150.0}, "torch"),
        ({"openvino": 97.0, "onnxruntime": 100.0}, "openvino"),  # noise: the first of those that are equally fast
        ({"openvino": 90.0, "onnxruntime": 100.0}, "onnxruntime"),
        ({"onnxruntime": 1.0}, "onnxruntime"),
        ({}, "torch"),
    ],
)
def test_the_fastest_is_used(rates: dict[str, float], expected: str) -> None:
    assert fastest(rates) == expected
