"""The loop of tuning and training, on tic-tac-toe in seconds."""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext

import pytest

from ramify import training
from ramify.sweeps import Improve, Sweep, improve, load_improve, remote
from ramify.training import as_yaml, latest
from ramify.training.presets import load_config
from tests.training.helpers import tiny

YAML = """
game: tictactoe
first: search:evaluator=rollout,simulations=4
player: search:network={run},simulations=4
settings: {c_puct: {low: 0.5, high: 4.0, log: true}}
opponents: [random, "alphabeta:depth=1"]
train: TINY
train_seconds: 60
rounds: 2
trials: 2
games: 4
first_games: 4
confirm_games: 4
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "tiny.yaml").write_text(as_yaml(tiny(loop__iterations=1)))
    path = tmp_path / "loop.yaml"
    path.write_text(YAML.replace("TINY", str(tmp_path / "tiny.yaml")))
    return path


@pytest.mark.slow
def test_each_round_tunes_and_trains_from_the_last_network(file, tmp_path):
    seen = []
    config = load_improve(file)
    found = Improve(config, tmp_path / "loop").run(lambda number, progress: seen.append((number, progress is None)))
    assert [one.number for one in found] == [0, 1, 2]
    assert [number for number, trains in seen if trains] == [0, 1]
    assert found[2].run is None
    assert "evaluator=rollout" in found[0].player
    assert found[0].run is not None
    assert found[0].run in found[1].player
    second = load_config(tmp_path / "loop" / "001" / "run" / "config.yaml")
    assert second.start == found[0].run
    for number, one in enumerate(found[:2]):
        trained = load_config(tmp_path / "loop" / f"{number:03d}" / "run" / "config.yaml")
        if one.settings:
            assert trained.search.c_puct == one.settings["c_puct"]
            assert f"c_puct={one.settings['c_puct']}" in one.player
    before = {}
    for one in found:  # adopted only if new games were won
        assert (one.settings != before) == bool(one.gain and one.gain > 0)
        before = one.settings
    assert latest(tmp_path / "loop" / "001" / "run" / "checkpoints") is not None


@pytest.mark.slow
def test_a_stopped_loop_goes_on_where_it_was(file, tmp_path, monkeypatch):
    config = load_improve(file, rounds=1)
    begun, real = [], Sweep.run

    def run(sweep, watch=None):
        begun.append(sweep.folder.parent.name)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(sweep, watch)

    monkeypatch.setattr(Sweep, "run", run)
    with pytest.raises(KeyboardInterrupt):
        Improve(config, tmp_path / "loop").run()
    found = Improve(config, tmp_path / "loop").run()
    assert begun == ["000", "001", "001"]
    assert len(found) == 2
    assert str(found[0].run) in found[1].player
    with pytest.raises(ValueError, match=r"has a loop with other settings \(games\)"):
        Improve(load_improve(file, games=8), tmp_path / "loop")


def test_the_command_prints_the_rounds(file, run):
    code, out, _ = run("improve", str(file), "--rounds", "1", "--json")
    assert code == 0
    assert [one["number"] for one in json.loads(out)["rounds"]] == [0, 1]
    code, out, _ = run("improve", str(file), "--rounds", "1")
    assert code == 0
    assert "Player: search:network=" in out


def test_a_cluster_helps_with_sweeps_and_training(file, run, tmp_path, monkeypatch):
    asked, trained, real = [], [], training.train

    @contextmanager
    def helped(config, target, *arguments, grace):
        asked.append(config.address)
        yield

    def train(config, folder):
        trained.append(config.cluster.address)
        real(tiny(loop__iterations=1), folder)

    @contextmanager
    def connected(address):
        asked.append(f"connected to {address}")
        yield

    monkeypatch.setattr(remote, "helped", helped)
    monkeypatch.setattr(remote, "connected", lambda _: nullcontext())
    monkeypatch.setattr(improve, "connected", connected)
    monkeypatch.setattr(training, "train", train)
    (tmp_path / "tiny.yaml").write_text(as_yaml(tiny(loop__iterations=1, loop__overlap=None)))
    command = ["improve", str(file), "--rounds", "1", "--cluster"]
    code, out, err = run(*command, "local", "--json")
    assert (code, err) == (0, "")
    assert asked == ["connected to local", "local", "local"]
    assert trained == ["local"]
    assert len(json.loads(out)["rounds"]) == 2
    folder = tmp_path / "other"
    code, _, err = run(*command, "auto", "--folder", str(folder))
    assert code == 2
    assert "need a store that all of them reach" in err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"player": "search:simulations=4"}, "player must have network="),
        ({"settings": {"learning_rate": {"low": 0.1, "high": 0.2}}}, "learning_rate is not a search setting"),
        ({"opponents": []}, "opponents"),
    ],
)
def test_mistakes_are_named(file, changes, message):
    with pytest.raises(ValueError, match=message):
        load_improve(file, **changes)


def test_training_on_another_board_is_refused(file, tmp_path):
    config = load_improve(file).replace(game="hex", params={"size": 3}, train="hex-5")
    with pytest.raises(ValueError, match=r"train is .*size=5.*, but matches are played on .*size=3"):
        Improve(config, tmp_path / "loop")
    Improve(config.replace(params={"size": 5}), tmp_path / "loop")
    with pytest.raises(ValueError, match=r"train is .*size=5.*, but matches are played on .*size=11"):
        Improve(config.replace(params={}), tmp_path / "other")


def test_training_on_several_boards_may_be_tuned_on_one_of_them(file, tmp_path):
    """pyrat-full is trained on 21x15 boards, and on others in turn."""
    training = load_config("pyrat-full")
    board = {**training.params, **training.variants[0].params}
    config = load_improve(file).replace(game="pyrat", train="pyrat-full", params=board)
    Improve(config, tmp_path / "loop")
