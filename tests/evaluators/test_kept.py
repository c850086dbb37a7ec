"""What is kept of a network between starts: without torch, with the same results, and never in the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ramify as rf  # noqa: E402
from ramify import networks  # noqa: E402
from ramify.engine.batch import batch_of  # noqa: E402
from ramify.evaluators import Network, kept  # noqa: E402
from ramify.evaluators.backends import KINDS  # noqa: E402
from ramify.evaluators.kept import Kept, kept_for, may_have_gpu, runs_on_cpu  # noqa: E402
from tests.children import run_child  # noqa: E402
from tests.evaluators.helpers import some_states  # noqa: E402

OTHERS = [name for name in ("openvino", "onnxruntime") if all(find_spec(package) for package in KINDS[name].needs)]
pytestmark = pytest.mark.skipif(not OTHERS, reason="only torch is installed")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a library that is chosen."""
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RAMIFY_BACKEND", OTHERS[0])
    return tmp_path / "cache" / kept.FOLDER


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return networks.save(tmp_path / "net", networks.make(game(), "1x8"))


def game(size: int = 5) -> rf.Game:
    return rf.make("hex", size=size)


def rows(count: int = 5, size: int = 5) -> rf.Batch:
    return batch_of(some_states(game(size), count))


def endings(folder: Path) -> list[str]:
    return sorted(path.suffix[1:] for path in folder.iterdir()) if folder.exists() else []


def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loads the torch network now fails."""

    def load(*_: object) -> None:
        raise AssertionError("the torch network was loaded")

    monkeypatch.setattr("ramify.evaluators.network._load", load)


@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_numbers_as_from_the_module(
    backend: str, threads: int, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = rows(40)
    plain = Network(networks.load(file, game()), "cpu", backend=backend, threads=threads)
    first = Network.from_file(file, game(), "cpu", backend=backend, threads=threads)
    expected = plain.evaluate(batch)
    found = [first.evaluate(batch)]
    assert endings(folder) == sorted([kept.FACTS, backend])
    no_torch(monkeypatch)
    second = Network.from_file(file, game(), "cpu", backend=backend, threads=threads)
    found.append(second.evaluate(batch))
    for one in found:
        np.testing.assert_array_equal(one.logits, expected.logits)
        np.testing.assert_array_equal(one.values, expected.values)
    assert (second.num_parameters, second.network_id) == (plain.num_parameters, plain.network_id)
    assert (second.backend, second.asynchronous, second.concurrent) == (backend, False, True)
    assert second.device == plain.device


def test_the_library_is_chosen_as_before(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAMIFY_BACKEND")
    batch = rows(8)
    plain = Network(networks.load(file, game()), "cpu")
    expected = plain.evaluate(batch)  # measures all libraries
    Network.from_file(file, game(), "cpu").evaluate(batch)
    if plain.backend != "torch":
        no_torch(monkeypatch)
    second = Network.from_file(file, game(), "cpu")
    np.testing.assert_array_equal(second.evaluate(batch).logits, expected.logits)
    assert second.backend == plain.backend


CHILD = """
import sys
import numpy as np
import ramify as rf
from ramify.engine.batch import batch_of
from ramify.presentation.opponents import find_evaluator
game = rf.make("{game}", **{params})
evaluator, name = find_evaluator(game, None)
found = evaluator.evaluate(batch_of([game.initial_state()]))
print(name, "torch" in sys.modules, float(found.logits.sum()).hex(), found.values.tolist())
"""


@pytest.mark.skipif(may_have_gpu(), reason="with a GPU torch is needed")
@pytest.mark.usefixtures("folder")
def test_the_second_start_does_without_torch() -> None:
    code = CHILD.format(game="hex", params={"size": 7})
    first, second = (run_child(code, timeout=120).split() for _ in range(2))
    assert (first[:2], second[:2]) == (["hex-7", "True"], ["hex-7", "False"])
    assert first[2:] == second[2:]


def test_a_library_that_would_give_other_numbers(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO computes some networks in another order of steps when it reads them from a file."""
    kind = KINDS[OTHERS[0]]
    exact = kind.run

    def run(self: Any, observations: Any) -> Any:
        logits, values = exact(self, observations)
        return (np.nextafter(logits, np.inf, dtype=np.float32), values) if self.reread else (logits, values)

    reopened = kind.reopened.__func__  # type: ignore[attr-defined]

    def marked(cls: Any, content: bytes, shape: Any) -> Any:
        found = reopened(cls, content, shape)
        found.reread = True
        return found

    monkeypatch.setattr(kind, "reread", False, raising=False)
    monkeypatch.setattr(kind, "run", run)
    monkeypatch.setattr(kind, "reopened", classmethod(marked))
    for _ in range(2):
        Network.from_file(file, game(), "cpu").evaluate(rows())
    assert endings(folder) == [kept.FACTS]


def test_other_boards_are_evaluated_by_the_module(folder: Path, file: Path) -> None:
    Network.from_file(file, game(), "cpu").evaluate(rows())
    evaluator = Network.from_file(file, game(), "cpu")
    found = evaluator.evaluate(rows(3, size=4))
    expected = Network(networks.load(file, game()), "cpu").evaluate(rows(3, size=4))
    np.testing.assert_array_equal(found.logits, expected.logits)
    assert endings(folder) == sorted([kept.FACTS, OTHERS[0]])  # of the game's own size
    with pytest.raises(rf.EvaluatorError, match="needs observations of shape"):
        evaluator.evaluate(batch_of([rf.make("tictactoe").initial_state()]))


