"""Self-play with networks: equal games from equal batches, and new weights while games go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.arena.network_files import network_file
from ramify.selfplay import PlayConfig, SelfPlay, decode, read_folder
from ramify.selfplay import run as run_games

pytest.importorskip("torch")


def player(evaluator: Any, game: Any, **more: Any) -> SelfPlay:
    config = rf.SearchConfig(simulations=12, noise_fraction=0.25)
    return SelfPlay(game, evaluator, config, PlayConfig(max_moves=12), seed=2, **more)


def games(evaluator: Any, game: Any, **more: Any) -> list[str]:
    records = [decode(data) for found in player(evaluator, game, games=6, **more) for data in found]
    return [repr(record) for record in sorted(records, key=lambda record: record.number)]


@pytest.mark.parametrize(
    ("name", "params", "network"),
    [
        ("hex", {"size": 4}, "1x8"),
        ("pyrat", {"preset": "tiny"}, "mlp:1x8"),
        pytest.param("pyrat", {"preset": "tiny"}, "2x8", marks=pytest.mark.slow),
    ],
)
def test_batches_of_one_size_make_the_same_games(name: str, params: dict[str, Any], network: str) -> None:
    """With ONNX Runtime. Torch may round a row by its place in the batch, so it promises nothing here."""
    pytest.importorskip("onnxruntime")
    game = rf.make(name, **params)
    evaluator = rf.evaluators.Onnx(rf.networks.make(game, network))
    alone = games(evaluator, game, parallel_games=1, fixed_batches=4)
    assert alone == games(evaluator, game, parallel_games=8, threads=2, fixed_batches=4)
    assert len(alone) == 6
    with pytest.raises(ValueError, match="fixed_batches"):
        player(evaluator, game, parallel_games=20, fixed_batches=4)


def test_new_weights_come_in_between_two_batches() -> None:
    game = rf.make("hex", size=4)
    old, new = rf.networks.make(game, "2x8"), rf.networks.make(game, "2x8", seed=1)
    evaluator = rf.evaluators.Network(old, "cpu")
    play = player(evaluator, game, games=40, parallel_games=8, threads=2)
    finished = 0
    for found in play:
        finished += len(found)
        if finished >= 10 and evaluator.version == 0:
            evaluator.load_weights(new)
    assert finished == 40
    assert evaluator.version == 1
    assert evaluator.network_id == rf.networks.network_id(new)


def test_a_cache_in_the_pool_changes_nothing_and_is_hit() -> None:
    game = rf.make("tictactoe")
    network = rf.evaluators.Network(rf.networks.make(game, "1x8"), "cpu")
    cached = rf.evaluators.Cached(network, 10_000)
    np.testing.assert_equal(
        games(network, game, parallel_games=1, fixed_batches=1), games(cached, game, parallel_games=1, fixed_batches=1)
    )
    assert cached.hit_rate > 0.2


def test_the_command_caches_in_the_core(run) -> None:
    words = ["selfplay", "tictactoe", "games", "--games", "4", "--simulations", "40", "--json"]
    code, out, err = run(*words, "--network", "1x8", "--device", "cpu", "--cache", "1000")
    assert code == 0, err
    assert json.loads(out)["cache_hits"] > 0.05
    (header, _), *_ = read_folder("games")
    assert "cache" not in header["search"]  # the games do not depend on it
    code, _, err = run(*words, "--cache", "1000")
    assert code == 2
    assert "--cache needs --network" in err


def test_progress_names_the_library_that_runs_the_network(tmp_path: Path) -> None:
    game = rf.make("tictactoe")
    network = rf.evaluators.Network(rf.networks.make(game, "1x8"), "cpu", backend="torch")
    for evaluator, expected in ((rf.evaluators.Cached(network), "torch"), (rf.evaluators.Rollout(), None)):
        play = SelfPlay(game, evaluator, rf.SearchConfig(simulations=4), games=2, parallel_games=2)
        assert run_games(play, tmp_path / str(expected)).backend == expected


def test_the_command_takes_shipped_networks_and_sizes(run) -> None:
    words = ["selfplay", "hex", "games", "-p", "size=4", "--games", "2", "--simulations", "4", "--device", "cpu"]
    for network in ("hex-5", "1x8"):
        code, _, err = run(*words, "--network", network)
        assert code == 0, err
    shipped, fresh = (header["network"] for header, _ in read_folder("games"))
    game = rf.make("hex", size=4)
    assert shipped == rf.networks.network_id(rf.networks.load(network_file("hex-5"), game))
    assert fresh == rf.networks.network_id(rf.networks.make(game, "1x8"))
    code, out, err = run(*words, "--network", "hex-55")
    assert (code, out) == (2, "")
    for words_of_help in ("hex-55", "did you mean 'hex-5'?", "6x64"):
        assert words_of_help in err


def test_the_command_refuses_games_of_another_size(run) -> None:
    words = ["selfplay", "hex", "games", "--games", "1", "--simulations", "4"]
    assert run(*words, "-p", "size=3")[0] == 0
    code, out, err = run(*words, "-p", "size=4")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "games has games of hex with other parameters (size 3, now 4)" in err
    assert len(list(read_folder("games"))) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "cuda"], "--device cuda needs --network: without one, the search runs on the CPU"),
        (["--device", "tpu", "--network", "1x8"], "device must be cpu, cuda, cuda:N or mps, not 'tpu'"),
        (["--device", "cuda:99", "--network", "1x8"], "device cuda:99 is not available: torch finds "),
    ],
)
def test_devices_that_are_none_are_told(run, words: list[str], message: str) -> None:
    code, out, err = run("selfplay", "hex", "games", "-p", "size=3", "--games", "1", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("games").exists()
