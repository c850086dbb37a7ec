"""PyRat's networks are trained with all of their heads, on boards of several sizes, and then searched with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from ramify.training import network_file, read_metrics, train
from tests.training.test_curriculum import pyrat

HEADS = {"payoffs", "cheese", "final_score", "value_error"}


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("destinations", {"blocks": 1, "channels": 8}),
        ("cells-attention", {"layers": 1, "width": 8}),
        ("symmetric-mlp", {"layers": 1, "width": 8}),
    ],
)
def test_every_head_is_trained(kind: str, size: dict[str, int], tmp_path: Path) -> None:
    heads = sorted(HEADS - {"cheese"} if kind == "symmetric-mlp" else HEADS)
    stages = [] if kind == "symmetric-mlp" else pyrat().curriculum[:1]
    config = pyrat(
        network={"kind": kind, "heads": heads, **size},
        curriculum=[stage.model_dump() for stage in stages],
        losses__nash=0.1,
        losses__constant_sum=0.1,
        loop__iterations=2,
    )
    checkpoint = train(config, tmp_path)
    *_, last = read_metrics(tmp_path / "metrics.jsonl", "iteration")
    for head in heads:
        assert np.isfinite(last[f"new_{head}"])
    module = rf.networks.load(network_file(checkpoint))
    state = rf.make("pyrat", **config.params).initial_state(seed=1)
    assert rf.search(state, rf.evaluators.Network(module, "cpu"), simulations=20).visits.sum() == 19
