"""``ramify train`` and ``ramify demo``, small."""

from __future__ import annotations

import io
import json
import shlex
import time
import warnings
from pathlib import Path

import pytest

import ramify as rf
from ramify.base.settings import SettingsWarning
from ramify.cli.common import sparkline
from ramify.training import load_config

SMALL = ["network=1x8", "loop.games=8", "loop.threads=1", "loop.rollout_iterations=1", "loop.rollout_simulations=10"]


@pytest.mark.parametrize("kind", ["mlp", "muzero"])
def test_heads_that_a_kind_of_network_cannot_have_are_left_out_as_the_error_says(run, kind):
    code, _, err = run("train", "pyrat-full", f"network.kind={kind}")
    assert code == 2
    assert err.endswith(": use network.heads=[]\n")
    assert "cheese" in err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)
        config = load_config("pyrat-full", {"network.kind": kind, "network.heads": []})
    game = rf.make("pyrat", width=5, height=5, cheese=5)
    assert rf.networks.make(game, config.network).config.heads == ()
    with pytest.raises(ValueError, match="head" if kind == "muzero" else r"use network\.heads=\[wdl,score\]"):
        rf.networks.make(game, {**config.network, "heads": ["wdl", "cheese", "score"]})


def test_presets_are_listed(run):
    code, out, _ = run("train")
    assert code == 0
    assert "hex-5" in out
    assert "from nothing" in out
    assert json.loads(run("train", "--json")[1]).keys() >= {"hex-5", "hex-7", "hex-11"}


def test_a_run_goes_on_and_is_kept_in_a_store(run, tmp_path):
    pytest.importorskip("sqlalchemy")
    code, out, err = run("train", "hex-5", *SMALL, "loop.iterations=2", "--store", "r.db")
    assert code == 0, err
    assert "Network: runs/hex-5/checkpoints/000002/network.safetensors" in out
    assert "iteration 2" in out
    code, out, _ = run("train", "hex-5", *SMALL, "loop.iterations=3", "--store", "r.db", "--json")
    assert json.loads(out)["iteration"] == 3
    from ramify.store import Store

    with Store(tmp_path / "r.db") as store:
        [only] = store.runs()
        assert only.status == "finished"
        assert [checkpoint.iteration for checkpoint in store.checkpoints(only.id)] == [1, 2, 3]
        assert [metric.step for metric in store.metrics(only.id, "new_policy")] == [1, 2, 3]


def test_a_run_that_comes_apart_has_failed(run, tmp_path):
    pytest.importorskip("sqlalchemy")
    apart = ("optimizer.learning_rate=1e30", "optimizer.warmup_steps=0", "optimizer.clip=null")
    code, _, err = run("train", "hex-5", *SMALL, "loop.iterations=3", *apart, "--store", "r.db", "--json")
    assert (code, err.count("\n")) == (2, 1)
    assert "Training diverged" in err
    from ramify.store import Store

    with Store(tmp_path / "r.db") as store:
        assert [only.status for only in store.runs()] == ["failed"]


def test_settings_are_shown(run):
    _, out, _ = run("train", "hex-5", "seed=7", "--show")
    assert "seed: 7" in out
    assert "temperature_half_life" in out


def test_settings_that_another_kind_of_network_does_not_have_are_named_in_a_line(run):
    code, out, err = run("train", "pyrat-7", "network.kind=resnet", "--show")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("ramify: warning: left out of the network of pyrat-7")
    assert "value_unit" in err
    assert "network:\n  kind: resnet\n  blocks: 4\n  channels: 32\n" in out


def test_parameters_are_those_of_the_game_that_is_trained(run):
    given = ("-p", "size=4")
    code, out, err = run("train", "muzero-tictactoe", "game=hex", *given, "--show")
    assert code == 0, err
    assert "game: hex\nparams:\n  size: 4\n" in out
    code, _, err = run("train", "hex-5", "game=tictactoe", *given)
    assert (code, err) == (2, "ramify: tictactoe has no parameter 'size'; it has no parameters\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hx-5"], "did you mean 'hex-5'"),
        (["hex-5", "loop.gmaes=3"], "no loop setting 'gmaes'; did you mean 'games'"),
        (["hex-5", "search.simulations=0"], "simulations=0"),
        (["hex-5", "network=7"], "network=7: must be a size"),
        (["hex-5", "network.blcks=7"], "no network setting 'blcks'; did you mean 'blocks'"),
        (["hex-5", "network=big"], "big"),
        (["hex-5", "game=chess"], "chess"),
        (["hex-5", "start=nothing.safetensors"], "not found"),
        (["hex-5", "loop.device=tpu"], "device must be cpu, cuda or cuda:N, not 'tpu'"),
        (["hex-5", "loop.device=cuda:99"], "device cuda:99 is not available: torch finds "),
        (["hex-5", "nonsense"], "key=value"),
        (["tictactoe", "-p", "size=4"], "tictactoe has no parameter 'size'; it has no parameters"),
        (["hex", "-p", "sise=4"], "did you mean 'size'? its parameters are size, swap"),
    ],
)
def test_mistakes_are_one_line(run, tmp_path, words, message):
    code, out, err = run("train", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "runs").exists()


