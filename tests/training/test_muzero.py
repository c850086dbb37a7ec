"""Whole runs of learned models: presets, resume, games of others, single players."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.networks import LearnedModel, load, network_id, save
from ramify.selfplay.records import read_folder
from ramify.training import TrainConfig, load_config, network_file, read_metrics, train
from tests.training.helpers import losses, tiny

LEARNED: dict[str, Any] = {
    "network": {"kind": "muzero-mlp", "width": 16, "latent": 8, "value_hidden": 8},
    "search__normalize": "minmax",
    "unroll": {"steps": 3},
}


def identity(folder: Path) -> str:
    return network_id(load(network_file(folder)))


@pytest.mark.parametrize(
    "changes",
    [{}, {"unroll": {"steps": 2, "n_step": 2, "priority": 0.5}, "search__fast_simulations": 4}],
    ids=["plain", "n-step"],
)
def test_a_run_goes_on_as_if_it_had_not_been_stopped(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Ctrl-C in the middle of an iteration."""
    config = tiny(**LEARNED | changes)

    def stop(status: Any) -> None:
        if status.phase == "training" and status.iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", show=stop)
    whole = train(config, tmp_path / "whole")
    assert identity(train(config, tmp_path / "parts")) == identity(whole)
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")
    line = list(read_metrics(tmp_path / "whole" / "metrics.jsonl", "iteration"))[-1]
    for name in ("new_reward", "new_legal_mass", "new_legal_mass_last", "new_value_error_last", "new_top1"):
        assert np.isfinite(line[name])
    moves = sum(len(game.moves) for _, games in read_folder(tmp_path / "whole" / "games") for game in games)
    assert line["positions"] == moves  # also those without a recorded search
    assert isinstance(load(network_file(whole)), LearnedModel)


def test_reanalyse_in_a_run(tmp_path: Path) -> None:
    found = [
        train(
            tiny(**{**LEARNED, "unroll": {"steps": 3, "reanalyse": share}}, loop__iterations=1),
            tmp_path / str(share),
        )
        for share in (0.0, 0.5)
    ]
    assert identity(found[0]) != identity(found[1])


