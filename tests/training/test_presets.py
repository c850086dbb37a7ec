"""Settings for every game, by its name and size; and that they teach: tic-tac-toe from nothing to perfect play."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import ramify as rf
from ramify.engine import SearchConfig, Searcher
from ramify.evaluators import Network
from ramify.games.registry import _python_games
from ramify.networks import load, make
from ramify.selfplay import read_folder
from ramify.training import checkpoints, load_config, network_file, presets, read_metrics, train
from ramify.training.fitting import fitted_settings, game_size
from ramify.training.presets import find_game, preset_name, preset_texts
from tests.pile import PileRules


@pytest.fixture
def pile() -> Iterator[None]:
    """A game registered from Python, with an underscore in its name."""

    @rf.register("small_pile")
    class Pile(PileRules, rf.PythonGame):
        num_actions = 3
        observation_shape = (2,)
        zero_sum, returns_range = True, (-1, 1)

        def start(self, rng):
            return 10, 0

        def observation(self, position, player):
            left, own = super().observation(position, player)
            return left / 10, own

    yield
    del _python_games["small_pile"]


def test_every_game_has_a_preset():
    known = {"connect-four", "tictactoe", "goofspiel", "pyrat-tiny", "hex-5", "hex-7", "hex-11", "chess", "hex"}
    assert known <= set(presets())
    assert not [name for name in presets() if "_" in name]
    texts = preset_texts()
    assert set(texts) == set(presets())
    assert "mlp 2x64" in texts["tictactoe"]
    assert "resnet" in texts["connect-four"]


@pytest.mark.parametrize(
    ("name", "listed", "game", "params"),
    [
        ("connect_four", "connect-four", "connect_four", {}),
        ("connect-four", "connect-four", "connect_four", {}),
        ("pyrat-tiny", "pyrat-tiny", "pyrat", {"width": 11, "height": 9, "cheese": 13, "max_turns": 150}),
        ("hex_5", "hex-5", "hex", {"size": 5}),
        ("goofspiel", "goofspiel", "goofspiel", {}),
    ],
)
def test_hyphens_and_underscores_are_the_same(name, listed, game, params):
    config = load_config(name)
    assert (preset_name(name), config.game, config.params) == (listed, game, params)


def test_a_game_is_fitted_with_the_parameters_that_are_given():
    small, large = load_config("hex", {"params.size": 4}), load_config("hex", {"params": {"size": 11}})
    assert small.params == {"size": 4}
    assert small.search.simulations < large.search.simulations
    assert small.network != large.network
    assert load_config("hex", {"params.size": 4, "loop.games": 7}).loop.games == 7
    assert load_config("pyrat", {"params.preset": "tiny"}).network == load_config("pyrat-tiny").network
    with pytest.raises(ValueError, match="params=3: it is a group"):
        load_config("hex", {"params": 3})
    with pytest.raises(ValueError, match="size"):
        load_config("hex", {"params.size": -1})


def test_settings_follow_from_the_size():
    four = rf.make("connect_four")
    size = game_size(four)
    assert (size.inputs, size.cells, size.actions) == (math.prod(four.observation_shape), 42, 7)
    assert 6 < size.choices <= 7
    assert 10 < size.turns < 42
    assert game_size(four) == size  # random games, always the same ones
    mixed = fitted_settings(rf.make("goofspiel"))
    assert (mixed["search"]["selection"], mixed["targets"]["policy"]) == ("regret", "average")
    assert (mixed["play"]["acting"], mixed["play"]["temperature_end"]) == ("average", 1.0)
    assert "rollout_iterations" not in mixed["loop"]  # regret matching learns nothing from noise
    assert fitted_settings(rf.make("chess"))["network"]["kind"] == "resnet"
    assert fitted_settings(rf.make("pyrat", preset="tiny"))["search"]["normalize"] == "remaining"


def test_a_registered_game_can_be_trained_by_name(pile, tmp_path):
    assert find_game("small-pile") == ("small_pile", {})
    config = load_config("small_pile", {"loop.iterations": 1, "loop.games": 4, "search.simulations": 8})
    assert config.search.normalize == "none"  # its returns are promised to lie between -1 and 1
    assert load_config("small_pile").window.size < load_config("tictactoe").window.size  # Python is slow
    train(config, tmp_path / "run")
    assert [line["games"] for line in read_metrics(tmp_path / "run/metrics.jsonl", "iteration")] == [4]


def test_openspiels_games_can_be_trained_by_name():
    pytest.importorskip("pyspiel")
    config = load_config("openspiel:breakthrough", {"params.rows": 5, "params.columns": 5})
    assert config.params == {"rows": 5, "columns": 5}
    assert load_config("openspiel:nim").network["kind"] == "mlp"  # type: ignore[index]
    assert preset_name("openspiel:nim") == "openspiel:nim"


@pytest.mark.parametrize(
    ("name", "changes"), [("goofspiel", {}), ("pyrat-tiny", {"params.max_turns": 6, "network": "1x8"})]
)
def test_games_in_which_both_choose_at_once_are_trained(name, changes, tmp_path):
    small = {"loop.iterations": 2, "loop.games": 8, "loop.device": "cpu", "search.simulations": 16, "loop.batch": 16}
    folder = train(load_config(name, {**small, **changes}), tmp_path / name)
    network = load(network_file(folder))
    assert network.spec.players == 2
    last = list(read_metrics(tmp_path / name / "metrics.jsonl", "iteration"))[-1]
    assert np.isfinite([last["new_policy"], last["new_value"]]).all()
    game = make_game(name, changes)
    result = rf.search(game.initial_state(seed=0), Network(network, "cpu"), simulations=16, selection="regret")
    assert result.average[0].sum() == pytest.approx(1)


def make_game(name, changes):
    config = load_config(name, changes)
    return rf.make(config.game, **config.params)


def lost_lines(network, simulations: int) -> int:
    """In how many ways a search with this network loses at tic-tac-toe, over all replies, in both seats."""
    game = rf.make("tictactoe")
    searcher = Searcher(game, Network(network, "cpu"), SearchConfig(simulations=simulations, fpu="reduction"))
    lost = 0
    for seat in (0, 1):
        positions = [game.initial_state()]
        while positions:
            after = []
            own = [state for state in positions if state.acting == (seat,)]
            choices = searcher.run_many(own, [0] * len(own)) if own else []
            for state, actions in [
                *((state, [result.action()]) for state, result in zip(own, choices, strict=True)),
                *((state, state.legal_actions().tolist()) for state in positions if state.acting != (seat,)),
            ]:
                for action in actions:
                    child = state.copy()
                    child.apply(action)
                    after.append(child)
            lost += sum(bool(state.returns[seat] < 0) for state in after)
            positions = list({state.key: state for state in after if not state.is_over}.values())
    return lost


@pytest.mark.parametrize(("iterations", "most"), [(3, 5), pytest.param(10, 0, marks=pytest.mark.slow)])
def test_tic_tac_toe_is_learnt_from_nothing(tmp_path, iterations, most):
    """Some 25 s on one core. The preset as it is, without its time limit, so that a busy machine changes nothing: no
    line is lost, where the network it began with loses dozens with the same search. After three iterations, 8 s, it
    loses one or two."""
    changes = {"loop.max_seconds": None, "loop.device": "cpu", "loop.iterations": iterations}
    train(load_config("tictactoe", changes), tmp_path)
    first, *_, last = checkpoints(tmp_path / "checkpoints")
    assert lost_lines(load(network_file(first)), simulations=32) > 20
    assert lost_lines(load(network_file(last)), simulations=32) <= most


def test_a_player_that_knows_nothing_loses():
    """So the test above counts what is there: with two simulations a search plays the fresh network's guess."""
    assert lost_lines(make(rf.make("tictactoe"), "mlp:1x16"), simulations=2) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pyrat-5", "pyrat-7", "pyrat-maze", "pyrat-full"])
