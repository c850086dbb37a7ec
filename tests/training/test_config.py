"""Configs: presets, files, overrides, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from ramify.base.settings import SettingsError, SettingsWarning, read_value
from ramify.training import TrainConfig, as_yaml, load_config, presets
from ramify.training.config import WindowConfig
from tests.training.helpers import tiny


@pytest.mark.parametrize("name", presets())
def test_presets_are_whole(name):
    config = load_config(name)
    game, own = config.game.replace("_", "-"), name.removeprefix("muzero-")
    assert game == own or own.startswith(f"{game}-") or own in game.lower()
    assert TrainConfig(**config.model_dump()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gmae": "hex"}, "no training setting 'gmae'; did you mean 'game'"),
        ({"loop.iteratoins": 3}, "no loop setting 'iteratoins'; did you mean 'iterations'"),
        ({"search.simulatons": 3}, "no search setting 'simulatons'; did you mean 'simulations'"),
        ({"loop": 3}, "loop=3: it is a group of settings; set loop.NAME instead, such as loop.iterations"),
        ({"sources": ["runs/f"]}, 'it is a group of settings; write it as {"folder": …}'),
        ({"loop.batch": 0}, "loop setting batch=0: must be at least 1"),
        ({"targets.policy": "vists"}, "did you mean 'visits'"),
        ({"network.kind": "resnt"}, "unknown kind of network 'resnt'; did you mean 'resnet'? the kinds are"),
        ({"records": "a,b"}, "training setting records='a,b': must be a list, such as [a,b]"),
        ({"targets": {"root_share": 0.7, "short_share": 0.7}}, "must not exceed 1"),
        ({"targets.policy": "average"}, 'needs search.selection="regret"'),
        ({"seed.x": 3}, "training setting seed is 0: it has no setting 'x' within"),
        ({"loop": {"exact": True, "overlap": True}}, "loop.exact needs loop.overlap=false"),
        ({"loop": {"exact": True, "evaluator": "torch"}}, "loop.exact needs loop.evaluator=onnx"),
        ({"loop": {"exact": True, "evaluator": "openvino"}}, "loop.exact needs loop.evaluator=onnx"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(SettingsError) as caught:
        load_config("hex-5", {"seed": 0, **changes})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a,b]", ["a", "b"]),
        ('["a","b"]', ["a", "b"]),
        ("[runs/a b, 'c']", ["runs/a b", "'c'"]),
        ('["a,b", c]', ["a,b", "c"]),
        ("[1, x, None]", [1, "x", None]),
        ("[[a,b],[c]]", [["a", "b"], ["c"]]),
        ("[]", []),
        ("[a", "[a"),
        ("a,b", "a,b"),
        ("None", None),
    ],
)
def test_values_as_typed(text, value):
    assert read_value(text) == value


def test_another_kind_of_network_keeps_the_settings_that_it_has(tmp_path):
    with pytest.warns(SettingsWarning, match="of pyrat-7, as the kind resnet has no such settings: value_unit$"):
        config = load_config("pyrat-7", {"network.kind": "resnet", "network.channels": 16})
    assert config.network == {"kind": "resnet", "blocks": 4, "channels": 16}
    with pytest.warns(SettingsWarning, match="settings: blocks, channels$"):
        config = load_config("pyrat-7", {"network.kind": "cells-attention"})
    assert config.network == {"kind": "cells-attention", "value_unit": "remaining"}
    path = tmp_path / "mine.yaml"
    path.write_text("game: hex\nnetwork: 3x32\n")
    assert load_config(path, {"network.kind": "muzero"}).network == {"kind": "muzero", "blocks": 3, "channels": 32}


def test_settings_given_with_another_kind_of_network_have_to_fit_it():
    with pytest.raises(SettingsError, match="no network setting 'value_unit'"):
        load_config("pyrat-7", {"network.kind": "resnet", "network.value_unit": "points"})
    with pytest.raises(SettingsError, match="no network setting 'width'"):
        load_config("hex-5", {"network.kind": "resnet", "network.width": 3})


def test_files_and_overrides(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(as_yaml(tiny()))
    assert load_config(path) == tiny()
    assert load_config(path, {"loop.games": 5, "params": {}}) == tiny(loop__games=5)
    path.write_text("game: [")
    with pytest.raises(SettingsError, match="is not YAML"):
        load_config(path)
    path.write_bytes(b"\x89PNG\xff")
    with pytest.raises(SettingsError, match=r"mine\.yaml is not YAML: it is no text"):
        load_config(path)
    path.write_text("- 3")
    with pytest.raises(SettingsError, match="first level"):
        load_config(path)
    with pytest.raises(FileNotFoundError, match="did you mean 'hex-5'"):
        load_config("hex-55")


def test_the_window_grows_as_katagos():
    window = WindowConfig(size=250_000, exponent=0.75, scale=0.4)
    # The published figures: 250,000 at first, "about 22 million" after 241 million.
    assert window.positions(250_000) == 250_000
    assert window.positions(241_000_000) == pytest.approx(22e6, rel=0.06)
    assert WindowConfig(size=10, growing=False).positions(10**9) == 10
