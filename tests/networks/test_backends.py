"""The libraries that run a network on a CPU agree, and each batch size goes to the fastest."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.engine.batch import batch_of
from ramify.evaluators import Cached, Network, RunConfig, backends, cpu
from ramify.evaluators.backends import KINDS, Backend, OpenVino, installed, open_backend
from ramify.evaluators.cpu import SIZES, Choice, CpuRunner, kind_of, split_rows
from ramify.evaluators.outputs import LEAST_SHARE
from ramify.evaluators.speeds import SpeedTable, speed_table, speeds_file
from ramify.networks.blocks import folded
from ramify.networks.modules import Inference
from ramify.networks.tracing import traced_onnx
from tests.evaluators.helpers import some_states
from tests.networks.helpers import check_changes_of_weights, game_of, net

OTHERS = [name for name in ("openvino", "onnxruntime") if all(find_spec(package) for package in KINDS[name].needs)]
needs_openvino = pytest.mark.skipif("openvino" not in OTHERS, reason="openvino is not installed")
needs_another = pytest.mark.skipif(not OTHERS, reason="only torch is installed")


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SpeedTable:
    """As users have it: the backend is chosen, and nothing was measured before."""
    monkeypatch.delenv("RAMIFY_BACKEND")
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path / "speeds"))
    return speed_table()


def hex_rows(count: int, size: int = 5) -> rf.Batch:
    return batch_of(some_states(rf.make("hex", size=size), count))


@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize(
    ("label", "config"), [("hex", "3x16"), ("pyrat", "1x8"), ("goofspiel", "mlp:1x8"), ("chess", "1x8")]
)
def test_every_library_agrees_with_the_module(backend: str, label: str, config: str) -> None:
    module = net(label, config)
    batch = batch_of(some_states(game_of(label), 21))
    expected = Network(module, "cpu", backend="torch").evaluate(batch)
    for settings in ({}, {"buckets": [8]}, {"threads": 2}):
        evaluator = Network(module, "cpu", backend=backend, **settings)
        found = evaluator.evaluate(batch)
        np.testing.assert_allclose(found.logits, expected.logits, rtol=0, atol=1e-4)
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-4)
        assert evaluator.backend == backend


@pytest.mark.parametrize("backend", OTHERS)
def test_a_network_evaluates_boards_of_several_sizes(backend: str) -> None:
    module = net("hex", "1x8")
    evaluator, plain = Network(module, "cpu", backend=backend), Network(module, "cpu", backend="torch")
    for size in (5, 4, 5):
        batch = hex_rows(3, size)
        np.testing.assert_allclose(evaluator.evaluate(batch).logits, plain.evaluate(batch).logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize("backend", OTHERS)
def test_weights_change_between_batches(backend: str) -> None:
    modules = [net("hex", "1x8", seed) for seed in (1, 2)]
    check_changes_of_weights(Network(modules[0], "cpu", backend=backend, buckets=[2]), modules, hex_rows(3), 4)


@pytest.mark.skipif("onnxruntime" not in OTHERS, reason="onnx is not installed")
def test_threads_record_networks_one_after_another() -> None:
    """The exporter of torch refuses a second thread."""
    network, together = Inference(folded(net("hex", "1x8"))), threading.Barrier(4)

    def record(_: int) -> bytes:
        together.wait()
        return [traced_onnx(network, (3, 5, 5)) for _ in range(3)][-1]

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(record, range(4)))) == 1


@pytest.mark.parametrize("backend", OTHERS)
def test_calls_are_single_threaded(backend: str) -> None:
    opened = open_backend(backend, lambda: Inference(folded(net("hex", "3x32"))), (3, 5, 5))
    observations = np.zeros((64, 3, 5, 5), np.float32)
    opened.run(observations)
    here, everywhere = time.thread_time(), time.process_time()
    while time.thread_time() - here < 0.2:
        opened.run(observations)
    assert time.thread_time() - here > 0.8 * (time.process_time() - everywhere)


START = """
import os, sys
import numpy as np
import ramify as rf
game = rf.make("hex", size=3)
acting = np.ones((40, 2), np.bool_) & [True, False]
rows = np.random.default_rng(0).random((40, 3, 3, 3), np.float32)
batch = rf.Batch(rows, np.ones((40, 2, 9), np.bool_), acting, np.arange(40, dtype=np.uint64))
"""


def run_child(code: str, home: Path) -> None:
    """Run a program in a process of its own."""
    where = {**os.environ, "HOME": str(home), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", START + code], env=where, timeout=120)
    assert ended.returncode == 0


@pytest.mark.slow
@needs_openvino
def test_openvino_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    run_child(
        """
