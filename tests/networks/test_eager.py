"""Networks on devices that run them as they are, such as Apple's mps. What can be tested without one is tested here."""

from __future__ import annotations

import numpy as np
import pytest

import ramify as rf

torch = pytest.importorskip("torch")

from ramify.evaluators.eager import LARGEST, EagerRunner  # noqa: E402
from ramify.evaluators.run_config import RunConfig  # noqa: E402
from ramify.networks.blocks import folded  # noqa: E402
from ramify.networks.devices import choose_device  # noqa: E402

NO_MPS = pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is an mps device")


def test_outputs_are_those_of_the_network_and_follow_new_weights() -> None:
    """On the CPU, which is a device as well."""
    game = rf.make("hex", size=3)
    first, second = (rf.networks.make(game, "1x8", seed=seed) for seed in (0, 1))
    runner = EagerRunner(folded(first), torch.device("cpu"), RunConfig())
    rows = np.random.default_rng(0).random((LARGEST + 3, *game.observation_shape), np.float32)
    before = runner.submit(rows)
    runner.swap(folded(second))
    for outputs, network in ((before(), first), (runner.submit(rows)(), second)):
        logits, values = outputs_of(network, rows)
        np.testing.assert_allclose(outputs[0], logits, atol=1e-4)
        np.testing.assert_allclose(outputs[1].reshape(values.shape), values, atol=1e-4)
    assert runner.version == 1


def outputs_of(network, rows):
    evaluator = rf.evaluators.Network(network, "cpu", backend="torch")
    return evaluator.runner.submit(rows)()


@NO_MPS
def test_mps_is_refused_where_there_is_none() -> None:
    with pytest.raises(ValueError, match="device mps is not available"):
        choose_device("mps")


def test_what_it_cannot_do_is_refused() -> None:
    network = folded(rf.networks.make(rf.make("tictactoe"), "1x8"))
    with pytest.raises(ValueError, match="precision must be auto or fp32"):
        EagerRunner(network, torch.device("cpu"), RunConfig(precision="bf16"))


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="needs the GPU of a Mac")
def test_a_search_on_mps_finds_what_one_on_the_cpu_finds() -> None:
    game = rf.make("hex", size=3)
    network = rf.networks.make(game, "1x8", seed=0)
    found = [
        rf.search(game.initial_state(), rf.evaluators.Network(network, device), simulations=50)
        for device in ("cpu", "mps")
    ]
    np.testing.assert_allclose(found[0].policy(), found[1].policy(), atol=0.1)
