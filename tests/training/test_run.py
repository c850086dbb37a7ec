"""Whole runs: broken off anywhere and gone on with, they are the runs they would have been."""

from __future__ import annotations

import copy
import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
import torch

import ramify as rf
from ramify.networks import network_id
from ramify.selfplay import read_folder
from ramify.training import as_yaml, checkpoints, latest, network_file, read_metrics, train
from ramify.training.checkpoints import LEARNER, read_progress
from ramify.training.overlap import load_shard
from ramify.training.run import Training, start_network
from tests.training.helpers import losses, tiny


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    train(tiny(), folder)
    return folder


def identity(folder: Path) -> str:
    """The checksum of the last network of a run."""
    found = latest(folder / "checkpoints")
    assert found is not None
    return network_id(rf.networks.load(network_file(found)))


class Breaker:
    """Presses Ctrl-C once, at the first look at which ``when`` holds."""

    def __init__(self, when) -> None:
        self.when, self.done = when, False

    def __call__(self, status) -> None:
        if not self.done and self.when(status):
            self.done = True
            raise KeyboardInterrupt


def test_a_run_leaves_everything_behind(unbroken):
    assert [path.name for path in checkpoints(unbroken / "checkpoints")] == ["000000", "000001", "000002", "000003"]
    lines = list(read_metrics(unbroken / "metrics.jsonl"))
    iterations = [line for line in lines if line["kind"] == "iteration"]
    assert [line["iteration"] for line in iterations] == [1, 2, 3]
    for name in ("games", "game_length", "draws", "positions", "replay_age", "new_policy", "new_entropy", "new_top1"):
        assert all(name in line for line in iterations), name
    assert all(line["games"] == 12 for line in iterations)
    assert len(losses(unbroken)) == iterations[-1]["step"]
    assert sum(len(games) for _, games in read_folder(unbroken / "games")) == 36
    last = json.loads((unbroken / "checkpoints" / "000003" / "progress.json").read_text())
    assert last["network_id"] == identity(unbroken)
    assert {"commit", "ramify", "torch", "python"} <= set(last)
    assert (unbroken / "checkpoints" / "000003" / "config.yaml").read_text() == as_yaml(tiny())


def test_only_the_latest_can_be_gone_on_from(tmp_path):
    train(tiny(loop__keep=1, loop__iterations=2), tmp_path)
    kept = [(path / LEARNER).exists() for path in checkpoints(tmp_path / "checkpoints")]
    assert kept == [False, False, True]
    assert all(network_file(path).exists() for path in checkpoints(tmp_path / "checkpoints"))


def test_the_same_seed_gives_the_same_run(unbroken, tmp_path):
    train(tiny(), tmp_path)
    assert losses(tmp_path) == losses(unbroken)
    assert identity(tmp_path) == identity(unbroken)


@pytest.mark.parametrize(
    "when",
    [
        pytest.param(lambda status: len(status.history) == 1, id="between iterations"),
        pytest.param(
            lambda status: status.phase == "training" and status.iteration == 1 and status.share > 0,
            id="while training",
        ),
    ],
)
def test_ctrl_c_loses_nothing(unbroken, tmp_path, when, request):
    breaker = Breaker(when)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(loop__replay_ratio=8), tmp_path, show=breaker)
    assert breaker.done
    within = json.loads((latest(tmp_path / "partial") / "progress.json").read_text())["steps_in_iteration"]
    assert (within > 0) == ("while training" in request.node.name)
    train(tiny(loop__replay_ratio=8), tmp_path)
    whole = tmp_path / "whole"
    train(tiny(loop__replay_ratio=8), whole)
    told = [[set(line) for line in read_metrics(run / "metrics.jsonl", "iteration")] for run in (tmp_path, whole)]
    assert told[0] == told[1]
    assert {"positions_per_s", "evaluations_per_s", "evaluator_busy"} <= set.intersection(*told[0])
    assert losses(tmp_path) == losses(whole)
    assert identity(tmp_path) == identity(whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("where", "call"),
    [
        ("learner.Learner._learn", 2),  # the step is done, its losses are not written
        ("metrics.Metrics.write", 8),  # some of the losses are written
        ("run.Training.checkpoint", 2),  # the metrics of the iteration are written, its checkpoint is not
    ],
)
def test_a_signal_within_a_step_or_a_checkpoint_loses_nothing(unbroken, tmp_path, where, call, number, monkeypatch):
    signalled(f"ramify.training.{where}", call, number, monkeypatch)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            train(tiny(), tmp_path)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    train(tiny(), tmp_path)
    assert losses(tmp_path) == losses(unbroken)
    assert identity(tmp_path) == identity(unbroken)
    iterations = [line["step"] for line in read_metrics(tmp_path / "metrics.jsonl", "iteration")]
    assert iterations == [line["step"] for line in read_metrics(unbroken / "metrics.jsonl", "iteration")]
    assert len(checkpoints(tmp_path / "checkpoints")) == 4


