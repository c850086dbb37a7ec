"""The benchmark of evaluators measures every row."""

from __future__ import annotations

import pytest
import torch

from benchmarks import _measure, cpu_selfplay, network_evaluator


def test_every_row_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_measure, "SECONDS", 0.0)
    monkeypatch.setattr(_measure, "REPETITIONS", 1)
    monkeypatch.setattr(network_evaluator, "CPU_CASES", (("hex", {"size": 3}, "1x4"),))
    monkeypatch.setattr(network_evaluator, "CPU_BATCHES", (1, 70))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    table = network_evaluator.rows()
    assert [row["name"] for row in table if "torch" in row["name"]] == [
        f"hex 3x3 with 1x4, torch on CPU, batch {rows}" for rows in (1, 70)
    ]
    assert all(row["value"] > 0 and row["unit"] == "positions/s" for row in table)


def test_self_play_is_measured_against_its_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        "PARAMS": {"size": 3},
        "SIZE": "1x4",
        "PLAY_SECONDS": 0.1,
        "ALONE_SECONDS": 0.0,
        "ROUNDS": 1,
        "IDLE_SECONDS": 0.01,
    }
    for name, value in {**small, "PARALLEL_GAMES": 8, "CORES": 1}.items():
        monkeypatch.setattr(cpu_selfplay, name, value)
    *alone, by_wall, by_cpu = cpu_selfplay.rows()
    assert by_wall["target"] == pytest.approx(0.9 * max(row["value"] for row in alone))
    assert by_wall["name"] == "hex 3x3 with 1x4, self-play on 1 cores by torch"
    assert by_wall["value"] > 0
    assert by_cpu["value"] > 0
    assert by_cpu["target"] == 0.9