def test_both_learn_from_the_same_games(tmp_path: Path) -> None:
    """Games of an AlphaZero run are a source of a learned model, and the other way round."""
    known = train(tiny(loop__iterations=1), tmp_path / "rules").parent.parent / "games"
    learned = train(
        tiny(**LEARNED, loop__iterations=1, sources=[{"folder": str(known), "weight": 1.0}]), tmp_path / "learned"
    )
    own = learned.parent.parent / "games"
    train(tiny(loop__iterations=1, sources=[{"folder": str(own), "weight": 1.0}]), tmp_path / "back")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"play__reuse": True}, "play.reuse must be false for a learned model"),
        ({"loop__exact": True}, "loop.exact must be false for a learned model"),
        ({"loop__evaluator": "openvino"}, "loop.evaluator must be auto or torch"),
    ],
)
def test_settings_that_need_the_rules(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(tiny(**LEARNED | changes), tmp_path / "run")


def test_simultaneous_moves_with_gumbel_targets_and_boards(tmp_path: Path) -> None:
    board = {"kind": "muzero", "blocks": 1, "channels": 8, "value_channels": 4, "projection": 8}
    small = {"search__normalize": "minmax", "unroll": {"steps": 2}, "loop__iterations": 1, "loop__games": 4}
    bids = {"game": "goofspiel", "params": {"cards": 4}, "network": LEARNED["network"]}
    gumbel = {"search__selection": "gumbel", "search__noise_fraction": 0.0, "targets__policy": "improved"}
    train(tiny(**small, **bids, search__selection="regret", targets__policy="average"), tmp_path / "bids")
    train(tiny(**small, **gumbel, network=board, play__acting="improved"), tmp_path / "board")
    maze = {"width": 4, "height": 3, "cheese": 4, "max_turns": 6}
    train(tiny(**small, game="pyrat", params=maze, network=board), tmp_path / "maze")


def test_learned_models_and_other_networks_do_not_start_from_each_other(tmp_path: Path) -> None:
    for kind, other in (("muzero-mlp", "mlp"), ("mlp", "muzero-mlp")):
        file = tmp_path / f"{kind}.safetensors"
        save(file, rf.networks.make(rf.make("tictactoe"), f"{kind}:1x8"))
        with pytest.raises(ValueError, match=f"a network of kind '{kind}', but the run trains one of kind '{other}'"):
            train(tiny(network=f"{other}:1x8", start=str(file)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sources_are_runs_or_folders_of_games_on_boards_of_the_model(tmp_path: Path) -> None:
    small = {"loop__iterations": 1, "loop__games": 2, "game": "hex"}
    train(tiny(**small, params={"size": 3}, network="1x8"), tmp_path / "known")
    board = {"kind": "muzero", "blocks": 1, "dynamics_blocks": 1, "channels": 8}
    source = {"sources": [{"folder": str(tmp_path / "known")}], "network": board}
    train(tiny(**small, **source, params={"size": 3}, loop__source_steps=2), tmp_path / "same")
    with pytest.raises(ValueError, match=r"sources: the games of .*known are of hex\(size=3"):
        train(tiny(**small, **source, params={"size": 4}), tmp_path / "other")


def test_a_single_player(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    config = load_config(
        "muzero-cartpole",
        {
            "loop.iterations": 2,
            "loop.games": 4,
            "loop.parallel_games": 4,
            "search.simulations": 6,
            "play.max_moves": 30,
        },
    )
    found = load(network_file(train(config, tmp_path / "run")))
    assert found.config.acting == "single"  # type: ignore[attr-defined]
    for _, games in read_folder(tmp_path / "run" / "games"):
        for game in games:
            assert game.returns[1] == 0
            assert game.returns[0] == len(game.moves)
    for line in read_metrics(tmp_path / "run" / "metrics.jsonl", "iteration"):
        assert line["mean_return"] == line["game_length"] > 0  # every action is paid 1
        assert "first_wins" not in line


def test_presets_are_there() -> None:
    names = [f"muzero-{name}" for name in ("tictactoe", "connect-four", "hex-5", "cartpole", "goofspiel", "chess")]
    for name in names:
        config = load_config(name)
        assert isinstance(config, TrainConfig)
        if not config.game.startswith("gym:"):
            game = config.make_game()
            module = rf.networks.make(game, config.network)
            assert isinstance(module, LearnedModel)


@pytest.mark.slow
def test_playing_and_training_at_once(tmp_path: Path) -> None:
    """As on a GPU: games come from another process, and positions from loaders."""
    config = tiny(**LEARNED, loop__overlap=True, loop__checkpoint_seconds=2.0, loop__loaders=1, loop__iterations=2)
    found = train(config.replace(unroll={"steps": 3, "reanalyse": 0.2}), tmp_path / "run")
    assert isinstance(load(network_file(found)), LearnedModel)
    last = list(read_metrics(tmp_path / "run" / "metrics.jsonl", "iteration"))[-1]
    moves = sum(len(game.moves) for _, games in read_folder(tmp_path / "run" / "games") for game in games)
    assert 0 < last["positions"] <= moves


@pytest.mark.parametrize("game", ["pig", "openspiel:pig"])
def test_games_with_chance_events_are_refused(tmp_path: Path, game: str) -> None:
    """At the start of training, in self-play, by a player and by a search: deterministic dynamics have no dice."""
    if game != "pig":
        pytest.importorskip("pyspiel")
    refused = pytest.raises(rf.InvalidInput, match=f"{game} has chance events .*cannot represent.*search:network=RUN")
    with refused:
        train(tiny(**LEARNED | {"game": game, "params": {}}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    rules = rf.make(game)
    module = rf.networks.make(rules, "muzero-mlp")
    model = rf.evaluators.LatentNetwork(module)
    with refused:
        rf.Searcher(model, config=rf.SearchConfig(simulations=10)).run(rules.initial_state(0))
    with refused:
        rf.selfplay.SelfPlay(rules, model, rf.SearchConfig(simulations=4), games=1)
    rf.networks.save(tmp_path / "network.safetensors", module)
    with refused:
        rf.arena.match(rules, f"muzero:network={tmp_path / 'network.safetensors'}", "random", 2)
