"""Networks in files come back exactly, and what is damaged is not loaded."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.networks import files
from ramify.networks.build import shapes
from tests.networks.helpers import game_of, net, outcome


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
    with pytest.raises(ValueError, match=r"does not fit hex\(.*swap=True\): it is a network for size=5, swap=false; "):
        networks.load(file, rf.make("hex", swap=True))


def test_a_network_for_another_reward_is_refused(tmp_path: Path) -> None:
    """Its values would mean something else: the difference of cheese, or one's own."""
    board = {"width": 5, "height": 5, "cheese": 3}
    networks.save(tmp_path / "net", networks.make(rf.make("pyrat", **board, reward="difference"), "destinations:1x8"))
    networks.load(tmp_path / "net", rf.make("pyrat", width=7, height=5, cheese=5, reward="difference"))
    with pytest.raises(ValueError, match=r"reward=difference, not reward=cheese.*-p reward=difference"):
        networks.load(tmp_path / "net", rf.make("pyrat", **board, reward="cheese"))


def test_what_is_damaged_is_not_loaded(tmp_path: Path) -> None:
    file = networks.save(tmp_path / "net", net("hex", "1x8"))
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged: its checksum does not match its content"):
        networks.load(file)
    file.write_bytes(content[:100])
    with pytest.raises(ValueError, match="or it is damaged"):
        networks.load(file)
    with pytest.raises(FileNotFoundError, match="not found"):
        networks.load(tmp_path / "other")


def rewrite(file: Path, change: Callable[[dict[str, Any]], None], *, keep: bool = False) -> None:
    """Change the header of a file, as earlier versions wrote it: without a checksum unless ``keep``."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    if not keep:
        del header["__metadata__"][files.CHECKSUM]
    change(header)
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    """Wherever it is: the file is refused in one sentence, or the byte means nothing and the network is the same."""
    module = net("hex", "1x8")
    file = networks.save(tmp_path / "net", module)
    whole, rng, refused = file.read_bytes(), random.Random(0), 0
    end = 8 + int.from_bytes(whole[:8], "little")
    places = [*range(8), *rng.sample(range(8, end), 120), *rng.sample(range(end, len(whole)), 40)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= rng.randrange(1, 256)
        file.write_bytes(damaged)
        found, complaint = outcome(lambda: networks.load(file))
        if complaint:
            refused += 1
            assert re.search("damaged|was not written by", complaint), complaint
            assert "\n" not in complaint
        else:
            assert (found.spec, found.config) == (module.spec, module.config)
            assert networks.network_id(found) == networks.network_id(module)
    assert refused > 0.9 * len(places)


def test_the_description_is_part_of_the_checksum(tmp_path: Path) -> None:
    """The weights fit every size of board, so that nothing else would notice another one."""
    file = networks.save(tmp_path / "net", net("hex", "1x8"))

    def another_size(header: dict[str, Any]) -> None:
        facts = header["__metadata__"]["ramify"]
        assert '"size": 5' in facts
        header["__metadata__"]["ramify"] = facts.replace('"size": 5', '"size": 7')

    rewrite(file, another_size, keep=True)
    with pytest.raises(ValueError, match="is damaged: its checksum does not match its content"):
        networks.load(file)


def test_files_of_earlier_versions_have_no_checksum(tmp_path: Path) -> None:
    module = net("hex", "1x8")
    file = networks.save(tmp_path / "net", module)
    rewrite(file, lambda header: None)
    assert networks.network_id(networks.load(file)) == networks.network_id(module)
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged: its checksum does not match its weights"):
        networks.load(file)


@pytest.mark.parametrize(
    "claim", ['{"kind": "resnet", "blocks": 20, "channels": 4096}', '{"kind": "mlp", "width": 65536}']
)
def test_a_claim_of_more_weights_than_there_are_is_refused_unbuilt(
    claim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty blocks of 4096 channels take 24 GB, which nobody may ask for with a file of some kilobytes."""
    file = networks.save(tmp_path / "net", net("hex", "1x8"))

    def boast(header: dict[str, Any]) -> None:
        facts = json.loads(header["__metadata__"]["ramify"])
        header["__metadata__"]["ramify"] = json.dumps({**facts, "network": json.loads(claim)})

    def build(*_: Any, **__: Any) -> None:
        raise AssertionError("the network has been built")

    rewrite(file, boast)
    monkeypatch.setattr(files, "make", build)
    with pytest.raises(ValueError, match=r"does not fit hex.*: \S+ (has shape .*|is not there), and for this network"):
        networks.load(file)


def test_shapes_are_known_without_weights() -> None:
    module = net("pyrat", "3x16")
    wanted = {name: tuple(weight.shape) for name, weight in module.state_dict().items()}
    assert shapes(game_of("pyrat"), module.config) == wanted


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