rf.evaluators.Network(rf.networks.make(game, "1x4"), "cpu", backend="openvino", threads=2).evaluate(batch)
assert "openvino" in sys.modules and "openvino_telemetry" not in sys.modules
""",
        tmp_path,
    )
    assert list(tmp_path.iterdir()) == []  # its telemetry keeps a number of the user in the home folder


@needs_openvino
def test_a_forked_process_does_without_openvino(tmp_path: Path) -> None:
    """Threads of OpenVINO are not copied: to compile would wait for them forever."""
    run_child(
        """
os.environ["RAMIFY_CACHE"] = os.environ["HOME"]
del os.environ["RAMIFY_BACKEND"]
module = rf.networks.make(game, "1x4")
chosen, pinned = rf.evaluators.Network(module, "cpu"), rf.evaluators.Network(module, "cpu", backend="openvino")
before = chosen.evaluate(batch).logits
pinned.evaluate(batch)
child = os.fork()
if child == 0:
    ended = 4
    try:
        np.testing.assert_allclose(chosen.evaluate(batch).logits, before, atol=1e-5)
        chosen.load_weights(rf.networks.make(game, "1x4", seed=1))
        assert not np.allclose(chosen.evaluate(batch).logits, before, atol=1e-3)
        pinned.evaluate(batch)
    except RuntimeError as error:
        ended = 0 if "was forked" in str(error) else 5
    finally:
        os._exit(ended)
assert os.waitpid(child, 0)[1] == 0
""",
        tmp_path,
    )


@needs_another
def test_each_batch_size_goes_to_the_fastest(auto: SpeedTable) -> None:
    module, other = net("hex", "1x8"), OTHERS[0]
    kind = kind_of(folded(module), (3, 5, 5))
    auto.add(kind.key, kind.recipe, 1, {"torch": 10.0, other: 100.0})
    auto.add(kind.key, kind.recipe, 8, {"torch": 100.0, other: 10.0})
    evaluator = Network(module, "cpu")
    assert evaluator.backend == "auto"
    evaluator.evaluate(hex_rows(2))
    assert evaluator.backend == other
    evaluator.load_weights(net("hex", "1x8", 1))
    assert rf.search(rf.make("hex", size=5).initial_state(), evaluator, simulations=2).stats["backend"] == other
    evaluator.evaluate(hex_rows(16))
    assert evaluator.backend == "+".join(sorted((other, "torch")))
    assert Cached(evaluator).backend == evaluator.backend


@needs_another
def test_a_size_is_measured_once(auto: SpeedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    module = net("hex", "1x8")
    first = Network(module, "cpu")
    first.evaluate(hex_rows(8))
    (entry,) = auto.networks.values()
    assert set(entry["sizes"]) == {1, 8}
    assert all(set(rates) == {"torch", *OTHERS} for rates in entry["sizes"].values())
    assert SpeedTable(speeds_file()).networks == auto.networks
    monkeypatch.setattr(Choice, "measure", None)
    second = Network(net("hex", "1x8", seed=5), "cpu")  # of the same kind
    second.evaluate(hex_rows(8))
    assert second.backend == first.backend
    with pytest.raises(TypeError):
        Network(net("hex", "1x4"), "cpu").evaluate(hex_rows(1))


def test_what_would_take_too_long_is_not_measured(auto: SpeedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def measure(self: Choice, opened: object, shape: object, size: int) -> dict[str, float]:
        sizes.append(size)
        return {"torch": 20.0, "openvino": 30.0}

    monkeypatch.setattr(Choice, "measure", measure)
    choice = Choice(folded(net("hex", "1x8")), ("openvino", "torch"))
    assert choice.rates(None, (3, 5, 5), 64) == {"torch": 20.0, "openvino": 30.0}  # type: ignore[arg-type]
    assert sizes == [1]  # eight rows would take two seconds


class Broken(Backend):
    """A library that cannot run the network, in several ways."""

    name, needs, extra = "openvino", (), "torch"

    def __init__(self, live: Any, shape: Any) -> None:
        if self.how == "opening":
            raise RuntimeError("unsupported operation")
        self.live = live

    how = ""

    def run(self, observations: Any) -> Any:
        if self.how == "running":
            raise RuntimeError("unsupported processor")
        rows = len(observations)
        return np.full((rows, 9 if self.how == "shape" else 25), np.nan, np.float32), np.zeros(rows, np.float32)


@pytest.mark.parametrize("how", ["opening", "running", "shape", "numbers"])
def test_a_library_that_fails_is_not_used(how: str, auto: SpeedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "openvino", type("Broken", (Broken,), {"how": how}))
    monkeypatch.setattr(cpu, "installed", lambda: ("openvino", "torch"))
    module = net("hex", "1x8")
    evaluator = Network(module, "cpu")
    found = evaluator.evaluate(hex_rows(3))
    np.testing.assert_allclose(
        found.logits, Network(module, "cpu", backend="torch").evaluate(hex_rows(3)).logits, atol=1e-5
    )
    assert evaluator.backend == "torch"


def test_a_choice_that_cannot_be_opened_any_more(auto: SpeedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "openvino", type("Broken", (Broken,), {"how": "opening"}))
    monkeypatch.setattr(cpu, "installed", lambda: ("openvino", "torch"))
    module = net("hex", "1x8")
    kind = kind_of(folded(module), (3, 5, 5))
    auto.add(kind.key, kind.recipe, 1, {"torch": 10.0, "openvino": 100.0})
    evaluator = Network(module, "cpu")
    evaluator.evaluate(hex_rows(1))
    assert evaluator.backend == "torch"


class Deciding(torch.nn.Module):
    """What it computes depends on the values that it gets."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values = x.flatten(1).sum(1)
        return torch.zeros(len(x), 25), -values if values.max() > 0 else values