@pytest.mark.usefixtures("folder")
def test_weights_can_be_changed(file: Path) -> None:
    Network.from_file(file, game(), "cpu").evaluate(rows())
    evaluator, other = Network.from_file(file, game(), "cpu"), networks.make(game(), "1x8", seed=3)
    before = evaluator.evaluate(rows())
    evaluator.load_weights(other)
    found, expected = evaluator.evaluate(rows()), Network(other, "cpu").evaluate(rows())
    np.testing.assert_array_equal(found.logits, expected.logits)
    assert not np.array_equal(found.logits, before.logits)
    assert (evaluator.version, evaluator.network_id) == (1, networks.network_id(other))


@pytest.mark.usefixtures("folder")
def test_a_file_that_changes_is_another_network(file: Path) -> None:
    Network.from_file(file, game(), "cpu").evaluate(rows())
    opened = Network.from_file(file, game(), "cpu")
    other = networks.make(game(), "1x8", seed=3)
    networks.save(file, other)
    found = Network.from_file(file, game(), "cpu").evaluate(rows())
    np.testing.assert_array_equal(found.logits, Network(other, "cpu").evaluate(rows()).logits)
    with pytest.raises(ValueError, match="has changed since it was opened"):
        _ = opened.module


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


def other_format(content: bytes) -> bytes:
    return content.replace(b"ramify 1 ", b"ramify 0 ", 1)


@pytest.mark.parametrize("damage", [cut, flipped, other_format, lambda content: b""])
def test_what_is_damaged_is_written_again(damage: Callable[[bytes], bytes], folder: Path, file: Path) -> None:
    expected = Network.from_file(file, game(), "cpu").evaluate(rows())
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    for path, content in whole.items():
        path.write_bytes(damage(content))
    found = Network.from_file(file, game(), "cpu").evaluate(rows())
    np.testing.assert_array_equal(found.logits, expected.logits)
    entry = kept_for(file, game())
    assert entry is not None
    assert entry.facts() is not None
    assert entry.read(OTHERS[0]) is not None
    assert set(folder.iterdir()) == set(whole)


@pytest.mark.usefixtures("folder")
def test_what_a_library_cannot_read_is_written_again(file: Path) -> None:
    expected = Network.from_file(file, game(), "cpu").evaluate(rows())
    entry = kept_for(file, game())
    assert entry is not None
    entry.keep(OTHERS[0], b"whole, but no network")
    np.testing.assert_array_equal(Network.from_file(file, game(), "cpu").evaluate(rows()).logits, expected.logits)
    assert entry.read(OTHERS[0]) != b"whole, but no network"


def test_without_a_folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_BACKEND", OTHERS[0])
    expected = Network(networks.load(file, game()), "cpu").evaluate(rows())
    (tmp_path / "taken").write_text("not a folder")
    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path / "taken"))  # cannot be written, whoever runs the tests
    for _ in range(2):
        np.testing.assert_array_equal(Network.from_file(file, game(), "cpu").evaluate(rows()).logits, expected.logits)
    monkeypatch.setattr(kept, "cache_folder", lambda: None)
    np.testing.assert_array_equal(Network.from_file(file, game(), "cpu").evaluate(rows()).logits, expected.logits)


def test_what_it_depends_on(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [kept_for(file, game()), kept_for(file, game(6)), kept_for(file, game(), errors=True)]
    monkeypatch.setattr(kept, "library_versions", lambda: "others")
    entries.append(kept_for(file, game()))
    monkeypatch.setattr(kept, "code_checksum", lambda: "changed")
    entries.append(kept_for(file, game()))
    assert len(set(entries)) == 5
    assert all(entry is not None and entry.folder == folder for entry in entries)


def test_the_folder_does_not_grow_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 1000)
    monkeypatch.setattr(kept, "LARGEST", 500)
    for number in range(5):
        Kept(folder, f"n{number}").keep("openvino", bytes(200))
        os.utime(folder / f"n{number}.openvino", (number, number))
        if number == 1:
            Kept(folder, "n0").read("openvino")  # used again
            os.utime(folder / "n0.openvino", (9, 9))
    Kept(folder, "large").keep("openvino", bytes(501))
    assert sorted(path.stem for path in folder.iterdir()) == ["n0", "n3", "n4"]


def test_networks_of_others_are_not_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.evaluators.network.is_own", lambda *_: False)
    Network.from_file(networks.save(tmp_path / "own", networks.make(game(), "1x8")), game(), "cpu").evaluate(rows())
    assert endings(folder) == []


@pytest.mark.usefixtures("folder")
def test_wrong_settings_are_refused_at_every_start(file: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="errors=True needs a network with the head value_error"):
            Network.from_file(file, game(), "cpu", errors=True)
        with pytest.raises(ValueError, match="precision must be auto or fp32"):
            Network.from_file(file, game(), "cpu", precision="bf16")
        with pytest.raises(ValueError, match="is a network for hex, not for tictactoe"):
            Network.from_file(file, rf.make("tictactoe"), "cpu")
        Network.from_file(file, game(), "cpu").evaluate(rows())


def test_devices() -> None:
    assert runs_on_cpu("cpu")
    assert runs_on_cpu(torch.device("cpu"))
    assert not runs_on_cpu("cuda")
    assert not runs_on_cpu("mps")
    assert runs_on_cpu(None) <= (not torch.cuda.is_available())
