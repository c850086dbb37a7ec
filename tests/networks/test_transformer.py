"""Squeeze-and-excitation, attention over a board, and files in half precision."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ramify as rf
from ramify.networks import folded, load, make, network_id, save

CHESS = rf.make("chess")
SMALL = {"kind": "attention", "layers": 2, "width": 32, "attention_heads": 4, "value": "wdl"}
SQUEEZED = {"kind": "resnet", "blocks": 2, "channels": 16, "pool_every": 0, "squeeze_channels": 4, "value": "wdl"}
CELLS = {**SQUEEZED, "value_cells": True, "value_channels": 8}


def observations(game, count: int = 6) -> torch.Tensor:
    rows, state = [], game.initial_state()
    for number in range(count):
        rows.append(torch.from_numpy(state.observation()))
        state.apply(int(state.legal_actions()[number % len(state.legal_actions())]))
    return torch.stack(rows)


@pytest.mark.parametrize("config", [SMALL, SQUEEZED, CELLS, {**SMALL, "value_cells": True}])
def test_outputs_and_one_search(config: dict) -> None:
    module = make(CHESS, config).eval()
    outputs = module(observations(CHESS))
    assert outputs["logits"].shape == (6, 4672)
    assert outputs["wdl"].shape == (6, 3)
    result = rf.search(CHESS.initial_state(), rf.evaluators.Network(module, "cpu"), simulations=8)
    assert result.visits.sum() == 7
    again = make(CHESS, config)
    assert network_id(again) == network_id(module)


@pytest.mark.parametrize("config", [SMALL, SQUEEZED])
def test_folding_changes_nothing(config: dict) -> None:
    torch.manual_seed(0)
    module = make(CHESS, config)
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    module.eval()
    x = observations(CHESS)
    for name, tensor in folded(module)(x).items():
        assert torch.allclose(tensor, module(x)[name], atol=1e-4), name


def test_every_way_in_which_squares_lie_to_each_other_has_its_bias() -> None:
    module = make(CHESS, SMALL)
    places = module.biases[0].places.view(8, 8, 8, 8)  # rank and file, from and to
    seen = {}
    for from_rank in range(8):
        for to_rank in range(8):
            for from_file in range(8):
                for to_file in range(8):
                    way = (to_rank - from_rank, to_file - from_file)
                    place = int(places[from_rank, from_file, to_rank, to_file])
                    assert seen.setdefault(way, place) == place
    assert sorted(seen.values()) == list(range(15 * 15))


@pytest.mark.parametrize("config", [SMALL, SQUEEZED])
def test_a_few_positions_are_learnt_by_heart(config: dict) -> None:
    module = make(CHESS, config, seed=1)
    x = observations(CHESS)
    moves, wins = torch.arange(6) * 700 + 14, torch.tensor([0, 1, 2, 0, 1, 2])
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3)
    losses = []
    for _ in range(25):
        outputs = module(x)
        loss = torch.nn.functional.cross_entropy(outputs["logits"], moves)
        loss = loss + torch.nn.functional.cross_entropy(outputs["wdl"], wins)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.4 * losses[0]


def test_attention_heads_are_checked_and_other_boards_fit() -> None:
    with pytest.raises(ValueError, match="must divide"):
        make(CHESS, {**SMALL, "attention_heads": 5})
    assert make(rf.make("hex", size=5), "attention:1x16").config.layers == 1


@pytest.mark.parametrize("config", [SMALL, SQUEEZED])
def test_half_precision_halves_the_file(tmp_path: Path, config: dict) -> None:
    module = make(CHESS, config).eval()
    whole, half = save(tmp_path / "whole", module), save(tmp_path / "half", module, half=True)
    assert half.stat().st_size < 0.62 * whole.stat().st_size
    again = load(half)
    assert network_id(again) != network_id(module)
    assert {weight.dtype for weight in again.state_dict().values() if weight.is_floating_point()} == {torch.float32}
    x = observations(CHESS)
    assert torch.allclose(again(x)["logits"], module(x)["logits"], atol=0.05)
    once_more = save(tmp_path / "again", again, half=True)
    assert network_id(load(once_more)) == network_id(again)  # rounded already
    with torch.no_grad():
        next(weight for weight in module.parameters() if weight.dim() > 1).fill_(1e9)
    with pytest.raises(ValueError, match="too large for half precision"):
        save(tmp_path / "large", module, half=True)


def test_earlier_files_keep_their_checksum() -> None:
    """A setting that came later is no part of it while it has its default."""
    plain = make(CHESS, {"kind": "resnet", "blocks": 1, "channels": 8})
    assert "squeeze_channels" not in plain.config.identity()
    assert "squeeze_channels" in make(CHESS, SQUEEZED).config.identity()
    assert not make(CHESS, CELLS).any_size


def test_export_in_half_precision(run, tmp_path: Path) -> None:
    save(tmp_path / "net", make(rf.make("hex", size=5), "1x8"))
    code, out, err = run("export", str(tmp_path / "net.safetensors"), "small.safetensors", "--half")
    assert (code, err) == (0, "")
    assert "Wrote small.safetensors" in out
    assert load(tmp_path / "small.safetensors").config.blocks == 1
    assert run("export", str(tmp_path / "net.safetensors"), "small.onnx", "--half")[0] == 2
    code, _, err = run("export", str(tmp_path / "net.safetensors"), "other.safetensors")
    assert code == 2
    assert "name it .onnx, or write a network file with --half" in err
    assert not (tmp_path / "other.safetensors").exists()


@pytest.mark.parametrize("preset", ["chess-taught", "chess-taught-pool", "chess-taught-attention"])
def test_every_library_runs_the_networks_of_the_presets(preset: str) -> None:
    """Small, but with the activation and the parts of the presets: OpenVINO cannot run every combination."""
    pytest.importorskip("openvino")
    from ramify.training import load_config

    config = dict(load_config(preset).network)
    small = {"layers": 1, "width": 16}
    if config["kind"] == "resnet":
        small = {"blocks": 2, "channels": 16, **({"pool_channels": 4} if "pool_channels" in config else {})}
    module = make(CHESS, {**config, **small, "policy_channels": 8}).eval()
    batch = rf.search(CHESS.initial_state(), rf.evaluators.Network(module, "cpu", backend="torch"), simulations=3)
    other = rf.search(CHESS.initial_state(), rf.evaluators.Network(module, "cpu", backend="openvino"), simulations=3)
    assert other.prior == pytest.approx(batch.prior, abs=1e-3)
    assert other.value == pytest.approx(batch.value, abs=1e-3)