@pytest.mark.usefixtures("auto")
def test_a_module_that_cannot_be_recorded_is_run_by_torch() -> None:
    evaluator, batch = Network(Deciding(), "cpu"), hex_rows(4)
    np.testing.assert_allclose(evaluator.evaluate(batch).values, -batch.observations.sum((1, 2, 3)))
    assert evaluator.backend == "torch"


def test_the_environment_names_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    module = net("hex", "1x8")
    for name in installed():
        monkeypatch.setenv("RAMIFY_BACKEND", name)
        evaluator = Network(module, "cpu")
        evaluator.evaluate(hex_rows(1))
        assert evaluator.backend == name
    monkeypatch.setenv("RAMIFY_BACKEND", "openvin")
    with pytest.raises(ValueError, match="RAMIFY_BACKEND must be one of auto, openvino, torch, onnxruntime"):
        Network(module, "cpu")
    Network(module, "cpu", backend="torch")  # an argument goes first


def test_a_backend_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    evaluator = Network(net("hex", "1x8"), "cpu", backend="openvino")
    with pytest.raises(ImportError, match=r"the backend openvino needs openvino: pip install 'ramify\[torch\]'"):
        evaluator.evaluate(hex_rows(1))
    monkeypatch.delenv("RAMIFY_BACKEND")
    monkeypatch.setattr(cpu, "installed", lambda: ("torch",))
    monkeypatch.setattr(backends, "find_spec", find_spec)
    alone = Network(net("hex", "1x8"), "cpu")
    alone.evaluate(hex_rows(1))
    assert alone.backend == "torch"


def test_batches_are_split_into_calls_of_a_few_sizes() -> None:
    for threads in (1, 2, 3, 16):
        for rows in [*range(1, 300), 511, 1000, 5000]:
            parts = list(split_rows(rows, threads))
            assert [index for part, _ in parts for index in range(part.start, part.stop)] == list(range(rows))
            assert all(part.stop - part.start <= size and size in SIZES for part, size in parts)
            total = sum(size for _, size in parts)
            assert total <= rows + max(rows // 3, 1), (rows, threads, parts)
            assert len(parts) >= min(threads, rows // (2 * LEAST_SHARE))


@needs_openvino
def test_a_batch_of_one_size_is_compiled_once_per_thread() -> None:
    evaluator = Network(net("hex", "1x8"), "cpu", backend="openvino")
    for _ in range(3):
        evaluator.evaluate(hex_rows(8))
    assert isinstance(evaluator.runner, CpuRunner)
    opened = evaluator.runner._opened.backend("openvino", (3, 5, 5))
    assert isinstance(opened, OpenVino)
    assert {size: len(free) for size, free in opened._free.items()} == {8: 1}


def test_settings_name_the_backend() -> None:
    with pytest.raises(ValueError, match="evaluator setting backend='onnx'"):
        RunConfig(backend="onnx")
