"""Which games and settings learned models cannot have, and what is said of numbers that they cannot say."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.games.registry import _python_games
from ramify.networks import make
from ramify.networks.categorical import expanded
from ramify.training import LossConfig, OptimizerConfig, TargetConfig, UnrollConfig, WindowConfig, load_config, train
from ramify.training.kinds import make_learner
from ramify.training.trajectories import make_trajectories
from ramify.training.unroll import UnrollReplay
from ramify.training.unroll_learner import UnrollLearner
from tests.training.helpers import records, tiny

CPU = torch.device("cpu")
SEARCH = rf.SearchConfig(simulations=8)
SMALL = {"kind": "muzero-mlp", "layers": 1, "width": 8, "latent": 4, "value_hidden": 4}


class Ladder(rf.PythonGame):
    """Two players climb four steps in turn; ``paid`` is what a step gives to the one who takes it and to the other."""

    num_actions = 2
    observation_shape = (2,)
    paid: tuple[float, float] = (1.0, -1.0)

    def start(self, rng: Any) -> tuple[int, int]:
        return 0, 0

    def acting(self, position: tuple[int, int]) -> tuple[int, ...]:
        return (position[0] % 2,) if position[0] < 4 else ()

    def legal_actions(self, position: tuple[int, int], player: int) -> Any:
        return range(2)

    def apply(self, position: tuple[int, int], action: int) -> Any:
        mine, other = (action * part for part in self.paid)
        return (position[0] + 1, position[1] + action), ((mine, other) if position[0] % 2 == 0 else (other, mine))

    def observation(self, position: tuple[int, int], player: int) -> Any:
        return np.array(position, np.float32)


class Sometimes(Ladder):
    """Both climb the second step at once."""

    simultaneous = True

    def acting(self, position: tuple[int, int]) -> tuple[int, ...]:
        return (0, 1) if position[0] == 1 else super().acting(position)

    def apply(self, position: tuple[int, int], *actions: int) -> Any:
        return super().apply(position, actions[0])


class Alone(Ladder):
    num_players = 1

    def acting(self, position: tuple[int, int]) -> tuple[int, ...]:
        return (0,) if position[0] < 4 else ()


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Other tests list the games that there are."""
    before = dict(_python_games)
    yield
    _python_games.clear()
    _python_games.update(before)


def ladder(kind: type[Ladder] = Ladder, **members: Any) -> Any:
    """The game with other members, made like every other game."""
    name = f"test_{kind.__name__.lower()}"
    rf.register(name)(type(kind.__name__, (kind,), members))
    return rf.make(name)


@pytest.mark.parametrize(
    ("paid", "fits"),
    [((1.0, -1.0), True), ((1e6, -1e6), True), ((1.0, 0.0), False), ((1.0, 1.0), False), ((1.0, -0.999), False)],
)
def test_rewards_in_turn_add_up_to_nothing(paid: tuple[float, float], fits: bool) -> None:
    """One value says what both players can expect only if one of them loses what the other gains."""
    game = ladder(paid=paid)
    games = records(game, SEARCH, 3, evaluator=rf.evaluators.Uniform())
    if fits:
        assert len(make_trajectories(game, games, SEARCH, TargetConfig(), 1)) == 12
        return
    with pytest.raises(ValueError, match=r"rewards that add up to 0: in game \d of test_ladder an action gives .* and"):
        make_trajectories(game, games, SEARCH, TargetConfig(), 1)


def test_rewards_of_one_player_are_its_own() -> None:
    game = ladder(Alone, paid=(1.0, 0.0))
    games = records(game, SEARCH, 2, evaluator=rf.evaluators.Uniform())
    assert len(make_trajectories(game, games, SEARCH, TargetConfig(), 1)) == 8


