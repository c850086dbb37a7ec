"""Steps as graphs against steps without: on a CPU with an imitation of a graph, on a GPU with real ones."""

from __future__ import annotations

import copy
import functools
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import ramify as rf
from ramify.networks import make
from ramify.training import LossConfig, OptimizerConfig, TargetConfig, UnrollConfig, WindowConfig
from ramify.training.captured import MOST_SHAPES, CapturedSteps
from ramify.training.learner import Learner
from ramify.training.parallel import Group
from ramify.training.trajectories import make_trajectories
from ramify.training.unroll import UnrollReplay
from ramify.training.unroll_learner import UnrollLearner
from tests.training.helpers import records

CPU = torch.device("cpu")
SEARCH = rf.SearchConfig(simulations=8)
UNROLL = UnrollConfig(steps=2)
NETWORK = {"kind": "muzero", "blocks": 1, "channels": 8, "projection": 8}


@functools.cache
def window(device: str = "cpu") -> Any:
    """Some games of tic-tac-toe."""
    game, targets = rf.make("tictactoe"), TargetConfig()
    replay = UnrollReplay(game, WindowConfig(), targets, torch.device(device), UNROLL, 1.0, observe=True)
    replay.add(make_trajectories(game, records(game, SEARCH, 4), SEARCH, targets, 1))
    return replay


def learner_on(device: torch.device = CPU, graphs: bool = True, **settings: Any) -> UnrollLearner:
    module: Any = make(rf.make("tictactoe"), NETWORK)
    optimizer = OptimizerConfig(**{"learning_rate": 0.01, "warmup_steps": 0, **settings})
    return UnrollLearner(module, optimizer, LossConfig(), UNROLL, device, graphs)


class Imitation:
    """Captures without a GPU: a replay computes again, into the tensors of the capture."""

    def __init__(self, module: Any, factor: float = 1.0, fails: bool = False) -> None:
        self.module, self.factor, self.fails = module, factor, fails
        self.captures = self.replays = 0

    def __call__(self, step: Any, warm_up: Callable[[], None]) -> tuple[Callable[[], object], dict[str, torch.Tensor]]:
        self.captures += 1
        warm_up()
        warm_up()
        kept = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        losses = step()
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing\nand so on")
        self.module.load_state_dict(kept)  # a capture computes nothing
        gradients = [weight.grad for weight in self.module.parameters()]
        for tensor in [*losses.values(), *gradients]:
            tensor.fill_(torch.nan)

        def replay() -> None:
            self.replays += 1
            again = step()
            for weight, gradient in zip(self.module.parameters(), gradients, strict=True):
                gradient.copy_(weight.grad * self.factor)
                weight.grad = None  # a replay knows nothing of Python's objects
            for name, loss in losses.items():
                loss.copy_(again[name])

        return replay, losses


def imitated(learner: UnrollLearner, **settings: Any) -> Imitation:
    """Let a learner use imitations of graphs."""
    imitation = Imitation(learner.module, **settings)
    learner.captured = CapturedSteps(learner.module, functools.partial(Learner._gradients, learner), imitation)
    return imitation


def assert_same(one: UnrollLearner, other: UnrollLearner, sizes: list[int]) -> None:
    """The same losses in every step, and the same state after them; losses are looked at when all steps are over."""
    batches = [window().draw(rows, (number,)) for number, rows in enumerate(sizes)]
    found, wanted = ([learner.learn(batch, 0.0) for batch in batches] for learner in (one, other))
    assert [{name: float(x) for name, x in step.items()} for step in found] == [
        {name: float(x) for name, x in step.items()} for step in wanted
    ]
    state = other.tensors()
    assert state.keys() == one.tensors().keys()
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, state[name]), name


def test_steps_with_a_graph_are_the_same() -> None:
    learner = learner_on()
    imitation = imitated(learner)
    assert_same(learner, learner_on(), [6, 6, 6, 4, 6, 4])
    assert (imitation.captures, imitation.replays) == (2, 6)


def test_a_restored_learner_goes_on_with_its_graph() -> None:
    learner, plain = learner_on(), learner_on()
    imitation = imitated(learner)
    assert_same(learner, plain, [6, 6])
    earlier = copy.deepcopy(learner.tensors())
    assert_same(learner, plain, [6])
    for one in (learner, plain):
        one.restore(copy.deepcopy(earlier), 2)
    assert_same(learner, plain, [6, 6])
    assert imitation.captures == 1


def test_only_some_shapes_have_graphs() -> None:
    learner = learner_on()
    imitation = imitated(learner)
    sizes = list(range(3, 3 + MOST_SHAPES + 2))
    assert_same(learner, learner_on(), [*sizes, *sizes])
    assert (imitation.captures, imitation.replays) == (MOST_SHAPES, 2 * MOST_SHAPES)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"fails": True}, "operation not permitted when stream is capturing"), ({"factor": 2.0}, "has length .* instead")],
)
def test_bad_graphs_are_given_up(settings: Any, problem: str, caplog: pytest.LogCaptureFixture) -> None:
    learner = learner_on()
    imitation = imitated(learner, **settings)
    with caplog.at_level(logging.WARNING, "ramify"):
        assert_same(learner, learner_on(), [6, 6, 4])
    (message,) = caplog.messages
    assert re.search(problem, message)
    assert "\n" not in message
    assert imitation.captures == 1


def test_no_graph_where_processes_train_together() -> None:
    learner = learner_on()
    imitation = imitated(learner)
    learner.group = Group(0, 2)
    with pytest.raises(ValueError, match="process group"):  # it computes with the others, and there are none
        learner.learn(window().draw(6, (0,)), 0.0)
    assert imitation.captures == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_graphs_on_a_gpu(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Losses and weights of five steps, and of five more after a restore, with graphs and without."""
    device = torch.device("cuda")
    rate = 0.001 if kind == "adamw" else 0.01
    learners = [learner_on(device, graphs, kind=kind, learning_rate=rate) for graphs in (True, False)]
    batches = [window("cuda").draw(rows, (rows,)) for rows in (64, 64, 48, 64, 48)]
    for _ in range(2):
        found, wanted = ([learner.learn(batch, 0.0) for batch in batches] for learner in learners)
        for one, other in zip(found, wanted, strict=True):
            for name, loss in one.items():
                torch.testing.assert_close(loss, other[name], rtol=0.05, atol=0.02, msg=name)
        state = learners[1].tensors()
        for name, tensor in learners[0].tensors().items():
            if name.startswith("module."):  # Adam's steps are as long as the rate however small a gradient is
                torch.testing.assert_close(tensor, state[name], rtol=0.05, atol=0.01, msg=name)
        for learner in learners:
            learner.restore(copy.deepcopy(state), 5)
    assert learners[0].captured is not None
    assert not learners[0].captured.given_up, caplog.text
    assert learners[1].captured is None
