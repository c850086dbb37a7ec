"""The evaluator gives what the module gives, row by row, whatever the batch; weights change between batches."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.engine.batch import batch_of
from ramify.evaluators import Cached, Network, Symmetries
from tests.evaluators.helpers import legal_probabilities, some_states
from tests.networks.helpers import check_changes_of_weights, game_of, net

TOLERANCE = 1e-5  # folding normalisations, and other batch sizes, change the order of sums


@pytest.mark.parametrize("label", ["hex", "chess", "pyrat", "connect_four", "matrix"])
def test_outputs_are_the_modules(label: str) -> None:
    module = net(label, "2x8")
    batch = batch_of(some_states(game_of(label), 5 if label != "matrix" else 1, turns=3))
    found = Network(module, "cpu").evaluate(batch)
    with torch.no_grad():
        raw = module(torch.from_numpy(batch.observations))
    np.testing.assert_allclose(found.logits, raw["logits"], atol=TOLERANCE)
    np.testing.assert_allclose(found.values, raw["values"], atol=TOLERANCE)


@pytest.mark.parametrize("label", ["hex", "pyrat"])
def test_padded_and_split_batches_are_as_others(label: str) -> None:
    module = net(label, "2x8")
    batch = batch_of(some_states(game_of(label), 11))
    plain = Network(module, "cpu").evaluate(batch)
    for buckets in ([16], [4], [1, 2, 8], [3, 11]):
        found = Network(module, "cpu", buckets=buckets).evaluate(batch)
        np.testing.assert_allclose(found.logits, plain.logits, atol=TOLERANCE)
        np.testing.assert_allclose(found.values, plain.values, atol=TOLERANCE)


@pytest.mark.parametrize("label", ["hex", "chess", "pyrat", "connect_four"])
def test_searches_run(label: str) -> None:
    state = game_of(label).initial_state(0)
    evaluator = Network(net(label, "1x8"), "cpu")
    one, other = (rf.search(state, evaluator, simulations=40, batch=4) for _ in range(2))
    assert one.visits.sum() == 39
    np.testing.assert_array_equal(one.visits, other.visits)
    assert np.isfinite(one.value).all()


def test_the_module_may_go_on_training() -> None:
    module = net("hex", "1x8")
    evaluator, batch = Network(module, "cpu"), batch_of(some_states(rf.make("hex", size=5), 4))
    before, name = evaluator.evaluate(batch), evaluator.network_id
    module.train()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(2)
    np.testing.assert_array_equal(evaluator.evaluate(batch).logits, before.logits)
    evaluator.load_weights(module)
    assert module.training
    assert evaluator.version == 1
    assert evaluator.network_id == networks.network_id(module) != name
    after = evaluator.evaluate(batch)
    assert not np.allclose(after.logits, before.logits)
    np.testing.assert_array_equal(after.logits, Network(module, "cpu").evaluate(batch).logits)


def test_weights_that_do_not_fit_change_nothing() -> None:
    evaluator, batch = Network(net("hex", "1x8"), "cpu"), batch_of(some_states(rf.make("hex", size=5), 2))
    before = evaluator.evaluate(batch)
    state = net("hex", "1x8", seed=1).state_dict()
    for bad in ({}, {**state, "stem.conv.weight": torch.zeros(1)}, {**state, "more": torch.zeros(1)}):
        with pytest.raises(ValueError, match="do not fit the network"):
            evaluator.load_weights(bad)
    assert evaluator.version == 0
    np.testing.assert_array_equal(evaluator.evaluate(batch).logits, before.logits)


def test_every_batch_sees_one_set_of_weights() -> None:
    """Three parts a batch: weights must not change between them."""
    modules = [net("hex", "1x8", seed=seed) for seed in (0, 1)]
    batch = batch_of(some_states(rf.make("hex", size=5), 6))
    check_changes_of_weights(Network(modules[0], "cpu", buckets=[2]), modules, batch, 30)


def test_a_cache_follows_the_weights() -> None:
    game = rf.make("hex", size=5)
    modules = [net("hex", "1x8", seed=seed) for seed in (0, 1)]
    inner = Network(modules[0], "cpu")
    cached, batch = Cached(Symmetries(inner, game)), batch_of(some_states(game, 3))
    for module in (modules[1], modules[0]):
        cached.evaluate(batch)
        inner.load_weights(module)
        expected = Symmetries(Network(module, "cpu"), game).evaluate(batch)
        np.testing.assert_allclose(cached.evaluate(batch).values, expected.values, atol=1e-7)
    assert cached.misses == 9


@pytest.mark.parametrize("label", ["hex", "pyrat"])
def test_a_network_averaged_over_symmetries_is_symmetric(label: str) -> None:
    game = game_of(label)
    states = some_states(game, 4)
    evaluator = Symmetries(Network(net(label, "2x8"), "cpu"), game)
    batch = batch_of(states)
    here = evaluator.evaluate(batch)
    for number, symmetry in enumerate(game.symmetries):
        if not symmetry.swaps_players:
            images = batch_of([state.transform(number) for state in states])
            there = evaluator.evaluate(images)
            np.testing.assert_allclose(there.values, here.values, atol=TOLERANCE)
            moved = legal_probabilities(there, images)[:, :, symmetry.actions]
            np.testing.assert_allclose(moved, legal_probabilities(here, batch), atol=TOLERANCE)


def test_an_answer_is_kept_until_it_is_asked_for() -> None:
    """The caller's arrays are its own again after submit: a search writes its next rows into them."""
    evaluator = Network(net("hex", "1x8"), "cpu")
    batches = [batch_of(some_states(rf.make("hex", size=5), 4, seed=seed)) for seed in (0, 1)]
    expected = [evaluator.evaluate(batch) for batch in batches]
    shared = rf.Batch(*(array.copy() for array in vars(batches[0]).values()))
    for wrapped in (evaluator, Cached(evaluator), Symmetries(evaluator, rf.make("hex", size=5), "random")):
        for name, array in vars(batches[0]).items():
            getattr(shared, name)[:] = array
        alone = wrapped.evaluate(batches[0])
        pending = wrapped.submit(shared)
        for name, array in vars(batches[1]).items():
            getattr(shared, name)[:] = array
        later = pending.result()
        np.testing.assert_array_equal(later.values, alone.values)
        np.testing.assert_array_equal(later.logits, alone.logits)
        assert pending.result() is later
    assert not np.array_equal(expected[0].values, expected[1].values)


