"""Packed rows are the dense ones, every position comes once an epoch, and a run learns from a folder of records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.selfplay import PlayConfig, SelfPlay, decode
from ramify.selfplay import run as play_into
from ramify.selfplay.encoding import Label, RecordWriter
from ramify.selfplay.records import write_shard
from ramify.training import TargetConfig, TrainConfig, checkpoints, network_file, read_metrics, train
from ramify.training.losses import wdl_loss
from ramify.training.packed import PackedReplay, game_rows, joined_rows, pack_planes, training_part
from ramify.training.samples import make_samples
from tests.training.helpers import tiny

CPU = torch.device("cpu")
SEARCH = rf.SearchConfig(simulations=10)


def some_games(game, games: int = 5, **play) -> list[bytes]:
    settings = PlayConfig(temperature_end=0.5, **play)
    made = SelfPlay(game, rf.evaluators.Uniform(), SEARCH, settings, games=games, parallel_games=4)
    return [data for lot in made for data in lot]


@pytest.mark.parametrize(
    ("name", "params", "play"),
    [
        ("tictactoe", {}, {}),
        ("hex", {"size": 4}, {"resign_below": -0.2, "resign_moves": 1}),
        ("chess", {}, {"max_moves": 4, "opening_moves": 2}),
        ("connect_four", {}, {"max_moves": 9}),
    ],
)
def test_packed_rows_are_the_dense_ones(name: str, params: dict, play: dict) -> None:
    game = rf.make(name, **params)
    games = some_games(game, **play)
    targets = TargetConfig(root_share=0.25, short_share=0.25, augment=False)
    wanted = make_samples(game, [decode(data) for data in games], SEARCH, targets, 1)
    rows = joined_rows([game_rows(game, data, targets, 1.0) for data in sorted(games, key=lambda data: data[:8])])
    assert not len(rows.dense)
    assert rows.games.tolist() == wanted.games.tolist()
    batch = PackedReplay(game, rows, 0, False, CPU).batch(torch.arange(len(rows)))
    assert np.array_equal(batch.observations.numpy(), wanted.observations)
    assert np.array_equal(batch.legal.numpy(), wanted.legal)
    assert batch.policies.numpy() == pytest.approx(wanted.policies, abs=1e-3)
    assert batch.values.numpy() == pytest.approx(wanted.values)
    assert (batch.draws == -1).all()
    assert (wanted.draws == -1).all()


def taught_game(number: int, draw: float = 0.5) -> bytes:
    """A game of tic-tac-toe that the first player wins, in which every position has the same value and draw."""
    state, writer = rf.make("tictactoe").initial_state(), RecordWriter(number, 0, draws=True)
    for action in (0, 3, 1, 4, 2):
        legal = state.legal_actions().tolist()
        writer.add(state.acting[0], action, legal, Label({action: 1.0}, 0.25, draw))
        state.apply(action)
    return writer.finish((1.0, -1.0))


@pytest.mark.parametrize("root_share", [1.0, 0.5])
def test_chances_of_a_draw_are_mixed_with_the_result(root_share: float) -> None:
    """Computed by hand: the game was won, so its part of the target has no draw."""
    game, targets = rf.make("tictactoe"), TargetConfig(root_share=root_share, augment=False)
    dense = make_samples(game, [decode(taught_game(0))], SEARCH, targets, 1)
    rows = game_rows(game, taught_game(0), targets, 1.0)
    for draws, values in ((dense.draws, dense.values[:, 0]), (rows.draws, rows.values)):
        assert draws == pytest.approx(np.full(5, 0.5 * root_share))
        mixed = root_share * 0.25 + (1 - root_share)
        assert values == pytest.approx(mixed * np.array([1, -1, 1, -1, 1]))


def test_the_loss_of_win_draw_and_loss_by_hand() -> None:
    logits = torch.tensor([[0.2, 0.5, 0.3]]).log()
    known = wdl_loss(logits, torch.tensor([0.1]), torch.tensor([0.4]))
    assert known.item() == pytest.approx(-(0.35 * np.log(0.2) + 0.4 * np.log(0.5) + 0.25 * np.log(0.3)))
    unknown = wdl_loss(logits, torch.tensor([0.1]), torch.tensor([-1.0]))
    assert unknown.item() == pytest.approx(-(0.1 * np.log(0.2) + 0.9 * np.log(0.5)))
    assert unknown.item() == wdl_loss(logits, torch.tensor([0.1])).item()


def test_planes_with_several_values_stay_dense() -> None:
    plain = np.zeros((2, 3, 3, 3), np.float32)
    plain[:, 1], plain[0, 2, 1, 1] = 0.37, -2
    bits, scales, dense = pack_planes(plain)
    assert (bits.shape, scales.shape, len(dense)) == ((2, 3, 2), (2, 3), 0)
    plain[0, 1, 0, 0] = 0.5
    assert len(pack_planes(plain)[2]) == 2


def test_every_position_comes_once_an_epoch_and_held_out_ones_never() -> None:
    game, targets = rf.make("tictactoe"), TargetConfig(augment=False)
    rows = joined_rows([game_rows(game, taught_game(number), targets, 1.0) for number in range(8)])
    rows.values[:] = np.arange(len(rows))  # tells them apart
    replay = PackedReplay(game, rows, 7, False, CPU)
    assert (replay.train_rows, replay.held_out) == (30, 10)  # whole games
    drawn = torch.cat([replay.draw(12, 3, step).values[:, 0] for step in range(5)])
    assert sorted(drawn[:30].tolist()) == sorted(drawn[30:60].tolist()) == list(range(30))
    assert drawn[:30].tolist() != drawn[30:60].tolist()
    assert torch.equal(drawn[12:24], PackedReplay(game, rows, 7, False, CPU).draw(12, 3, 1).values[:, 0])
    assert replay.unseen(100).values[:, 0].tolist() == list(range(30, 40))
    assert training_part(np.array([4, 4, 4]), 1) == 3  # one game: nothing can be held out


def records_run(folder: Path, **changes) -> TrainConfig:
    return tiny(records=[str(folder)], loop__iterations=4, loop__replay_ratio=8, targets__root_share=0.5, **changes)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    made = SelfPlay(rf.make("tictactoe"), None, rf.SearchConfig(simulations=60), PlayConfig(opening_moves=4), games=120)
    play_into(made, folder, games_per_shard=60)
    return folder


def test_a_run_learns_from_records_and_self_play_goes_on_from_it(records: Path, tmp_path: Path) -> None:
    network = {"kind": "mlp", "layers": 1, "width": 32, "value": "wdl"}
    train(records_run(records, network=network, optimizer__learning_rate=0.02, loop__batch=48), tmp_path / "taught")
    lines = list(read_metrics(tmp_path / "taught" / "metrics.jsonl", "iteration"))
    first = next(iter(read_metrics(tmp_path / "taught" / "metrics.jsonl", "step")))
    assert len(lines) == 4
    assert lines[-1]["new_policy"] < first["policy"] - 0.08
    assert lines[-1]["new_value"] < first["value"] - 0.1
    assert lines[-1]["trained_positions_per_s"] > 0
    assert not (tmp_path / "taught" / "games").exists()
    on = tiny(start=str(tmp_path / "taught"), network=network, loop__iterations=1)
    train(on, tmp_path / "on")
    first = rf.networks.load(network_file(checkpoints(tmp_path / "on" / "checkpoints")[0]))
    taught = rf.networks.load(network_file(checkpoints(tmp_path / "taught" / "checkpoints")[-1]))
    assert rf.networks.network_id(first) == rf.networks.network_id(taught)


def test_a_stopped_run_is_resumed_bit_for_bit(records: Path, tmp_path: Path) -> None:
    def weights(folder: Path) -> str:
        return rf.networks.network_id(rf.networks.load(network_file(checkpoints(folder / "checkpoints")[-1])))

    def stop(status) -> None:
        if status.step >= 50:
            raise KeyboardInterrupt

    config = records_run(records, loop__batch=32)
    train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", show=stop)
    train(config, tmp_path / "parts")
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")


def test_settings_that_have_no_meaning_with_records_are_refused(records: Path, tmp_path: Path) -> None:
    for changes, problem in (
        ({"targets__policy": "pruned"}, "must be visits"),
        ({"curriculum": [{"until": 0.5}]}, "no sources, curriculum or variants"),
        ({"targets__surprise": 0.5}, "drawn evenly"),
    ):
        with pytest.raises(ValueError, match=problem):
            records_run(records, **changes)
    with pytest.raises(ValueError, match="ownership head cannot be trained on records"):
        train(
            records_run(records, network={"kind": "resnet", "blocks": 1, "channels": 8, "heads": ["ownership"]}),
            tmp_path,
        )
    with pytest.raises(FileNotFoundError, match="no folder"):
        train(records_run(tmp_path / "nowhere"), tmp_path / "a")
    write_shard(tmp_path / "000000.games", [], {"game": "hex", "params": {"size": 3}, "search": {}})
    with pytest.raises(ValueError, match="games of hex, not of tictactoe"):
        train(records_run(tmp_path), tmp_path / "b")
