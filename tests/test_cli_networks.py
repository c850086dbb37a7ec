"""Every command takes the same networks: files, runs, checkpoints, ONNX models and shipped names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

import ramify as rf
from ramify.arena import read_player
from ramify.arena.network_files import load_evaluator, network_file
from ramify.hex import evaluator_for

GAME = rf.make("hex", size=3)
MOST = ["-p", "size=3", "--seed", "5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with three checkpoints, and the first network as an ONNX model."""
    folder = tmp_path_factory.mktemp("networks")
    for number in (0, 1, 2):
        module = rf.networks.make(GAME, "1x8", seed=number)
        rf.networks.save(folder / f"run/checkpoints/{number:06d}/network", module)
        if number == 0:
            rf.networks.export_onnx(folder / "net.onnx", module)
    return folder


def test_a_run_gives_its_newest_network_or_its_best_if_it_was_rated(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run)
    newest, middle = (run / f"checkpoints/{number:06d}/network.safetensors" for number in (2, 1))
    assert network_file(str(run)) == network_file(str(run / "checkpoints")) == newest
    assert network_file(str(newest.parent)) == network_file(str(newest.with_suffix(""))) == newest
    shutil.copy(middle, tmp_path / "run.safetensors")  # has the name of the folder, which is meant
    assert network_file(str(run)) == newest
    for last, chosen in ((20.0, middle), (49.8, newest)):  # the newest of equal ones; never the untrained one
        elos = {None: 900.0, 0: 90.0, 1: 50.0, 2: last}
        players = [{"iteration": iteration, "elo": elo} for iteration, elo in elos.items()]
        (run / "ratings.json").write_text(json.dumps({"players": players}))
        assert network_file(str(run)) == chosen
    (run / "ratings.json").write_text("{")
    assert network_file(str(run)) == newest


def test_a_network_that_is_not_there_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no such file \(.*net7.safetensors or .*net7.onnx\), no folder .*hex-7"):
        network_file(str(tmp_path / "net7"))
    with pytest.raises(ValueError, match="no training run or checkpoint in the folder"):
        network_file(str(tmp_path))


def test_players_with_a_folder_stay_with_the_network_it_had(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run)
    player = read_player(f"search:network={run}")
    identity = player.identity
    rf.networks.save(run / "checkpoints/000003/network", rf.networks.make(GAME, "1x8", seed=9))
    assert player.identity == identity != read_player(f"search:network={run}").identity


def test_onnx_players_are_known_by_the_content_of_the_model(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    copy = tmp_path / "copy.onnx"
    shutil.copy(folder / "net.onnx", copy)
    one, other = (read_player(f"search:network={file},simulations=8") for file in (folder / "net.onnx", copy))
    assert one.identity == other.identity
    games = rf.arena.match(GAME, one, "random", 2)
    same = rf.arena.match(
        GAME, read_player(f"search:network={folder}/run/checkpoints/000000,simulations=8"), "random", 2
    )
    assert [game.actions for game in games] == [game.actions for game in same]
    copy.write_bytes(copy.read_bytes()[:-1])
    assert other.identity != one.identity
    with pytest.raises(ValueError, match=r"takes observations of shape \[3, 3, 3\]"):
        one.open(rf.make("hex", size=4))
    with pytest.raises(ValueError, match="run on the CPU"):
        load_evaluator(GAME, str(folder / "net.onnx"), device="cuda")


@pytest.mark.parametrize("name", ["run", "run/checkpoints/000001", "net.onnx", "hex-5"])
def test_analyze_takes_it(run, folder: Path, name: str) -> None:
    pytest.importorskip("onnxruntime")
    network = name if name == "hex-5" else str(folder / name)
    code, out, err = run("analyze", "hex", *MOST, "--network", network, "--simulations", "8", "--json")
    assert (code, err) == (0, "")
    evaluator, _ = evaluator_for(GAME, network)
    wanted = rf.search(GAME.initial_state(), evaluator, simulations=8, seed=5)
    priors = {row["action"]: row["prior"] for row in json.loads(out)["players"][0]["actions"]}
    assert priors == dict(zip(wanted.outcomes[0].tolist(), wanted.priors[0].tolist(), strict=True))


def test_watch_play_and_selfplay_take_an_onnx_model(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    network = str(folder / "net.onnx")
    code, out, err = run("watch", "hex", "search:simulations=4", "network", *MOST, "--network", network)
    assert (code, err) == (0, "")
    assert f"blue (o): network:network={network}" in out
    typed = iter(["b2", "quit"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    code, out, err = run("play", "hex", *MOST, "--network", network, "--simulations", "4")
    assert (code, err) == (0, "")
    assert "Opponent: " in out
    arguments = [*MOST, "--network", network, "--simulations", "4", "--games", "2", "--device", "cpu"]
    assert run("selfplay", "hex", "games", *arguments)[0] == 0


def test_match_tournament_and_gate_give_it_to_players_that_name_none(run, folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    network, other = str(folder / "net.onnx"), folder / "run/checkpoints/000001/network.safetensors"
    players = ["search", f"network:network={other},exact=false", "search:evaluator=uniform", "network"]
    options = ["-p", "size=3", "-s", "simulations=4", "--network", network, "--games", "2", "--json"]
    code, out, err = run("tournament", "hex", *players, *options)
    assert (code, err) == (0, "")
    assert {row["player"] for row in json.loads(out)["players"]} == {
        f"search:simulations=4,network={network}",
        f"network:network={other},exact=false",
        "search:simulations=4,evaluator=uniform",
        f"network:network={network}",
    }
    assert json.loads(run("match", "hex", players[0], players[3], *options)[1])["found"] == 2
    gate = ["-p", "size=3", "--network", network, "--max-games", "2", "--json"]
    assert json.loads(run("gate", "hex", "search:simulations=4", "network", *gate)[1])["games"] == 2


def test_htp_takes_a_run_and_an_onnx_model(folder: Path) -> None:
    from ramify.protocols.htp import HtpEngine

    for network in (folder / "run", folder / "net.onnx"):
        assert HtpEngine(3, network=str(network)).knowledge == network.stem


def test_bench_takes_a_run(run, folder: Path) -> None:
    arguments = ["-p", "size=3", "--network", str(folder / "run"), "--seconds", "1", "--simulations", "4", "--json"]
    code, out, err = run("bench", "hex", *arguments, "--parallel-games", "4", "--device", "cpu")
    assert (code, err) == (0, "")
    assert json.loads(out)["evaluations_per_s"] > 0


def test_a_network_and_an_evaluator_are_one_too_many(run) -> None:
    code, _, err = run("analyze", "hex", "-p", "size=5", "--network", "hex-5", "--evaluator", "uniform")
    assert (code, err) == (2, "ramify: give --network or --evaluator, not both\n")