def signalled(where: str, call: int, number: int, monkeypatch) -> None:
    """Send this process a signal in the middle of a call of a function."""
    module, kind, name = where.rsplit(".", 2)
    owner = getattr(sys.modules[module], kind)
    function, calls = getattr(owner, name), iter(range(1, sys.maxsize))

    def wrapped(*arguments, **options):
        if next(calls) == call:
            signal.pthread_kill(threading.main_thread().ident, number)
            time.sleep(0.01)  # until the handler of the main thread has run
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, wrapped)


def test_a_finished_run_goes_on_with_more_iterations(unbroken, tmp_path):
    train(tiny(optimizer__schedule="constant", loop__iterations=1), tmp_path)
    train(tiny(optimizer__schedule="constant", loop__iterations=3), tmp_path)
    whole = tmp_path / "whole"
    train(tiny(optimizer__schedule="constant", loop__iterations=3), whole)
    assert losses(tmp_path) == losses(whole)


def test_another_config_in_the_same_folder_is_refused(tmp_path):
    train(tiny(loop__iterations=1), tmp_path)
    with pytest.raises(ValueError, match="a run with other settings of search"):
        train(tiny(search__simulations=9), tmp_path)


def test_a_folder_without_work_takes_other_settings(tmp_path):
    training = Training(tiny(), tmp_path)
    training.begin()  # a fresh network, and nothing else
    training.metrics.close()
    train(tiny(search__simulations=9, network="mlp:1x8", loop__iterations=1), tmp_path)
    assert len(checkpoints(tmp_path / "checkpoints")) == 2
    with pytest.raises(ValueError, match="other settings of network, search"):
        train(tiny(), tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "nothing.safetensors"},
        {"params": {"size": 7}},
        {"loop__device": "cuda:99"},
        {"sources": [{"folder": "nowhere", "weight": 1}]},
    ],
)
def test_a_run_that_is_refused_leaves_nothing(tmp_path, changes):
    with pytest.raises((ValueError, OSError)):
        train(tiny(**changes), tmp_path / "runs" / "first")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_config_is_told(tmp_path):
    with pytest.raises(TypeError, match=r"must be a TrainConfig, .* not dict; TrainConfig\(\*\*settings\)"):
        train({"game": "tictactoe"}, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_made_are_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "runs" / "first"):
        with pytest.raises(OSError, match=rf"^cannot save a run in {folder}: {tmp_path}/file is not a directory$"):
            train(tiny(), folder)
    with pytest.raises(OSError, match=r"^cannot save a run in .*x: file name too long$"):
        train(tiny(), tmp_path / ("x" * 300))
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(OSError, match=rf"^cannot save a run in {tmp_path}/new: {tmp_path} is not writable$"):
        train(tiny(), tmp_path / "new")


def test_other_records_are_learnt_from_too(unbroken, tmp_path):
    sources = [{"folder": str(unbroken / "games"), "weight": 3.0}]
    train(tiny(sources=sources, loop__iterations=1), tmp_path)
    assert losses(tmp_path) != losses(unbroken)[: len(losses(tmp_path))]
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ValueError, match="no recorded positions"):
        train(tiny(sources=[{"folder": str(tmp_path / "nothing"), "weight": 1}]), tmp_path / "other")


def test_sources_are_learnt_from_before_the_first_game(unbroken, tmp_path):
    sources = [{"folder": str(unbroken / "games"), "weight": 1.0}]
    config = tiny(sources=sources, loop__source_steps=7, loop__iterations=1)
    train(config, tmp_path / "whole")
    first = checkpoints(tmp_path / "whole" / "checkpoints")[0]
    assert read_progress(first)["steps"] == 7
    untrained = rf.networks.make(config.make_game(), config.network)
    assert network_id(rf.networks.load(network_file(first))) != network_id(untrained)
    assert len(losses(tmp_path / "whole")) > 7  # and then from games of the run
    with pytest.raises(ValueError, match="source_steps needs sources"):
        tiny(loop__source_steps=1)