class Bad(torch.nn.Module):
    """Gives what it was told to."""

    def __init__(self, logits: Any, values: Any) -> None:
        super().__init__()
        self.answer = (logits, values)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = (torch.zeros(len(x), *shape) for shape in self.answer)
        return logits, values


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        (((24,), ()), r"logits must have shape \[1, 2, 25\] or \[1, 25\], not \[1, 24\]"),
        (((3, 25), ()), r"network's logits must have shape \[1, num_actions\] or .*, not \[1, 3, 25\]"),
        (((25,), (1,)), r"network's values must have shape \[1\] or \[1, 2\], not \[1, 1\]"),
    ],
)
def test_wrong_shapes_are_named(shapes: Any, complaint: str) -> None:
    with pytest.raises(rf.EvaluatorError, match=complaint):
        rf.search(rf.make("hex", size=5).initial_state(), Network(Bad(*shapes), "cpu"), simulations=3)


@pytest.mark.parametrize(("name", "part"), [("policy.out.weight", "logit"), ("value.hidden.weight", "value")])
def test_nan_is_reported_with_its_row(name: str, part: str) -> None:
    """Weights that are finite, but so large that what comes of them is not."""
    module = net("hex", "1x8")
    evaluator = Network(module, "cpu")
    searcher = rf.Searcher(rf.make("hex", size=5), evaluator, rf.SearchConfig(simulations=20, batch=4))
    state = rf.make("hex", size=5).initial_state()
    before = searcher.run(state)
    with torch.no_grad():
        module.get_parameter(name).sign_().mul_(3e38)
    evaluator.load_weights(module)
    with pytest.raises(rf.EvaluatorError, match=rf"row 0: .*{part}"):
        searcher.run(state)
    evaluator.load_weights(net("hex", "1x8"))  # the graph is still good
    assert searcher.run(state).visits.sum() > before.visits.sum()


def test_modules_of_other_people() -> None:
    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(18, 10)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            y = self.layer(x.flatten(1))
            return {"logits": y[:, :9], "values": y[:, 9].tanh()}

    result = rf.search(rf.make("tictactoe").initial_state(), Network(Plain(), "cpu"), simulations=30, batch=4)
    assert result.visits.sum() == 29


def test_settings_are_checked() -> None:
    module = net("hex", "1x8")
    for settings, complaint in (
        ({"thread": 2}, "no evaluator setting 'thread'; did you mean 'threads'"),
        ({"precision": "bf16"}, "fp32 on a CPU"),
        ({"compile": True}, "compile=True needs CUDA"),
        ({"buckets": [0, 2]}, "batch sizes of at least 1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Network(module, "cpu", **settings)
    with pytest.raises(TypeError, match="must be a torch module, not str"):
        Network("net.safetensors")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cpu, cuda, cuda:N or mps"):
        Network(module, "meta")


def test_half_precision_leaves_the_value_head_alone() -> None:
    """What runs on CUDA, on a CPU: bfloat16, and the small value head in float32, never rounded on the way."""
    from ramify.evaluators.cuda import Device

    module = net("pyrat", "3x16")
    half = Device(networks.folded(module), torch.device("cpu"), torch.bfloat16)
    state = half.inference.network.state_dict()
    assert state["stem.weight"].dtype == torch.bfloat16
    assert torch.equal(state["value.hidden.weight"], module.state_dict()["value.hidden.weight"])
    batch = batch_of(some_states(game_of("pyrat"), 6))
    with torch.no_grad():
        logits, values = half(torch.from_numpy(batch.observations))
    found = Network(module, "cpu").evaluate(batch)
    assert (logits.dtype, values.dtype) == (torch.bfloat16, torch.float32)
    np.testing.assert_allclose(logits.float(), found.logits, atol=0.1)
    np.testing.assert_allclose(values, found.values, atol=0.1)


def test_torch_is_loaded_when_it_is_needed() -> None:
    code = """
import sys, ramify as rf
assert "Network" in dir(rf.evaluators) and "networks" in dir(rf)
assert "torch" not in sys.modules
rf.evaluators.Onnx, rf.evaluators.Cached(rf.evaluators.Uniform())
assert "torch" not in sys.modules and "onnxruntime" not in sys.modules
rf.evaluators.Network.from_file
assert "torch" not in sys.modules
rf.networks.make
assert "torch" in sys.modules
assert not hasattr(rf, "nothing") and not hasattr(rf.evaluators, "nothing")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
