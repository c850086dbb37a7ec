"""Runs that play and train at once: what they count when they go on, and that all their processes end together."""

from __future__ import annotations

import copy
import json
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import ramify as rf
from ramify.selfplay import SelfPlay, read_folder
from ramify.selfplay.run import run as play_games
from ramify.training import as_yaml, checkpoints, latest, make_samples, overlap, read_metrics, read_progress, train
from ramify.training.overlap import games_to_resume
from ramify.training.playing import rollout_search, self_play
from ramify.training.run import Training
from ramify.training.shards import Consumed, own_shards
from tests.training.helpers import as_before, losses, tiny

PROGRAM = """
import sys
from pathlib import Path
import torch
from ramify.training import load_config, train
if __name__ == "__main__":
    torch.set_num_threads(1)
    train(load_config(Path(sys.argv[1])), sys.argv[2])
"""


def overlapped(**loop):
    settings = {"overlap": True, "loaders": 1, "checkpoint_seconds": 0.3, "max_seconds": 20.0, "games_per_shard": 8}
    return tiny(**{f"loop__{name}": value for name, value in {**settings, **loop}.items()})


def iterations(folder: Path) -> list[dict[str, float]]:
    return list(read_metrics(folder / "metrics.jsonl", "iteration"))


def taken(folder: Path) -> dict[str, int]:
    found = latest(folder / "checkpoints")
    assert found is not None
    return read_progress(found)["taken"]


def test_metrics_of_shards_are_combined():
    """Also with those that an earlier version left behind in an interrupted run."""
    parts = [
        {"games": 1.0, "game_length": 8.0, "mean_return": 2.0},
        {"games": 3.0, "game_length": 4.0, "mean_return": 6.0},
    ]
    assert overlap.joined(parts) == {"games": 4.0, "game_length": 5.0, "mean_return": 5.0}
    before = {"games": 4.0, "game_length": 7.0, "draws": 0.0, "first_wins": 1.0}
    assert overlap.joined([before, *parts]) == {"games": 8.0, "game_length": 6.0}


