"""Runs whose games change: stages of a curriculum, variants, games with equal priors, a window of some iterations."""

from __future__ import annotations

import sys
from itertools import chain, pairwise

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.cli.samples import newest_game
from ramify.networks import network_id
from ramify.networks.blocks import BatchRenorm
from ramify.selfplay.records import read_folder
from ramify.training import TargetConfig, TrainConfig, WindowConfig, checkpoints, make_samples, network_file, train
from ramify.training.alternate import train_alternating
from ramify.training.run import Training
from ramify.training.windows import StagedReplay
from tests.training.helpers import losses, records, tiny
from tests.training.test_run import Breaker, identity

SEARCH = rf.SearchConfig(simulations=8)
CPU = torch.device("cpu")
STAGES = [
    {"params": {"width": 3, "height": 2, "cheese": 2}, "until": 0.25},
    {"params": {"width": 3, "wall_density": 0.0}, "until": 0.5},
]


def pyrat(**changes) -> TrainConfig:
    """A run of PyRat in four iterations: 3x2, then 3x3 without walls, then twice 5x3."""
    settings = {
        "game": "pyrat",
        "params": {"width": 5, "height": 3, "cheese": 3, "max_turns": 10},
        "network": {"kind": "resnet", "blocks": 1, "channels": 8},
        "curriculum": STAGES,
        "loop__iterations": 4,
        "loop__games": 6,
        "loop__evaluator": "torch",
    }
    return tiny(**{**settings, **changes})


