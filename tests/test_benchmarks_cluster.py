"""The benchmark of self-play on a cluster measures what it says; here its workers are threads."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import ramify.cluster
from benchmarks import cluster_selfplay
from ramify.training import node_player
from tests.training.in_threads import ThreadWorkers, use_threads


def test_both_kinds_of_self_play_are_measured(monkeypatch):
    use_threads(monkeypatch)
    monkeypatch.setattr(ThreadWorkers, "hosts", 1)
    monkeypatch.setattr(ramify.cluster, "connected", lambda *_, **__: nullcontext())
    monkeypatch.setattr(cluster_selfplay, "find_spec", lambda _: True)
    monkeypatch.setattr(cluster_selfplay, "WARM_SECONDS", 0.0)
    monkeypatch.setattr(cluster_selfplay, "SECONDS", 1.0)
    monkeypatch.setattr(node_player, "REPORT_SECONDS", 0.2)
    table = cluster_selfplay.rows()
    assert [row["target"] for row in table] == [None, None, 0.95, None, None]
    assert all(row["value"] > 0 for row in table[:2])
    assert table[2]["value"] == pytest.approx(table[1]["value"] / table[0]["value"])