def test_players_who_act_now_in_turn_and_now_at_once_are_refused(tmp_path: Path) -> None:
    ladder(Sometimes)
    config = tiny(game="test_sometimes", network=SMALL, search__normalize="minmax")
    with pytest.raises(ValueError, match="one player acts, but in the learned model both always act at once"):
        train(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "acting", "message"),
    [
        ("tictactoe", "both", "one player acts, but in the learned model both always act at once"),
        ("goofspiel", "alternating", "both players act at once, but in the learned model never"),
        ("goofspiel", "single", "both players act at once, but in the learned model never"),
        ("test_alone", "alternating", "test_alone is a game of one player"),
    ],
)
def test_a_model_of_another_kind_of_game(name: str, acting: str, message: str) -> None:
    class Model:
        num_actions = 9
        initial = recurrent = None

    ladder(Alone)
    model: Any = Model()
    model.acting = acting
    with pytest.raises(ValueError, match=message):
        rf.Searcher(model).run(rf.make(name).initial_state())


def test_records_are_no_games_of_a_learned_model() -> None:
    module = make(rf.make("tictactoe"), SMALL)
    config = load_config("muzero-tictactoe", {"records": ["games"]})
    with pytest.raises(ValueError, match="give folders of games as sources, not records"):
        make_learner(module, config, CPU)


@pytest.mark.parametrize("kind", ["muzero-mlp", "mlp"])
def test_games_of_ones_own_say_that_returns_are_chances(kind: str) -> None:
    """Returns between -1 and 1 can be learned as chances of win, draw and loss, also of games that are not built in."""
    settings = {**SMALL, "kind": kind} if kind != "mlp" else {"kind": kind}
    known = ladder(zero_sum=True, returns_range=(-1, 1))
    assert make(known, {**settings, "value": "wdl"}).config.value == "wdl"
    assert make(known, settings).config.value == "tanh"
    unknown = ladder()
    assert make(unknown, settings).config.value == "linear"
    if kind == "muzero-mlp":
        with pytest.raises(ValueError, match=r"test_ladder does not say it has: .* by returns_range = \(-1, 1\)"):
            make(unknown, {**settings, "value": "wdl"})
        with pytest.raises(ValueError, match="needs support=0"):
            make(known, {**settings, "value": "wdl", "support": 3})


@pytest.mark.parametrize(
    ("settings", "paid", "said"),
    [
        ({"support": 3}, 40.0, r"up to \d+ are cut off: the network's go up to 14\.\d+\. Use network.support=\d$"),
        ({"support": 3}, 1.0, None),
        (
            {"value": "tanh"},
            1.0,
            r"up to 2 are cut off: .* go up to 1\. Use network.value=linear or network.support=1$",
        ),
        ({"value": "linear"}, 1e6, None),
    ],
)
def test_numbers_that_the_network_cannot_say_are_told(
    settings: dict[str, Any], paid: float, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    game = ladder(paid=(paid, -paid))
    with caplog.at_level(logging.WARNING, "ramify"):
        for _ in range(2):
            judged(game, {**SMALL, **settings}, steps=2)
    assert [bool(re.search(said or "", message)) for message in caplog.messages] == [True] * (2 if said else 0)


def judged(game: Any, network: dict[str, Any], steps: int) -> dict[str, float]:
    """What is measured, twice, on random games with a network that has learned nothing."""
    unroll = UnrollConfig(steps=steps)
    replay = UnrollReplay(game, WindowConfig(), TargetConfig(augment=False), CPU, unroll, 1.0)
    games = records(game, SEARCH, 6, evaluator=rf.evaluators.Uniform(), opening_moves=3)
    replay.add(make_trajectories(game, games, SEARCH, TargetConfig(), 1))
    module: Any = make(game, network)
    learner = UnrollLearner(module, OptimizerConfig(), LossConfig(), unroll, CPU)
    learner.judge(replay.newest(100))
    return learner.judge(replay.newest(100))


def test_the_reach_of_a_support_is_its_end() -> None:
    module: Any = make(rf.make("tictactoe"), {**SMALL, "value": "auto", "support": 20})
    assert module.reach == pytest.approx(float(expanded(torch.tensor(20.0))))
    assert 400 < module.reach < 430


def test_what_cannot_be_measured_after_the_last_action_is_left_out() -> None:
    """An unroll that is as long as every game ends where nothing is legal: that is no bad policy."""
    for steps, there in ((3, True), (4, False)):
        measured = judged(ladder(), SMALL, steps)
        assert ("legal_mass_last" in measured) == there
        assert "legal_mass" in measured