class AtOnce:
    """An executor without processes, so that runs take no time to start."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, **_):
        pass


@pytest.fixture
def plays(monkeypatch):
    """plays(n): from now on, n games are there when training begins, and nobody plays more."""
    count = 0

    @contextmanager
    def player(training):
        config = training.config
        if count:
            left, first = games_to_resume(training.games_folder, training.consumed)
            search = rollout_search(config)
            games = self_play(config, training.game, rf.evaluators.Rollout(), first, count, search, unfinished=left)
            play_games(games, training.games_folder, games_per_shard=config.loop.games_per_shard)
        yield overlap.PlayingProcess(
            training, SimpleNamespace(is_alive=lambda: True), SimpleNamespace(poll=lambda: False)
        )

    monkeypatch.setattr(overlap, "ProcessPoolExecutor", AtOnce)
    monkeypatch.setattr(overlap, "player", player)

    def choose(games):
        nonlocal count
        count = games

    return choose


def positions(folder: Path) -> int:
    games = [game for _, games in read_folder(folder / "games") for game in games]
    return sum(move.found is not None for game in games for move in game.moves)


def test_a_run_that_goes_on_counts_everything_once(plays, tmp_path, caplog):
    plays(24)
    train(overlapped(iterations=2, checkpoint_seconds=0.01), tmp_path)
    before, judged = taken(tmp_path), []
    assert (before["games"], before["positions"], before["last_shard"]) == (24, positions(tmp_path), 2)
    plays(36)
    seen, real = [], Training.judge
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Training,
            "judge",
            lambda training, rows: (judged.append(training.replay.newest(rows)), real(training, rows)),
        )
        config = overlapped(iterations=5, checkpoint_seconds=0.01)
        train(config, tmp_path, show=lambda status: seen.append(copy.copy(status)))
    assert caplog.text == ""
    assert (taken(tmp_path)["games"], taken(tmp_path)["positions"]) == (60, positions(tmp_path))
    assert sum(line["games"] for line in iterations(tmp_path)) == 60
    assert iterations(tmp_path)[-1]["positions"] == positions(tmp_path)
    assert all(status.iteration <= status.iterations for status in seen)
    assert (seen[0].iteration, seen[-1].iteration) == (2, 5)
    # What new networks are judged on was not there before: nothing of the first 24 games.
    old = made_of(config, [game for game in all_games(tmp_path) if game.number < 24])
    new = made_of(config, [game for game in all_games(tmp_path) if game.number >= 24])
    rows = [row.numpy().tobytes() for batch in judged for row in batch.observations]
    assert rows
    assert {*rows} <= {row.tobytes() for row in new.observations}
    assert len(judged[0].observations) < len(old)


def all_games(folder):
    return [game for _, games in read_folder(folder / "games") for game in games]


def made_of(config, games):
    return make_samples(rf.make("tictactoe"), games, config.search, config.targets, 1)


@pytest.mark.parametrize("size", [20, 60, 10_000])
def test_the_window_is_the_one_it_was(plays, tmp_path, monkeypatch, size):
    """A run that goes on draws from the positions from which it would have drawn."""
    windows = []

    def look(training, *_):
        windows.append(training.replay.newest(10_000).observations)
        raise KeyboardInterrupt

    def settings(iterations):
        return overlapped(iterations=iterations).replace(window={"size": size})

    plays(40)
    monkeypatch.setattr(Training, "end_iteration", look)
    with pytest.raises(KeyboardInterrupt):
        train(settings(3), tmp_path)
    monkeypatch.setattr(overlap.OverlappedTrainer, "take_in", lambda meanwhile: look(meanwhile.training))
    with pytest.raises(KeyboardInterrupt):
        train(settings(4), tmp_path)
    assert len(windows[0]) >= min(size, 100)
    assert torch.equal(windows[0], windows[1])


def test_a_run_that_is_over_does_nothing_more(plays, tmp_path):
    plays(24)
    train(overlapped(iterations=2), tmp_path)
    before, names = taken(tmp_path), [path.name for path in checkpoints(tmp_path / "checkpoints")]
    plays(0)
    train(overlapped(iterations=2), tmp_path)
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")] == names
    assert taken(tmp_path) == before


def test_a_run_whose_games_are_gone_goes_on(plays, tmp_path, caplog):
    plays(48)
    train(overlapped(iterations=4), tmp_path)
    steps = len(losses(tmp_path))
    shutil.rmtree(tmp_path / "games")
    plays(12)
    train(overlapped(iterations=5), tmp_path)
    assert "0 of the 48 games" in caplog.text
    assert taken(tmp_path)["games"] == 60
    assert len(losses(tmp_path)) > steps  # it learns from the new ones at once, not when there are 48 again
    assert sorted(game.number for game in all_games(tmp_path)) == list(range(48, 60))
    shutil.rmtree(tmp_path / "games")
    train(overlapped(iterations=5), tmp_path)
    assert taken(tmp_path)["games"] == 60


def test_games_deleted_while_it_trains_do_not_stop_a_run(plays, tmp_path):
    done = []

    def delete(status):
        if not done and len(status.history) == 1:
            for path in own_shards(tmp_path / "games"):
                path.unlink()
            evaluator = rf.evaluators.Rollout()
            games = SelfPlay(rf.make("tictactoe"), evaluator, tiny().search, games=24, parallel_games=8, first=24)
            play_games(games, tmp_path / "games", games_per_shard=8)
            done.append(True)

    plays(24)
    config = overlapped(iterations=4, checkpoint_seconds=0.001, max_seconds=30.0)
    train(config, tmp_path, show=delete)
    assert done
    assert taken(tmp_path)["games"] == 48


def test_ctrl_c_keeps_figures_that_were_not_written_yet(plays, tmp_path):
    def stop(status):
        if status.iteration >= 2:
            raise KeyboardInterrupt

    config = overlapped(iterations=4, checkpoint_seconds=60.0)
    plays(40)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, show=stop)
    partial = read_progress(latest(tmp_path / "partial"))
    assert partial["unreported"]["games"] == partial["taken"]["games"] == 24
    plays(8)
    train(config, tmp_path)
    [line] = iterations(tmp_path)
    assert line["games"] == taken(tmp_path)["games"] == 48


def test_the_mode_of_a_run(plays, tmp_path, caplog):
    """From turns to overlap and not back: with overlap, checkpoints are not iterations."""
    train(tiny(loop__iterations=3), tmp_path)
    before = iterations(tmp_path)[-1]["positions"]
    plays(24)
    train(overlapped(iterations=5), tmp_path)
    assert caplog.text == ""
    assert taken(tmp_path)["games"] == sum(line["games"] for line in iterations(tmp_path)) == 60
    assert before < taken(tmp_path)["positions"] == positions(tmp_path)
    with pytest.raises(ValueError, match=r"was trained with loop\.overlap=true"):
        train(overlapped(iterations=20, overlap=False), tmp_path)


def test_a_run_of_an_earlier_version_goes_on(plays, tmp_path, caplog):
    """It has kept no counts, and counted games again whenever it went on."""
    plays(24)
    train(overlapped(iterations=2, checkpoint_seconds=60.0), tmp_path)
    as_before(tmp_path)
    file = tmp_path / "metrics.jsonl"
    file.write_text(file.read_text().replace('"games": 24.0', '"games": 48.0'))
    plays(12)
    train(overlapped(iterations=3), tmp_path)
    assert caplog.text == ""
    assert taken(tmp_path)["games"] == 36
    assert taken(tmp_path)["positions"] == positions(tmp_path)


def children(process: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_killed_trainer(tmp_path, by):
    config = overlapped(iterations=100_000, max_seconds=None, loaders=2)
    (tmp_path / "mine.yaml").write_text(as_yaml(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    run = tmp_path / "run"
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "mine.yaml"), str(run)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: len(checkpoints(run / "checkpoints")) > 1, 100)
        started = children(process.pid)
        assert len(started) >= 2  # the player, loaders, and what multiprocessing starts for itself
        process.send_signal(by)
        _, told = process.communicate(timeout=60)
    wait_for(lambda: not any(map(alive, started)), 40)
    if by == signal.SIGTERM:
        assert process.returncode != -signal.SIGTERM  # it ended by itself
        assert "Terminated" in told
        progress = json.loads((latest(run / "partial") / "progress.json").read_text())
        assert progress["steps"] > 0
    assert not (run / "run.lock").exists() or by == signal.SIGKILL
    assert not (run / "player.lock").exists()
    assert own_shards(run / "games")


def test_games_that_were_in_play_are_played_when_a_run_goes_on(plays, tmp_path):
    """Killed before its first checkpoint, and again after it: no number is left out, whatever was deleted since."""
    config = overlapped(iterations=2, checkpoint_seconds=0.01)
    search = rollout_search(config)
    begun = self_play(config, config.make_game(), rf.evaluators.Rollout(), 9, 6, search, unfinished=[0, 4, 5])
    play_games(begun, tmp_path / "other", games_per_shard=8)  # 1 to 3 and 6 to 8 were in play
    assert games_to_resume(tmp_path / "other", Consumed()) == ([1, 2, 3, 6, 7, 8], 12)
    known = Consumed(games=6, next_game=12, unfinished=(1, 2, 3, 6, 7, 8))
    assert games_to_resume(tmp_path / "other", known) == ([1, 2, 3, 6, 7, 8], 12)
    shutil.rmtree(tmp_path / "other")  # what was learnt from is not played again
    assert games_to_resume(tmp_path / "other", known) == ([1, 2, 3, 6, 7, 8], 12)
    assert games_to_resume(tmp_path / "other", Consumed(games=6)) == ([], 0)  # of an earlier version: nothing is known

    plays(24)
    train(config, tmp_path / "run")
    assert taken(tmp_path / "run")["unfinished"] == []
    assert sorted(game.number for game in all_games(tmp_path / "run")) == list(range(24))