def test_a_store_that_is_none_is_told_before_a_folder_is_made(run, tmp_path):
    pytest.importorskip("sqlalchemy")
    (tmp_path / "r.db").write_text("no database, but a text of some length")
    code, _, err = run("train", "hex-5", *SMALL, "--store", "r.db")
    assert (code, err.count("\n")) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


def test_a_file_is_no_folder_for_a_run(run, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run("train", "hex-5", *SMALL, "--folder", "file")
    assert (code, err) == (2, "ramify: cannot save a run in file: file is not a directory\n")


def test_the_demo_trains_rates_and_reports(run, tmp_path):
    pytest.importorskip("sqlalchemy")
    words = ("demo", *SMALL, "loop.iterations=2", "--games", "2", "--simulations", "5")
    code, out, err = run(*words, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert {row["name"] for row in found["ratings"]} == {
        *("untrained", "iteration 1", "iteration 2", "alpha-beta, depth 3", "random"),
        "random playouts, 5 simulations",
    }
    page = (tmp_path / found["report"]).read_text()
    for part in ("Learning Hex 5×5 from self-play", "How strong it is", "What it thinks", "<svg", "max_seconds"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    code, out, _ = run(*words)  # nothing is left to do
    assert "Report: runs/demo/report.html" in out
    (tmp_path / "runs/demo").rename(tmp_path / "runs/a,seed=b")  # a name that no player's text could have
    code, _, err = run(*words, "--folder", "runs/a,seed=b")
    assert code == 0, err


def test_mistakes_of_the_demo_are_told_before_it_trains(run, tmp_path):
    assert run("demo", "--games", "3")[::2] == (
        2,
        "ramify: games come in pairs, one with each player first: give an even number, not 3\n",
    )
    assert run("demo", "nonsense")[::2] == (2, "ramify: settings must have the form key=value, not 'nonsense'\n")
    assert not (tmp_path / "runs").exists()


def test_export_writes_a_model_that_answers(run, tmp_path):
    pytest.importorskip("onnxruntime")
    code, out, err = run("export", "hex-5", "net.onnx", "-p", "size=4")
    assert code == 0, err
    assert "Wrote net.onnx: hex(size=4" in out
    module = rf.networks.shipped()[0].module(rf.make("hex", size=4))  # hex-5
    assert f"{rf.networks.flops(module):,} floating-point operations per evaluation" in out
    result = rf.search(rf.make("hex", size=4).initial_state(), rf.evaluators.Onnx("net.onnx"), simulations=3)
    assert result.visits.sum() == 2
    assert run("export", "hex-55", "x.onnx")[0] == 2
    assert "is a folder" in run("export", "hex-5", ".")[2]


def test_curves():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([3, 3]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 40
    assert sparkline(list(range(1000)))[0] == "▁"


def drawn(status) -> str:
    from pathlib import Path

    from rich.console import Console

    from ramify.cli.train import picture

    console = Console(width=100, file=io.StringIO())
    console.print(picture(status, Path("runs/x")))
    return console.file.getvalue()


def test_the_panel_is_drawn():
    from ramify.training import Status

    line = {"step": 1.0, "new_policy": 2.0, "new_value": 0.5, "new_top1": 0.1, "game_length": 9.0, "mean_return": 7.5}
    status = Status("training", 2, 4, 30, 0.5, 0.5, 10.0, {"policy": 1.5, "total": 2.5}, [line, {**line, "step": 2.0}])
    text = drawn(status)
    for part in (
        "runs/x",
        "2 of 4, step 30: training",
        "about 10 s left",
        "policy 1.500",
        "policy loss on new positions",
        "mean return",
    ):
        assert part in text
    assert [line.strip() for line in text.splitlines() if "━" in line] == ["━" * 30]  # half of it, on a line of its own


def test_a_run_that_is_out_of_time_is_finishing():
    from ramify.training import Status

    text = drawn(Status("playing", 3, 20, 30, 0.5, 1.0, 50.0))
    assert "50 s, finishing" in text
    assert "left" not in text


def test_lines_tell_of_new_iterations_only(capsys):
    from ramify.cli.train import Lines
    from ramify.training import Status

    lines = Lines(Path("runs/here"), quiet=False)
    status = Status(iteration=2, history=[{"game_length": 7.0}, {"game_length": 8.0}])
    lines(status)
    assert capsys.readouterr().out == ""
    status.iteration = 3
    status.history.append({"game_length": 9.0})
    lines(status)
    lines(status)
    assert capsys.readouterr().out == "iteration 3  step 0  0 s  game_length 9.000\n"


def test_without_a_terminal_a_line_is_printed_at_the_start_and_while_nothing_is_reported(capsys, monkeypatch):
    from ramify.cli import train
    from ramify.training import Status

    monkeypatch.setattr(train, "LINE_SECONDS", 0.02)
    printed = ""
    with train.Lines(Path("runs/here"), quiet=False) as lines:
        printed += capsys.readouterr().out
        assert "runs/here" in printed
        lines(Status(phase="playing", iteration=3, iterations=9, share=0.5))
        end = time.monotonic() + 30
        while "playing" not in printed and time.monotonic() < end:
            time.sleep(0.01)
            printed += capsys.readouterr().out
    assert "4 of 9" in printed
    assert "50 %" in printed
    with train.Lines(Path("runs/here"), quiet=True) as lines:
        lines(Status())
        time.sleep(0.05)
    assert capsys.readouterr().out == ""


def test_the_commands_named_at_the_end_work(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # nobody plays
    _, out, _ = run("train", "hex", "-p", "size=3", *SMALL, "loop.iterations=1", "search.simulations=4")
    assert "runs/hex-size=3/checkpoints/000001" in out
    commands = [shlex.split(line)[1:] for line in out.splitlines() if line.startswith("  ramify ")]
    assert [words[0] for words in commands] == ["play", "rate", "report"]
    quick = {"play": ["--simulations", "2"], "rate": ["--games", "2", "--no-references"], "report": []}
    for words in commands:
        code, _, err = run(*words, *quick[words[0]])
        assert (code, err) == (0, ""), words


@pytest.mark.parametrize(
    ("preset", "named"),
    [
        ("muzero-tictactoe", ["play tictactoe --against muzero:network=RUN", "rate RUN", "inspect RUN", "report RUN"]),
        ("muzero-cartpole", ["watch gym:CartPole-v1 muzero:network=RUN --simulations 2", "inspect RUN", "report RUN"]),
    ],
)
def test_a_learned_model_plays_by_itself_in_the_commands_named_at_the_end(run, monkeypatch, preset, named):
    if preset == "muzero-cartpole":
        pytest.importorskip("gymnasium")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr("ramify.base.imports._imported", {})  # commands name what other tests have imported
    quick = ["loop.iterations=1", "loop.games=2", "search.simulations=2", "loop.replay_ratio=0.1"]
    _, out, _ = run("train", preset, *quick)
    commands = [line.removeprefix("  ramify ") for line in out.splitlines() if line.startswith("  ramify ")]
    assert [line.replace(f"runs/{preset}", "RUN") for line in commands] == named
    more = {"rate": ["--games", "2", "--no-references"], "inspect": ["--games", "1", "--simulations", "2"]}
    for words in map(shlex.split, commands):
        code, _, err = run(*words, *more.get(words[0], []))
        assert (code, err) == (0, ""), words


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["hex-5", "size=4"], "-p size=4"),
        (["hex-5", "-s", "loop.games=4"], "loop.games=4"),
        (["hex-5", "-s", "simulations=4"], "search.simulations=4"),
        (["hex-5", "-s", "size=4"], "-p size=4"),
        (["hex", "-p", "loop.games=4"], "loop.games=4"),
        (["hex-5", "iterations=4"], "loop.iterations=4"),
    ],
)
def test_a_setting_given_the_wrong_way_is_answered_with_one_that_works(words, right, run):
    code, _, err = run("train", *words, "--show")
    assert (code, err.count("\n")) == (2, 1)
    assert err.strip().endswith(f"use {right}")
    code, out, err = run("train", words[0], *right.split(), "--show")
    assert (code, err) == (0, "")
    assert right.removeprefix("-p ").rpartition(".")[2].replace("=", ": ") in out


def test_the_panel_has_a_line_for_every_node():
    from ramify.training import NodeStatus, Status

    nodes = [NodeStatus("here", 2, 1200, 340.0, 5600.0, 0, False), NodeStatus("there", 0, 7, 0.0, 0.0, 3, False)]
    lines = [line.split() for line in drawn(Status(nodes=nodes)).splitlines() if "here" in line]
    assert lines == [
        ["here", "2", "1,200", "340", "5,600", "newest"],
        ["there", "(gone)", "0", "7", "0", "0", "3", "older"],
    ]