@pytest.mark.slow
def test_steps_on_sources_go_on_as_if_they_had_not_been_stopped(unbroken, tmp_path):
    sources = [{"folder": str(unbroken / "games"), "weight": 1.0}]
    longer = tiny(sources=sources, loop__source_steps=20, loop__iterations=1)
    with pytest.raises(KeyboardInterrupt):
        train(longer, tmp_path / "resumed", show=Breaker(lambda status: status.phase == "training on sources"))
    train(longer, tmp_path / "resumed")
    assert read_progress(checkpoints(tmp_path / "resumed" / "checkpoints")[0])["steps"] == 20
    train(longer, tmp_path / "unbroken")
    assert identity(tmp_path / "resumed") == identity(tmp_path / "unbroken")


def test_a_network_to_start_from(unbroken, tmp_path):
    start = network_file(latest(unbroken / "checkpoints"))
    train(tiny(start=str(start), loop__iterations=1), tmp_path)
    first = rf.networks.load(network_file(checkpoints(tmp_path / "checkpoints")[0]))
    assert network_id(first) == identity(unbroken)


def test_a_shipped_network_to_start_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tiny(start="hex-5", game="hex", params={"size": 5})
    game = config.make_game()
    [shipped] = [entry for entry in rf.pretrained() if entry.name == "hex-5"]
    assert network_id(start_network(config, game)) == network_id(shipped.module())
    own = rf.networks.make(game, "1x8")
    rf.networks.save("hex-5", own)  # a file of that name is meant first
    assert network_id(start_network(config, game)) == network_id(own)
    with pytest.raises(FileNotFoundError, match="hex-55"):
        start_network(tiny(start="hex-55", game="hex", params={"size": 5}), game)


def test_time_ends_a_run(tmp_path):
    start = time.perf_counter()
    train(tiny(loop__iterations=100_000, loop__max_seconds=1.0), tmp_path)
    assert time.perf_counter() - start < 30
    assert latest(tmp_path / "checkpoints").name != "000000"


def test_a_limit_that_does_not_end_a_run_does_not_change_it(tmp_path):
    """The learning rate follows the iterations, and not the clock, unless the clock is ahead of them."""
    for limit in (None, 100.0):
        train(tiny(loop__iterations=3, loop__max_seconds=limit), tmp_path / str(limit))
    rates = [[line["learning_rate"] for line in steps_of(tmp_path / name)] for name in ("None", "100.0")]
    assert rates[0] == rates[1]
    assert identity(tmp_path / "None") == identity(tmp_path / "100.0")


def steps_of(folder):
    return list(read_metrics(folder / "metrics.jsonl", "step"))


def test_a_run_that_goes_on_shows_where_it_is(unbroken, tmp_path):
    train(tiny(loop__iterations=2), tmp_path)
    seen = []
    train(tiny(), tmp_path, show=lambda status: seen.append(copy.deepcopy(status)))
    steps = len(losses(tmp_path))
    first = seen[0]
    assert (first.iteration, first.iterations) == (2, 3)
    assert 0 < first.step < steps
    assert first.done == pytest.approx(2 / 3)
    assert [set(line) for line in first.history] == [set(seen[-1].history[-1])] * 2
    assert [line["step"] for line in first.history][-1] == first.step
    assert (seen[-1].iteration, seen[-1].step) == (3, steps)


