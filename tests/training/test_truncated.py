"""Games that a limit has ended, and not their task: what follows is unknown, as after a cut, and not worth 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.training import TargetConfig, UnrollConfig, WindowConfig, make_samples
from ramify.training.samples import replay
from ramify.training.trajectories import make_trajectories
from ramify.training.unroll import UnrollReplay
from tests.training.helpers import records

gymnasium = pytest.importorskip("gymnasium")

SEARCH = rf.SearchConfig(simulations=4, discount=0.5)
ROOTS = (10.0, 20.0, 30.0, 40.0, 50.0)  # what searches are made to have found
ENDED = [1.9375, 1.875, 1.75, 1.5, 1.0]  # 1 + 0.5 * (1 + 0.5 * ...)
CUT = [1.875 + 50 / 16, 1.75 + 50 / 8, 1.5 + 50 / 4, 1 + 50 / 2, 50.0]  # up to the last search
TWO_STEPS = [1.5 + 30 / 4, 1.5 + 40 / 4, 1.5 + 50 / 4]
WAYS: dict[str, dict[str, Any]] = {
    "terminated": {"over": (True, False)},
    "truncated": {"over": (False, True)},
    "both": {"over": (True, True)},
    "time_limit": {"over": (False, False), "time_limit": 5},
}


class Five(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Every step pays 1; the fifth returns ``over``."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, over: tuple[bool, bool]) -> None:
        self.over, self.turn = over, 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.turn = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.turn += 1
        return np.full(1, self.turn, np.float32), 1.0, *(self.over if self.turn == 5 else (False, False)), {}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    gymnasium.register("ramify-five-v0", Five)
    yield
    gymnasium.registry.pop("ramify-five-v0")


@pytest.mark.parametrize(
    ("way", "cut"), [("terminated", False), ("truncated", True), ("both", False), ("time_limit", True)]
)
def test_values_after_a_limit_are_those_of_the_last_search(way: str, cut: bool) -> None:
    game = rf.make("gym:ramify-five-v0", **WAYS[way])
    (played,) = records(game, SEARCH, 1, evaluator=rf.evaluators.Uniform())
    pairs = zip(played.moves, ROOTS, strict=True)
    roots = [replace(move.found, value=np.array([value, 0], np.float32)) for move, value in pairs]
    record = replace(played, moves=[replace(move, found=root) for move, root in zip(played.moves, roots, strict=True)])
    last: Any = replay(game, record)[0][-1]
    assert last.is_over
    assert last.truncated == cut
    assert last.returns.tolist() == record.returns.tolist() == [5.0, 0.0]
    assert not record.cut  # what is on disk is as ever
    whole = CUT if cut else ENDED
    np.testing.assert_allclose(make_samples(game, [record], SEARCH, TargetConfig(), 1).values[:, 0], whole)
    made = make_trajectories(game, [record], SEARCH, TargetConfig(), 1)
    np.testing.assert_allclose(made.returns[:, 0], whole)
    assert made.ended.tolist() == [not cut] * 5
    window = UnrollReplay(
        game, WindowConfig(), TargetConfig(), torch.device("cpu"), UnrollConfig(steps=1, n_step=2), 0.5
    )
    window.add(made)
    batch = window.newest(5)
    np.testing.assert_allclose(batch.values[:, 0, 0], TWO_STEPS + whole[3:])
    assert batch.known[:, 1].tolist() == [True] * 4 + [not cut]
