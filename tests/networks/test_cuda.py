"""The same on a GPU: eager, compiled, as graphs; copies, padding, changes of weights. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.engine.batch import batch_of
from ramify.evaluators import Network
from ramify.evaluators.cuda import LAUNCHED_ASIDE
from tests.evaluators.helpers import some_states
from tests.networks.helpers import check_changes_of_weights, game_of, lively, net

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")

EXACT = 1e-3  # fp32, with TF32 switched off
ROUGH = 0.1  # bf16


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    # By hand: these are no plain attributes, and monkeypatch would delete them at the end.
    modules = (torch.backends.cudnn, torch.backends.cuda.matmul)
    before = [module.allow_tf32 for module in modules]
    for module in modules:
        module.allow_tf32 = False
    yield
    for module, allowed in zip(modules, before, strict=True):
        module.allow_tf32 = allowed


@pytest.mark.parametrize("label", ["hex swap", "chess", "pyrat", "connect_four", "goofspiel"])
@pytest.mark.parametrize(
    "settings", [{"graphs": False}, {}, {"precision": "fp32"}, {"precision": "fp32", "graphs": False}]
)
def test_as_on_a_cpu(label: str, settings: dict[str, Any]) -> None:
    module = net(label, "3x16")
    gpu, cpu = Network(module, "cuda", **settings), Network(module, "cpu")
    tolerance = EXACT if settings.get("precision") == "fp32" else ROUGH
    for count in (1, 3, 13, 3):
        batch = batch_of(some_states(game_of(label), min(count, 4 if label == "goofspiel" else count), turns=3))
        found, expected = gpu.evaluate(batch), cpu.evaluate(batch)
        np.testing.assert_allclose(found.logits, expected.logits, atol=tolerance)
        np.testing.assert_allclose(found.values, expected.values, atol=tolerance)
        assert found.logits.dtype == found.values.dtype == np.float32


@pytest.mark.parametrize("config", ["symmetric-mlp:2x32", "destinations:3x16", "cells-attention:2x16"])
@pytest.mark.parametrize("settings", [{}, {"precision": "fp32"}, {"precision": "fp32", "graphs": False}])
def test_structural_networks(config: str, settings: dict[str, Any]) -> None:
    game = rf.make("pyrat", width=9, height=7, cheese=8, wall_density=0.5, mud_density=0.5, symmetric=False)
    module = lively(networks.make(game, config))
    gpu, cpu = Network(module, "cuda", **settings), Network(module, "cpu")
    tolerance = EXACT if settings.get("precision") == "fp32" else ROUGH
    for count in (1, 13, 3):
        batch = batch_of(some_states(game, count, turns=20))
        found, expected = gpu.evaluate(batch), cpu.evaluate(batch)
        np.testing.assert_allclose(found.logits, expected.logits, atol=tolerance)
        np.testing.assert_allclose(found.values, expected.values, atol=tolerance)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the compiler's own
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("graphs", [False, True])
def test_compiled(graphs: bool) -> None:
    module = net("hex", "3x16")
    gpu = Network(module, "cuda", compile=True, graphs=graphs, buckets=[4, 8])
    batch = batch_of(some_states(rf.make("hex", size=5), 11))
    np.testing.assert_allclose(gpu.evaluate(batch).logits, Network(module, "cpu").evaluate(batch).logits, atol=ROUGH)
    other = net("hex", "3x16", seed=1)
    gpu.load_weights(other)
    np.testing.assert_allclose(gpu.evaluate(batch).logits, Network(other, "cpu").evaluate(batch).logits, atol=ROUGH)


@pytest.mark.parametrize("graphs", [False, True])
def test_many_batches_under_way(graphs: bool) -> None:
    """More than there are slots, asked for in another order: no answer is overwritten by a later batch."""
    gpu = Network(net("hex", "3x16"), "cuda", precision="fp32", graphs=graphs, buckets=[4])
    batches = [batch_of(some_states(rf.make("hex", size=5), 4, seed=seed)) for seed in range(6)]
    expected = [gpu.evaluate(batch) for batch in batches]
    pending = [gpu.submit(batch) for batch in batches]
    for row in (5, 0, 3, 1, 4, 2):
        np.testing.assert_allclose(pending[row].result().logits, expected[row].logits, atol=EXACT)


@pytest.mark.parametrize("graphs", [False, True])
def test_every_batch_sees_one_set_of_weights(graphs: bool) -> None:
    modules = [net("hex", "3x16", seed=seed) for seed in (0, 1)]
    batch = batch_of(some_states(rf.make("hex", size=5), 12))
    gpu = Network(modules[0], "cuda", precision="fp32", graphs=graphs, buckets=[4])
    check_changes_of_weights(gpu, modules, batch, 100, atol=EXACT)


def test_large_batches_are_launched_by_a_thread() -> None:
    """Outputs are those of small batches, by the weights that were there when they were submitted."""
    modules = [net("hex", "3x16", seed=seed) for seed in (0, 1)]
    gpu = Network(modules[0], "cuda", precision="fp32", buckets=[16, LAUNCHED_ASIDE])
    few = batch_of(some_states(rf.make("hex", size=5), 16))
    times = LAUNCHED_ASIDE // 16
    many = rf.Batch(**{name: np.concatenate([array] * times) for name, array in vars(few).items()})
    expected = []
    for module in modules:
        gpu.load_weights(module)
        expected.append(np.concatenate([gpu.submit_raw(few)()[0]] * times))
    for _ in range(20):
        for number in (0, 1):
            gpu.load_weights(modules[number])
            pending = [gpu.submit_raw(many), gpu.submit_raw(many)]
            gpu.load_weights(modules[1 - number])
            for one in pending:
                np.testing.assert_allclose(one()[0], expected[number], atol=EXACT)


def test_more_rows_than_the_largest_bucket() -> None:
    """Searches of many positions at once make such batches."""
    gpu = Network(net("hex", "3x16"), "cuda", precision="fp32", buckets=[4, 8])
    states = some_states(rf.make("hex", size=5), 21)
    logits, values = gpu.submit_raw(batch_of(states))()
    pieces = [gpu.submit_raw(batch_of(states[start : start + 8])) for start in (0, 8, 16)]
    np.testing.assert_allclose(logits, np.concatenate([piece()[0] for piece in pieces]), atol=EXACT)
    np.testing.assert_allclose(values, np.concatenate([piece()[1] for piece in pieces]), atol=EXACT)


def test_searches_run() -> None:
    for label in ("hex", "chess", "pyrat"):
        state = game_of(label).initial_state(0)
        result = rf.search(state, Network(net(label, "1x8"), "cuda"), simulations=60, batch=8)
        assert result.visits.sum() == 59