def test_no_more_than_all_of_a_run_is_over(tmp_path, monkeypatch):
    clock = itertools.count(step=0.01)  # a second is a hundred looks at it, however busy the machine is
    monkeypatch.setattr("ramify.training.run.time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    seen = []
    config = tiny(loop__iterations=100, loop__max_seconds=0.2, loop__replay_ratio=40)
    train(config, tmp_path, show=lambda status: seen.append(status.done))
    assert seen[0] < 1
    assert max(seen) == seen[-1] == 1.0
    seen.clear()
    train(config, tmp_path, show=lambda status: seen.append(status.done))
    assert set(seen) == {1.0}


def test_losses_that_come_apart_are_said(tmp_path):
    with pytest.raises(FloatingPointError, match="Training diverged"):
        train(tiny(optimizer={"kind": "sgd", "learning_rate": 1e30, "clip": None, "warmup_steps": 0}), tmp_path)


def test_damaged_shards_are_left_out(tmp_path, caplog):
    train(tiny(loop__iterations=1), tmp_path)
    shard = sorted((tmp_path / "games").glob("*.games"))[0]
    shard.write_bytes(shard.read_bytes()[:-5])
    train(tiny(loop__iterations=2), tmp_path)
    assert "skipped" in caplog.text
    caplog.clear()
    assert load_shard(shard, tiny(), 1, ()) is None
    assert "skipped" in caplog.text


def test_games_that_are_gone_are_told(tmp_path, caplog):
    config = tiny(loop__replay_ratio=8)
    train(config.replace(loop={**config.loop.model_dump(), "iterations": 1}), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, show=Breaker(lambda status: status.phase == "training" and status.share > 0))
    assert caplog.text == ""
    shutil.rmtree(tmp_path / "games")
    train(config, tmp_path)
    assert f"{tmp_path / 'games'} has only 0 of the 12 games" in caplog.text
    numbers = [game.number for _, games in read_folder(tmp_path / "games") for game in games]
    assert sorted(numbers) == list(range(12, 36))  # those of the iteration that was not over are played again
    assert len(checkpoints(tmp_path / "checkpoints")) == 4


PROGRAM = """
import sys
from pathlib import Path
import torch
from ramify.training import load_config, train
if __name__ == "__main__":
    torch.set_num_threads(1)
    train(load_config(Path(sys.argv[1])), sys.argv[2])
"""


@pytest.mark.slow
def test_kill_at_random_points_and_go_on(tmp_path):
    """kill -9, again and again: the run becomes what it would have been, game for game and loss for loss."""
    config = tiny(loop__exact=True, loop__iterations=3, loop__replay_ratio=20, loop__games=24, search__simulations=30)
    (tmp_path / "config.yaml").write_text(as_yaml(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "config.yaml")]
    start = time.perf_counter()
    subprocess.run([*command, str(whole)], check=True)
    length, rng, kills = time.perf_counter() - start, random.Random(1), 0
    for _ in range(6):
        process = subprocess.Popen([*command, str(broken)])
        try:
            process.wait(rng.uniform(0.5, 1.0) * length)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    subprocess.run([*command, str(broken)], check=True)
    assert kills
    assert losses(broken) == losses(whole)
    assert identity(broken) == identity(whole)


@pytest.mark.slow
def test_a_killed_trainer_takes_its_player_along(tmp_path):
    """kill -9 of a run that overlaps: the process that plays ends too, its finished games are kept, and it goes on."""
    config = tiny(loop__overlap=True, loop__iterations=100_000, loop__checkpoint_seconds=1.0, loop__loaders=1)
    (tmp_path / "config.yaml").write_text(as_yaml(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    run = tmp_path / "run"
    process = subprocess.Popen([sys.executable, str(tmp_path / "program.py"), str(tmp_path / "config.yaml"), str(run)])
    wait_for(lambda: len(checkpoints(run / "checkpoints")) > 2, 60)
    process.kill()
    process.wait()
    wait_for(lambda: not list((run / "games").glob(".journal*")), 30)  # the player has put everything away
    before = {game.number for _, games in read_folder(run / "games") for game in games}
    steps = json.loads((latest(run / "checkpoints") / "progress.json").read_text())["steps"]
    more = {**config.loop.model_dump(), "iterations": 1 + len(before) // config.loop.games}
    train(config.replace(loop=more), run)
    after = {game.number for _, games in read_folder(run / "games") for game in games}
    assert before < after
    assert len(losses(run)) > steps


def wait_for(condition, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end
        time.sleep(0.1)


OVERLAPPING = tiny(
    loop__overlap=True, loop__iterations=5, loop__checkpoint_seconds=0.1, loop__max_seconds=600.0, loop__loaders=1
)


def test_overlapping_runs_play_and_train_at_once(tmp_path):
    train(OVERLAPPING, tmp_path)
    networks = checkpoints(tmp_path / "checkpoints")
    assert len(networks) > 1
    games = [game.number for _, games in read_folder(tmp_path / "games") for game in games]
    assert len(set(games)) == len(games) >= 5 * 12
    used = {header["network"] for header, _ in read_folder(tmp_path / "games")}
    assert used <= {network_id(rf.networks.load(network_file(path))) for path in networks}
    assert not list((tmp_path / "games").glob(".journal*"))


@pytest.mark.slow
def test_overlapping_runs_go_on(tmp_path):
    train(OVERLAPPING, tmp_path)
    steps, loop = len(losses(tmp_path)), OVERLAPPING.loop
    played = sum(len(games) for _, games in read_folder(tmp_path / "games"))
    more = 5 + played // loop.games  # than were played already
    train(OVERLAPPING.replace(loop={**loop.model_dump(), "iterations": more}), tmp_path)
    assert len(losses(tmp_path)) > steps


def test_a_player_that_fails_is_heard_of(tmp_path):
    training = Training(tiny(), tmp_path)
    training.begin()
    training.metrics.close()
    (tmp_path / "games").write_text("in the way")
    with pytest.raises(RuntimeError, match=r"self-play failed: \w*Error: .*games"):
        train(tiny(loop__overlap=True), tmp_path)


def test_torch_threads_stay_as_they_are(tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        train(tiny(loop__iterations=1, loop__threads=2), tmp_path)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