def test_presets_of_pyrat_run(name, tmp_path):
    """Every board of the curriculum or of the variants is played and trained on, in one small iteration each."""
    config = load_config(name)
    stages = len(config.curriculum) + 1
    changes = {
        "loop.iterations": stages + 2 * len(config.variants),
        "loop.max_seconds": None,
        "loop.games": 2,
        "loop.parallel_games": 2,
        "loop.threads": 1,
        "loop.batch": 8,
        "loop.replay_ratio": 1,
        "loop.device": "cpu",
        "loop.overlap": False,
        "loop.evaluator": "torch",
        "play.max_moves": 12,
        "search.simulations": 4,
        "search.fast_simulations": None,
        "curriculum": [
            {"params": stage.params, "until": (number + 1) / stages} for number, stage in enumerate(config.curriculum)
        ],
        "variants": [{"params": variant.params, "share": 1.0} for variant in config.variants],
    }
    train(load_config(name, changes), tmp_path)
    boards = {(header["params"]["width"], header["params"]["height"]) for header, _ in read_folder(tmp_path / "games")}
    assert boards == {(game.observation_shape[2], game.observation_shape[1]) for game in config.make_games()}
    for line in read_metrics(tmp_path / "metrics.jsonl", "step"):
        assert math.isfinite(line["total"])