def boards_of(folder):
    """(width, height, wall density) of each recorded game, by number."""
    found = {}
    for header, games in read_folder(folder / "games"):
        params = header["params"]
        found |= {game.number: (params["width"], params["height"], params["wall_density"]) for game in games}
    return [found[number] for number in sorted(found)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curriculum")
    train(pyrat(), folder)
    return folder


def test_games_are_those_of_the_stages(whole):
    assert boards_of(whole) == [(3, 2, 0.7)] * 6 + [(3, 3, 0.0)] * 6 + [(5, 3, 0.7)] * 12
    assert all(np.isfinite(losses(whole)))
    last = rf.networks.load(network_file(checkpoints(whole / "checkpoints")[-1]))
    assert last.spec.observation_shape == (24, 3, 5)


@pytest.mark.parametrize(
    "when",
    [
        pytest.param(lambda status: len(status.history) == 2, id="between stages"),
        pytest.param(lambda status: status.phase == "playing" and len(status.history) == 2, id="while playing"),
    ],
)
def test_a_stopped_run_goes_on_with_all_its_boards(whole, tmp_path, monkeypatch, when):
    monkeypatch.setattr(sys.modules["ramify.selfplay.run"], "PROGRESS_SECONDS", 0.0)  # not the function
    breaker = Breaker(when)
    with pytest.raises(KeyboardInterrupt):
        train(pyrat(), tmp_path, show=breaker)
    train(pyrat(), tmp_path)
    assert boards_of(tmp_path) == boards_of(whole)
    assert losses(tmp_path) == losses(whole)
    assert identity(tmp_path) == identity(whole)


def test_batches_come_from_all_boards_in_the_window(whole, tmp_path):
    seen = []

    class Watched(Training):
        def draw(self):
            batch = super().draw()
            seen.append((self.iteration, tuple(batch.observations.shape[2:])))
            return batch

    training = Watched(pyrat(loop__replay_ratio=6), tmp_path)
    training.begin()
    try:
        train_alternating(training)
    finally:
        training.metrics.close()
    assert {board for iteration, board in seen if iteration == 0} == {(2, 3)}
    assert {board for iteration, board in seen if iteration == 1} == {(2, 3), (3, 3)}
    assert {board for iteration, board in seen if iteration == 3} == {(2, 3), (3, 3), (3, 5)}
    assert training.replay.shares.sum() == pytest.approx(1.0)


def test_reports_show_a_game_of_an_earlier_stage(tmp_path):
    config = pyrat(loop__iterations=1)
    train(config, tmp_path)
    (shown,) = newest_game(tmp_path, config.make_game())
    assert shown.states[0].observation(0).shape == (24, 2, 3)


def test_a_network_for_one_size_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"curriculum\[0\]: the network for pyrat needs .* fits any size of board"):
        train(pyrat(network="mlp:1x8"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_head_without_targets_is_refused_before_a_game_is_played(tmp_path):
    network = {"kind": "resnet", "blocks": 1, "channels": 8, "heads": ["ownership"]}
    with pytest.raises(ValueError, match="an ownership head cannot be trained for pyrat"):
        train(pyrat(network=network), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_games_of_no_stage_are_refused(whole, tmp_path):
    other = tmp_path / "other"
    train(
        pyrat(curriculum=[], params={"width": 3, "height": 4, "cheese": 2, "max_turns": 5}, loop__iterations=1), other
    )
    train(pyrat(loop__iterations=1), tmp_path / "run")
    for path in (other / "games").glob("*.games"):
        path.rename(tmp_path / "run" / "games" / "000099.games")
    with pytest.raises(ValueError, match="are those of no stage or variant"):
        train(pyrat(loop__iterations=2), tmp_path / "run")


def test_stages_end_one_after_another():
    with pytest.raises(ValueError, match=r"must end after the one before it, not until=\[0.5, 0.5\]"):
        pyrat(curriculum=[{"until": 0.5}, {"until": 0.5}])
    config = pyrat()
    assert [config.stage_at(share) for share in (0.0, 0.24, 0.25, 0.49, 0.5, 1.0)] == [0, 0, 1, 1, 2, 2]
    assert config.make_games()[1].params["wall_density"] == 0.0
    assert config.make_games()[1].params["cheese"] == 3


VARIANTS = [
    {"params": {"width": 3, "wall_density": 0.0}, "share": 2.0},
    {"params": {"width": 4, "cheese": 2}, "share": 0.5},
]


def test_variants_come_as_often_as_their_shares_say():
    config = pyrat(variants=VARIANTS)
    assert [game.params["width"] for game in config.make_games()] == [3, 3, 3, 4, 5]
    assert [config.board_at(stage, 17) for stage in (0, 1)] == [0, 1]
    boards = [config.board_at(2, iteration) for iteration in range(3500)]
    assert np.bincount(boards, minlength=5) == pytest.approx([0, 0, 2000, 500, 1000], abs=3)
    gaps = [np.diff(np.flatnonzero(np.array(boards) == board)).max() for board in (2, 3, 4)]
    assert [int(gap) for gap in gaps] == [3, 13, 5]  # on average every 1.75, 7 and 3.5 iterations
    assert {pyrat().board_at(2, iteration) for iteration in range(9)} == {2}


def test_runs_of_several_boards_train_as_they_evaluate(tmp_path):
    """Batch renormalisation: the statistics of one board would be others than those of all boards."""
    for changes, wanted in (({}, True), ({"curriculum": [], "variants": VARIANTS}, True), ({"curriculum": []}, False)):
        learner = Training(pyrat(**changes), tmp_path).learner
        for module in (learner.module, learner.playing):
            assert any(isinstance(part, BatchRenorm) for part in module.modules()) == wanted


def test_a_run_plays_its_variants_in_turn_and_goes_on_after_a_stop(tmp_path):
    config = pyrat(curriculum=STAGES[:1], variants=VARIANTS, loop__iterations=6)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(config, whole)
    board_of = {0: (3, 2, 0.7), 1: (3, 3, 0.0), 2: (4, 3, 0.7), 3: (5, 3, 0.7)}
    expected = [config.board_at(config.stage_at(number / 6), number) for number in range(6)]
    assert len(set(expected)) == 4
    assert boards_of(whole) == [board_of[board] for board in expected for _ in range(6)]
    with pytest.raises(KeyboardInterrupt):
        train(config, stopped, show=Breaker(lambda status: len(status.history) == 4))
    train(config, stopped)
    assert boards_of(stopped) == boards_of(whole)
    assert losses(stopped) == losses(whole)
    assert identity(stopped) == identity(whole)


@pytest.mark.slow
def test_an_overlapped_run_plays_its_variants_in_turn(tmp_path):
    config = pyrat(curriculum=[], variants=VARIANTS, loop__overlap=True, loop__games=8, loop__checkpoint_seconds=0.5)
    train(config, tmp_path)
    boards, game_boards = boards_of(tmp_path), [(3, 3, 0.0), (4, 3, 0.7), (5, 3, 0.7)]
    assert len(boards) >= 32
    assert boards == [game_boards[config.board_at(0, number // 8)] for number in range(len(boards))]
    assert all(np.isfinite(losses(tmp_path)))


def test_a_network_for_one_size_is_refused_for_a_variant(tmp_path):
    with pytest.raises(ValueError, match=r"variants\[1\]: the network for pyrat needs"):
        train(pyrat(curriculum=[], variants=[{}, *VARIANTS], network="mlp:1x8"), tmp_path / "run")


@pytest.mark.slow
def test_an_overlapped_run_goes_through_its_stages_and_goes_on_after_a_stop(tmp_path):
    config = pyrat(loop__overlap=True, loop__games=24, loop__games_per_shard=8, loop__checkpoint_seconds=0.5)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    train(config, whole)
    boards = boards_of(whole)
    changes = [boards[0], *(after for before, after in pairwise(boards) if after != before)]
    assert changes == [(3, 2, 0.7), (3, 3, 0.0), (5, 3, 0.7)]
    assert boards.index((3, 3, 0.0)) == 24
    assert boards.index((5, 3, 0.7)) == 48
    breaker = Breaker(lambda status: len(status.history) >= 1)
    with pytest.raises(KeyboardInterrupt):
        train(config, stopped, show=breaker)
    train(config, stopped)
    boards = boards_of(stopped)
    assert boards[0] == (3, 2, 0.7)
    assert boards[-1] == (5, 3, 0.7)
    assert len(boards) >= 96
    assert all(np.isfinite([*losses(whole), *losses(stopped)]))


def samples_of(game, first, games=4):
    made = make_samples(game, records(game, SEARCH, games), SEARCH, TargetConfig(), 2)
    return type(made)(**{**vars(made), "games": made.games + first})


def test_earlier_stages_leave_the_window_first():
    small, large = (rf.make("pyrat", width=width, height=3, cheese=3, max_turns=10) for width in (3, 5))
    first, second = samples_of(small, 0), samples_of(large, 4)
    size = len(second) + 5
    replay = StagedReplay([small, large], WindowConfig(size=size, growing=False), TargetConfig(), CPU, 4)
    replay.add(first, stage=0)
    assert len(replay) == min(size, len(first))
    assert replay.newest(3).observations.shape[3] == 3
    replay.add(second, stage=1)
    assert [len(stage) for stage in replay.stages] == [5, len(second)]
    assert replay.shares == pytest.approx([5 / size, len(second) / size])
    assert np.array_equal(replay.stages[0].newest(5).values.numpy(), first.values[-5:])
    assert replay.mean_age == pytest.approx((7 - np.concatenate([first.games[-5:], second.games])).mean())
    replay.add(samples_of(large, 8), stage=1)
    assert len(replay.stages[0]) == 0


def test_the_oldest_games_of_all_boards_leave_the_window_first():
    small, large = (rf.make("pyrat", width=width, height=3, cheese=3, max_turns=10) for width in (3, 5))
    parts = [samples_of(game, first) for first, game in zip((0, 4, 8, 12), (large, small, large, small), strict=True)]
    size = len(parts[2]) + len(parts[3]) + 3
    replay = StagedReplay([small, large], WindowConfig(size=size, growing=False), TargetConfig(), CPU, 4)
    for samples, stage in zip(parts, (1, 0, 1, 0), strict=True):
        replay.add(samples, stage=stage)
    assert len(replay) == size
    assert replay.stages[1].games.tolist() == parts[2].games.tolist()
    assert replay.stages[0].games.tolist() == [*parts[1].games[-3:], *parts[3].games]


def test_a_window_of_two_iterations(tmp_path):
    config = pyrat(window__last_iterations=2, window__size=10_000)
    training = Training(config, tmp_path)
    training.begin()
    seen = []
    training.judge = lambda rows: seen.append(
        [sorted(set(replay.games.tolist())) for replay in training.replay.stages if len(replay)]
    )
    try:
        train_alternating(training)
    finally:
        training.metrics.close()
    everything = [list(chain(*parts)) for parts in seen]
    assert everything == [list(range(max(0, 6 * last - 12), 6 * last)) for last in (1, 2, 3, 4)]
    again = Training(pyrat(window__last_iterations=2, window__size=10_000, loop__iterations=4), tmp_path)
    again.begin()
    train_alternating(again)
    again.metrics.close()
    assert sorted(set(again.replay.stages[-1].games.tolist())) == list(range(12, 24))
    assert len(again.replay) == len(training.replay)


def test_some_games_have_equal_priors(tmp_path):
    """The first third of each iteration is played without the network; what is recorded has equal priors."""
    config = pyrat(curriculum=[], loop__uniform_share=1 / 3, loop__iterations=2, search__noise_fraction=0.0)
    train(config, tmp_path)
    names = {}
    for header, games in read_folder(tmp_path / "games"):
        for game in games:
            names[game.number] = header["network"]
            priors = [move.found.priors[player] for move in game.moves if move.found for player in (0, 1)]
            assert all(np.allclose(one, one[0], rtol=1e-3) for one in priors) == (header["network"] is None)
    assert [names[number] is None for number in range(12)] == ([True] * 2 + [False] * 4) * 2
    first = network_id(rf.networks.load(network_file(checkpoints(tmp_path / "checkpoints")[0])))
    assert names[2] == first != names[8]
    with pytest.raises(ValueError, match=r"loop.uniform_share needs loop.overlap=false"):
        pyrat(loop__uniform_share=0.5, loop__overlap=True)
