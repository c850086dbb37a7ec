"""Players with networks: known by what is in the file, and the same play in any batch."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from ramify.arena import player_config, read_player
from ramify.arena.player import Turn
from ramify.arena.search_player import NetworkPlayer, NetworkPlayerConfig, SearchPlayerConfig
from ramify.base.shipped import shipped_networks
from ramify.engine.batch import batch_of
from tests.arena.helpers import turns_of


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("networks")
    game = rf.make("hex", size=4)
    paths = [rf.networks.save(folder / f"net{seed}", rf.networks.make(game, "1x8", seed=seed)) for seed in (0, 1)]
    return paths[0], paths[1]


def test_content_is_the_network_and_not_its_file(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.safetensors"
    shutil.copy(files[0], other)
    a, b, c = (read_player(f"search:network={path}") for path in (files[0], other, files[1]))
    assert a.identity == b.identity != c.identity
    assert a.content()["network"] == rf.networks.network_id(rf.networks.load(files[0]))
    assert read_player(f"network:network={files[0]}").identity != a.identity
    shutil.copy(files[1], other)
    assert b.identity == c.identity


def test_a_backend_counts_only_if_it_is_given(files: tuple[Path, Path]) -> None:
    for kind in ("search", "network"):
        usual, pinned = (read_player(f"{kind}:network={files[0]}{more}") for more in ("", ",backend=torch"))
        assert "backend" not in usual.content()
        assert pinned.content() == {**usual.content(), "backend": "torch"}
        assert usual.identity != pinned.identity


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("backend", ["openvino", "torch", "onnxruntime"])
def test_players_use_the_backend_that_is_given(files: tuple[Path, Path], backend: str, exact: bool) -> None:
    if not all(find_spec(package) for package in (backend, "onnxscript")):
        pytest.skip(f"{backend} is not installed")
    game = rf.make("hex", size=4)
    player = read_player(f"network:network={files[0]},backend={backend},exact={exact}").open(game)
    assert isinstance(player, NetworkPlayer)
    turns = turns_of(game, 10)
    chosen = player.choose(turns)
    assert player.evaluator.backend == backend
    if exact:  # the same in any batch
        assert chosen == [player.choose([turn])[0] for turn in turns]


def test_an_onnx_model_is_run_by_onnx_runtime(files: tuple[Path, Path], tmp_path: Path) -> None:
    for package in ("onnxruntime", "onnx", "onnxscript"):
        pytest.importorskip(package)
    model = rf.networks.export_onnx(tmp_path / "net.onnx", rf.networks.load(files[0]))
    with pytest.raises(ValueError, match="cannot be run by openvino"):
        read_player(f"network:network={model},backend=openvino").open(rf.make("hex", size=4))


def test_wrong_networks_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    for name, words in (("bad", "damaged"), ("none", "no such file")):
        with pytest.raises(ValueError, match=words):
            _ = read_player(f"search:network={tmp_path / name}.safetensors").identity
    with pytest.raises(ValueError, match="network for hex, not for tictactoe"):
        read_player(f"network:network={files[0]}").open(rf.make("tictactoe"))


def test_shipped_networks_come_by_name() -> None:
    from ramify.networks.pretrained import find

    shipped = read_player(f"search:network={find('hex-5').file}")
    assert read_player("search:network=hex-5").identity == shipped.identity
    with pytest.raises(ValueError, match="did you mean 'hex-5'"):
        _ = read_player("search:network=hex-55").identity


def test_the_network_alone_plays_its_best_legal_logit(files: tuple[Path, Path]) -> None:
    game = rf.make("hex", size=4)
    config = read_player(f"network:network={files[0]}")
    assert isinstance(config, NetworkPlayerConfig)
    player, turns = config.open(game), turns_of(game, 10)
    module = rf.networks.load(files[0])
    import torch

    for turn, action in zip(turns, player.choose(turns), strict=True):
        with torch.inference_mode():
            found = module(torch.from_numpy(turn.state.observation(turn.player)[None]))
        logits = found["logits"][0].numpy()
        legal = turn.state.legal_actions()
        assert logits[action] >= logits[legal].max() - 1e-5
        assert action in legal


@pytest.mark.parametrize("settings", ["", ",selection=gumbel", ",noise_fraction=0.5,batch=4"])
def test_batches_change_nothing(files: tuple[Path, Path], settings: str) -> None:
    pytest.importorskip("onnxruntime")
    game = rf.make("hex", size=4)
    player = read_player(f"search:network={files[0]},simulations=12,cache=0{settings}").open(game)
    cached = read_player(f"search:network={files[0]},simulations=12{settings}").open(game)
    turns = turns_of(game, 9)
    together = player.consider(turns)
    assert together == [player.consider([turn])[0] for turn in turns]
    assert together == cached.consider(turns[::-1])[::-1]
    assert player.cache is None
    assert len(cached.cache) > 9
    assert together == cached.consider(turns)
    plain = rf.Searcher(game, player.evaluator, player.search, seed=turns[0].seed).run(turns[0].state)
    assert plain.action() == together[0].action


def test_temperature_decides_whether_a_network_samples(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    game = rf.make("goofspiel", cards=4)
    network = rf.networks.save(tmp_path / "net", rf.networks.make(game, "mlp:1x8"))
    turns = [Turn(game.initial_state(), player=1, seed=seed) for seed in range(40)]

    def chosen(settings: str) -> set[int]:
        return set(read_player(f"network:network={network}{settings}").open(game).choose(turns))

    assert len(chosen("")) > 1  # both act at once
    assert len(chosen(",temperature=1")) > 1
    (best,) = chosen(",temperature=0")
    logits = rf.evaluators.Network(rf.networks.load(network)).evaluate(batch_of([turns[0].state])).logits
    assert best == int(np.asarray(logits).reshape(2, -1)[1].argmax())
    assert len(chosen(",temperature=0,temperature_moves=1")) == 1
    later = [replace(turn, ply=1) for turn in turns]
    after = read_player(f"network:network={network},temperature=0,temperature_moves=1").open(game).choose(later)
    assert len(set(after)) > 1  # the first turn alone is played at this temperature


def test_a_temperature_of_the_whole_game_is_another_player(files: tuple[Path, Path]) -> None:
    for kind in ("search", "network"):
        texts = ("", ",temperature=1", ",temperature=0", ",temperature_moves=4", ",temperature=1,temperature_moves=4")
        usual, sampling, greedy, early, same = (read_player(f"{kind}:network={files[0]}{text}") for text in texts)
        assert len({player.identity for player in (usual, sampling, greedy, early)}) == 4
        assert early.identity == same.identity
        assert (usual.content()["temperature"], usual.content()["temperature_moves"]) == (1.0, 0)  # as in old stores
        assert (sampling.content()["temperature"], sampling.content()["temperature_moves"]) == (1.0, None)


def test_shipped_models_are_searched_as_they_were_trained() -> None:
    trained = next(entry.search for entry in shipped_networks() if entry.name == "muzero-chess")
    config = player_config("muzero", network="muzero-chess")
    assert trained
    assert {name: getattr(config, name) for name in trained} == trained
    assert player_config("muzero", network="muzero-chess", discount=0.5).model_dump() == {
        **config.model_dump(),
        "discount": 0.5,
    }
    assert player_config("muzero", network="muzero-connect-four").normalize == "minmax"  # type: ignore[attr-defined]


def test_models_of_a_run_are_searched_as_they_were_trained(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    network = tmp_path / "checkpoints" / "000001" / "network.safetensors"
    network.parent.mkdir(parents=True)
    rf.networks.save(network, rf.networks.make(rf.make("tictactoe"), "muzero-mlp:1x8"))
    search = rf.SearchConfig(discount=0.9, normalize="none", noise_fraction=0.25, simulations=7).model_dump()
    marker = tmp_path / "ramify-run.json"

    def trained(**changes: object) -> None:
        config = {"search": {**search, **changes}, "play": {"acting": "average"}}
        marker.write_text(json.dumps({"config": config}), encoding="utf-8")

    trained()
    for name in (tmp_path, network.parent, network):
        found = player_config("muzero", network=str(name))
        assert isinstance(found, SearchPlayerConfig)
        assert (found.discount, found.normalize, found.selection, found.acting) == (0.9, "none", "puct", "visits")
        assert (found.noise_fraction, found.simulations, found.c_puct) == (0.0, 800, 1.25)  # those of any player
        assert player_config("muzero", network=str(name), discount=0.5).discount == 0.5  # type: ignore[attr-defined]
    trained(selection="regret")
    found = player_config("muzero", network=str(tmp_path))
    assert isinstance(found, SearchPlayerConfig)
    assert (found.selection, found.acting) == ("regret", "average")
    assert player_config("muzero", network=str(tmp_path), selection="puct").acting == "visits"  # type: ignore[attr-defined]
    for damaged in ("", "[]", '{"config": {}}'):
        marker.write_text(damaged, encoding="utf-8")
        assert player_config("muzero", network=str(tmp_path)).discount == 1.0  # type: ignore[attr-defined]
