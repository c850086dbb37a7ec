"""ONNX Runtime gives what torch gives, for batches of any size; new weights need no new export."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import networks
from ramify.base.onnx_files import CHECKSUM
from ramify.engine.batch import batch_of
from ramify.evaluators import Network, Onnx
from ramify.evaluators.onnx import with_weights
from tests.evaluators.helpers import some_states
from tests.networks.helpers import check_changes_of_weights, game_of, net, outcome

missing = [package for package in ("onnxruntime", "onnx", "onnxscript") if find_spec(package) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")
TOLERANCE = 1e-4  # stated in docs/methods/networks.md


def agree(one: rf.Evaluation, other: rf.Evaluation) -> None:
    np.testing.assert_allclose(one.logits, other.logits, atol=TOLERANCE)
    np.testing.assert_allclose(one.values, other.values, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("label", "config"),
    [
        ("hex swap", networks.ResNetConfig(blocks=1, channels=8, heads=("wdl", "ownership"), value="wdl")),
        pytest.param("hex swap", networks.ResNetConfig(blocks=3, channels=16), marks=pytest.mark.slow),
        pytest.param("chess", "1x16", marks=pytest.mark.slow),
        pytest.param("pyrat", "3x16", marks=pytest.mark.slow),
        pytest.param("connect_four", "1x8", marks=pytest.mark.slow),
        ("goofspiel", "mlp:1x8"),
    ],
)
def test_onnx_agrees_with_torch(label: str, config: Any) -> None:
    """Also with buckets, and after a change of weights: one export serves for all of it."""
    game = game_of(label)
    batches = [batch_of(some_states(game, count, turns=3, seed=count)) for count in (1, 2, 7)]
    module, other = net(label, config), net(label, config, seed=1)
    content = networks.onnx_bytes(module)
    onnx, bucketed, torch = Onnx(content), Onnx(content, buckets=[2, 4]), Network(module, "cpu")
    for batch in batches:
        agree(onnx.evaluate(batch), torch.evaluate(batch))
        agree(bucketed.evaluate(batch), torch.evaluate(batch))
    before = torch.evaluate(batches[-1])
    for evaluator in (onnx, torch):
        evaluator.load_weights(other.state_dict())
        assert evaluator.version == 1
    agree(onnx.evaluate(batches[-1]), torch.evaluate(batches[-1]))
    assert not np.allclose(onnx.evaluate(batches[-1]).logits, before.logits, atol=1e-2)


def test_a_module_is_exported_for_every_size(tmp_path: Path) -> None:
    module, other = net("hex", "1x8"), net("hex", "1x8", seed=1)
    onnx, torch = Onnx(module), Network(other, "cpu")
    state = rf.make("hex", size=5).initial_state()
    assert rf.search(state, onnx, simulations=20, batch=4).visits.sum() == 19
    onnx.load_weights(other)
    for size in (5, 6):  # the second is exported after the change of weights
        batch = batch_of(some_states(rf.make("hex", size=size), 3))
        agree(onnx.evaluate(batch), torch.evaluate(batch))
    assert module.training is False


@pytest.mark.parametrize(
    ("label", "config"),
    [
        ("hex", "mlp:1x8"),
        *(
            pytest.param(label, config, marks=pytest.mark.slow)
            for label, config in (("hex", "1x8"), ("pyrat", "destinations:1x8"), ("pyrat", "cells-attention:1x8"))
        ),
    ],
)
def test_a_second_network_of_an_architecture_is_exported_as_the_first(
    monkeypatch: pytest.MonkeyPatch, label: str, config: str
) -> None:
    """Its model is the one that a new export would give, byte for byte, without an export."""
    from ramify.networks import onnx

    wanted = networks.onnx_bytes(net(label, config, seed=1))
    onnx._EXPORTED.clear()
    networks.onnx_bytes(net(label, config))
    monkeypatch.delattr(onnx, "_export")
    assert networks.onnx_bytes(net(label, config, seed=1)) == wanted
    with pytest.raises(NameError):  # another activation is another architecture, with weights of the same shapes
        networks.onnx_bytes(net(label, networks.config_of(config).model_copy(update={"activation": "mish"})))


def test_every_batch_sees_one_set_of_weights() -> None:
    """Also in parts: a batch goes through one session, whatever has been loaded meanwhile."""
    modules = [net("hex", "mlp:1x8", seed=seed) for seed in (0, 1)]
    batch = batch_of(some_states(rf.make("hex", size=5), 6))
    check_changes_of_weights(Onnx(networks.onnx_bytes(modules[0]), buckets=[2]), modules, batch, 20, threads=2)


def test_files(tmp_path: Path) -> None:
    module = net("hex", "1x8")
    module.train()
    file = networks.export_onnx(tmp_path / "net.onnx", module)
    assert module.training  # as it was
    module.eval()
    batch = batch_of(some_states(rf.make("hex", size=5), 3))
    onnx = Onnx(file)
    agree(onnx.evaluate(batch), Network(module, "cpu").evaluate(batch))
    with pytest.raises(rf.EvaluatorError, match=r"observations of shape \[3, 5, 5\], not \[3, 6, 6\]"):
        onnx.evaluate(batch_of([rf.make("hex", size=6).initial_state()]))
    state = module.state_dict()
    for bad, complaint in (
        ({}, "the weights do not contain"),
        ({**state, "stem.conv.weight": np.zeros(3)}, r"stem.conv.weight must have shape \[8, 3, 3, 3\], not \[3\]"),
    ):
        with pytest.raises(ValueError, match=complaint):
            onnx.load_weights(bad)
    assert onnx.version == 0
    agree(onnx.evaluate(batch), Network(module, "cpu").evaluate(batch))


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    """A damaged model is refused in one sentence; where the byte means nothing, the answers are the same."""
    module, batch = net("hex", "mlp:1x8"), batch_of(some_states(rf.make("hex", size=5), 3))
    file = networks.export_onnx(tmp_path / "net.onnx", module)
    whole, wanted, rng, refused = file.read_bytes(), Onnx(file).evaluate(batch), random.Random(0), 0
    mark = whole.index(b"ramify.checksum")
    places = [*range(mark - 4, mark + 90), *rng.sample(range(len(whole)), 200)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= rng.randrange(1, 256)
        file.write_bytes(damaged)
        found, complaint = outcome(lambda: Onnx(file).evaluate(batch))
        if complaint:
            refused += 1
            assert complaint.startswith(f"{file} is damaged")
            assert "\n" not in complaint
        else:
            assert mark - 4 <= place < mark + 17  # what says that there is a checksum
            np.testing.assert_array_equal(found.logits, wanted.logits)
    assert refused > 0.9 * len(places)
    for damaged in (whole[:1000], b"", b"no model"):
        with pytest.raises(ValueError, match="this model is damaged, or not an ONNX model"):
            Onnx(bytes(damaged))


def test_a_model_that_claims_more_than_it_has_is_refused() -> None:
    """6.4 GB of weights in a model of some hundred bytes, and weights in another file."""
    from onnx import TensorProto, helper

    for place in (TensorProto.DEFAULT, TensorProto.EXTERNAL):
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[40_000, 40_000], data_location=place)
        if place == TensorProto.DEFAULT:
            weight.raw_data = bytes(64)
        else:
            weight.external_data.add(key="location", value="/etc/passwd")
        nodes = [
            helper.make_node("MatMul", ["observations", "w"], ["logits"]),
            helper.make_node("ReduceSum", ["logits"], ["values"]),
        ]
        given = helper.make_tensor_value_info("observations", TensorProto.FLOAT, ["rows", 40_000])
        found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("logits", "values")]
        model = helper.make_model(helper.make_graph(nodes, "boast", [given], found, [weight]), ir_version=8)
        with pytest.raises(ValueError, match="this model is damaged, or not an ONNX model"):
            Onnx(model.SerializeToString())


def test_models_without_a_checksum_open() -> None:
    """Those of others and of earlier versions; with other weights a model has another checksum."""
    import onnx

    module, other = net("hex", "mlp:1x8"), net("hex", "mlp:1x8", seed=1)
    content = networks.onnx_bytes(module)
    model = onnx.load_model_from_string(content)
    kept = [entry for entry in model.metadata_props if entry.key != CHECKSUM]
    assert len(kept) == len(model.metadata_props) - 1
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    batch = batch_of(some_states(rf.make("hex", size=5), 3))
    plain = Onnx(model.SerializeToString())
    np.testing.assert_array_equal(plain.evaluate(batch).logits, Onnx(content).evaluate(batch).logits)
    weights = {name: weight.numpy() for name, weight in other.state_dict().items()}
    agree(Onnx(with_weights(content, weights)).evaluate(batch), Network(other, "cpu").evaluate(batch))


def test_the_usual_evaluator_on_a_cpu() -> None:
    evaluator = rf.evaluators.network_evaluator(net("hex", "1x8"), "cpu")
    assert isinstance(evaluator, Network)
    assert evaluator.settings.backend == "auto"  # the fastest library, by measurement


@pytest.mark.parametrize(
    ("label", "config"),
    [pytest.param("connect_four", "1x8", marks=pytest.mark.slow), ("hex", "mlp:1x8"), ("tictactoe", "1x8")],
)
def test_a_network_for_another_game_says_so(label: str, config: str) -> None:
    """A module too, before an export that would fail somewhere inside torch."""
    state, module = rf.make("hex", size=3).initial_state(), net(label, config)
    for evaluator in (Onnx(module), Network(module, "cpu")):
        with pytest.raises(rf.EvaluatorError, match=rf"for {label} needs observations of shape .*, not \[3, 3, 3\]"):
            rf.search(state, evaluator, simulations=2)
    with pytest.raises(rf.EvaluatorError, match=r"needs observations of shape .*, not \[3, 3, 3\]"):
        rf.search(state, Onnx(networks.onnx_bytes(module)), simulations=2)


def test_weights_that_are_not_finite_are_refused() -> None:
    module = net("hex", "1x8")
    bad = {name: weight.clone() for name, weight in module.state_dict().items()}
    batch = batch_of(some_states(game_of("hex"), 2))
    for evaluator in (Onnx(module), Network(module, "cpu")):
        before = evaluator.evaluate(batch).logits
        for wrong in (float("nan"), float("inf")):
            bad["stem.conv.weight"][0, 0, 0, 0] = wrong
            with pytest.raises(ValueError, match=r"the weights of stem\.conv\.weight are not all finite"):
                evaluator.load_weights(bad)
        assert evaluator.version == 0
        np.testing.assert_array_equal(evaluator.evaluate(batch).logits, before)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Onnx(tmp_path / "nothing.onnx")
    with pytest.raises(ValueError, match="threads must be at least 1"):
        Onnx(b"", threads=0)
    with pytest.raises(TypeError, match="a path, bytes or a torch module, not Network"):
        Onnx(rf.pretrained("hex-5"))
    with pytest.raises(ValueError, match="observation_shape is required"):
        networks.onnx_bytes(__import__("torch").nn.Linear(1, 1))
