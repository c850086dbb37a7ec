"""The benchmark of evaluators measures every row."""

from __future__ import annotations

import pytest
import torch

from benchmarks import _measure, network_evaluator


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
