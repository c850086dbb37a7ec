"""Networks in files come back exactly, and what is damaged is not loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.networks import files
from tests.networks.helpers import game_of, net


@pytest.mark.parametrize(("label", "config"), [("hex swap", "2x8"), ("pyrat", "1x8"), ("matrix", "mlp:1x8")])
def test_a_network_comes_back(label: str, config: str, tmp_path: Path) -> None:
    module = net(label, config)
    file = networks.save(tmp_path / "new" / "net", module)
    assert file == tmp_path / "new" / "net.safetensors"
    again = networks.load(file)
    x = torch.rand(3, *game_of(label).observation_shape)
    assert all(torch.equal(a, b) for a, b in zip(module(x).values(), again(x).values(), strict=True))
    assert (again.config, again.spec) == (module.config, module.spec)
    assert networks.network_id(again) == networks.network_id(module)
    facts = json.loads((tmp_path / "new" / "net.json").read_text())
    assert facts["game"] == module.spec.game
    assert facts["network"]["kind"] == module.config.kind
    assert facts["network_id"] == networks.network_id(module)
    assert sorted(path.name for path in file.parent.iterdir()) == ["net.json", "net.safetensors"]


def test_another_size_takes_the_same_weights(tmp_path: Path) -> None:
    file = networks.save(tmp_path / "net", net("hex", "2x8"))
    again = networks.load(file, rf.make("hex", size=9))
    assert again.spec.observation_shape == (3, 9, 9)
    assert networks.network_id(again) == networks.network_id(networks.load(file))
    with pytest.raises(ValueError, match="is a network for hex, not for chess"):
        networks.load(file, rf.make("chess"))
    with pytest.raises(ValueError, match="does not fit"):
        networks.load(file, rf.make("hex", swap=True))


def test_what_is_damaged_is_not_loaded(tmp_path: Path) -> None:
    file = networks.save(tmp_path / "net", net("hex", "1x8"))
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="its checksum is not that of its weights"):
        networks.load(file)
    file.write_bytes(content[:100])
    with pytest.raises(ValueError, match="is damaged, or no network"):
        networks.load(file)
    with pytest.raises(FileNotFoundError, match="there is no network"):
        networks.load(tmp_path / "other")


def test_a_crash_leaves_the_old_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = networks.save(tmp_path / "net", net("hex", "1x8"))
    before = networks.network_id(networks.load(file))

    def crash(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(files.os, "fsync", crash)
    with pytest.raises(OSError, match="no space left"):
        networks.save(tmp_path / "net", net("hex", "1x8", seed=1))
    assert networks.network_id(networks.load(file)) == before
    assert len(list(tmp_path.iterdir())) == 2  # nothing half-written is left lying about


def test_the_checksum_sees_every_weight_and_setting() -> None:
    module = net("hex", "1x8")
    seen = {networks.network_id(module)}
    with torch.no_grad():
        for weight in [*module.parameters(), *module.buffers()]:
            weight.view(-1)[0] += 1
            seen.add(networks.network_id(module))
    assert len(seen) == 1 + len(list(module.parameters())) + len(list(module.buffers()))
    one, other = (
        networks.make(rf.make("hex"), networks.ResNetConfig(blocks=1, value=kind)) for kind in ("tanh", "linear")
    )
    assert networks.network_id(one) != networks.network_id(other)  # the same weights, another answer
