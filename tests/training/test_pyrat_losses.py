"""Targets and losses of the heads for PyRat, with numbers computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.selfplay.records import GameRecord, Move
from ramify.training import Learner, LossConfig, OptimizerConfig, Replay, TargetConfig, WindowConfig, make_samples
from ramify.training.cheese import collectors, final_scores
from ramify.training.losses import losses
from ramify.training.outcomes import average_payoffs, members
from ramify.training.pyrat_losses import (
    class_loss,
    constant_sum_loss,
    nash_loss,
    payoff_loss,
    pyrat_measures,
    win_probabilities,
)
from ramify.training.replay import TrainingBatch
from tests.training.helpers import records

SEARCH = rf.SearchConfig(simulations=12)
CPU = torch.device("cpu")
HEADS = ("cheese", "final_score", "payoffs")
GAME = rf.make("pyrat", width=5, height=3, cheese=5, max_turns=12, wall_density=0.3, mud_density=0.2)
UP, RIGHT, DOWN, LEFT, STAY = range(5)


def batch(**arrays):
    """A batch of one row with two actions, of which these arrays are given."""
    nothing = {name: torch.zeros(1, 0) for name in TrainingBatch.__dataclass_fields__}
    nothing |= {"legal": torch.ones(1, 2, 2, dtype=torch.bool), "groups": torch.zeros(1, 2, 0)}
    return TrainingBatch(**{**nothing, **arrays})


def played(state, *turns):
    """The positions of a game from this one on, with these actions."""
    states = [state.copy()]
    for actions in turns:
        state.apply(*actions)
        states.append(state.copy())
    return states


def record_of(*, cut=False, resigned=False):
    return GameRecord(0, 0, np.zeros(2, np.float32), resigned, cut, list[Move]())


def test_collectors_by_hand():
    """One piece each, one shared, one more for player 0 and two that are left."""
    game = rf.make("pyrat", width=7, height=2, max_turns=20)
    state = game.state(
        p1=[0, 0],
        p2=[6, 0],
        cheese=[[1, 0], [5, 0], [3, 0], [0, 1], [2, 1], [6, 1]],
        walls=[],
        mud=[[[3, 0], [3, 1], 3]],
    )
    states = played(
        state,
        (RIGHT, LEFT),  # (1, 0) to player 0, (5, 0) to player 1
        (RIGHT, LEFT),
        (RIGHT, LEFT),  # (3, 0) shared
        (LEFT, UP),  # player 1 into the mud
        (UP, STAY),  # (2, 1) to player 0
    )
    found = collectors(states, record_of())
    wanted = {1: 0, 5: 1, 3: 2, 7: 3, 9: 0, 13: 3}
    assert found.tolist() == [wanted.get(cell, -1) for cell in range(14)]
    unfinished = {cell: owner for cell, owner in wanted.items() if owner != 3}
    for known in (record_of(cut=True), record_of(resigned=True)):
        assert collectors(states, known).tolist() == [unfinished.get(cell, -1) for cell in range(14)]
        assert final_scores(states[-1], known).tolist() == [-1, -1]
    assert final_scores(states[-1], record_of()).tolist() == [5, 3]


def test_a_piece_under_a_player_in_mud_goes_to_the_other():
    game = rf.make("pyrat", width=3, height=1 + 1, max_turns=20)
    state = game.state(p1=[0, 0], p2=[2, 0], cheese=[[1, 0], [0, 1]], walls=[], mud=[[[0, 0], [1, 0], 4]])
    states = played(state, (RIGHT, STAY), (STAY, LEFT))
    assert collectors(states, record_of())[1] == 1


def test_rows_count_the_cheese_that_is_left():
    games = records(GAME, SEARCH, 6)
    made = make_samples(GAME, games, SEARCH, TargetConfig(), 2, HEADS)
    row = 0
    for record in sorted(games, key=lambda record: record.number):
        states = list(record.states(GAME))
        last = states[-1].fields
        for state in states[:-1]:
            there = {y * 5 + x for x, y in state.fields["cheese"]}
            assert {int(cell) for cell in np.flatnonzero(made.cheese[row] >= 0)} == there
            owners = made.cheese[row][made.cheese[row] >= 0]
            for player in (0, 1):  # points still to come are the pieces that the player collects
                to_come = last[f"score{player + 1}"] - state.fields[f"score{player + 1}"]
                assert (owners == player).sum() + 0.5 * (owners == 2).sum() == to_come
            assert (owners == 3).sum() == len(last["cheese"])
            assert made.final_scores[row].tolist() == [2 * last["score1"], 2 * last["score2"]]
            assert made.collected[row] == pytest.approx(made.values[row].sum())
            row += 1
    assert row == len(made) > 20


def test_payoffs_are_those_of_the_search():
    games = records(GAME, SEARCH, 2)
    made = make_samples(GAME, games, SEARCH, TargetConfig(), 2, HEADS)
    found = [move.found for record in sorted(games, key=lambda r: r.number) for move in record.moves]
    for row, one in enumerate(found):
        seen = 0
        for i, first in enumerate(one.outcomes[0]):
            for j, second in enumerate(one.outcomes[1]):
                assert made.pair_visits[row, first, second] == one.visits[i, j]
                if one.visits[i, j]:
                    assert np.array_equal(made.payoffs[row, :, first, second], one.payoffs[:, i, j])
                seen += one.visits[i, j]
        assert made.pair_visits[row].sum() == seen


def test_turned_rows_have_turned_targets():
    """The square of distances to the cheese of each class is the same; payoffs go with the players' actions."""
    made = make_samples(GAME, records(GAME, SEARCH, 6), SEARCH, TargetConfig(), 2, HEADS)
    replay = Replay(GAME, WindowConfig(), TargetConfig(), CPU)
    replay.add(made)
    drawn = replay.draw(64, (4,))
    for row in range(64):
        there = drawn.observations[row, 2].flatten() > 0
        assert torch.equal(drawn.cheese[row] >= 0, there)
        visited = drawn.pair_visits[row] > 0
        for player in (0, 1):
            stands = torch.unique(drawn.groups[row, player])
            tried = visited.any(dim=1 - player).nonzero().flatten()
            assert set(tried.tolist()) <= set(stands.tolist())
            share = drawn.pair_visits[row].sum(dim=1 - player)
            assert torch.allclose(share / share.sum(), drawn.policies[row, player], atol=1e-5)


def test_heads_that_a_game_cannot_have_are_refused():
    with pytest.raises(ValueError, match="a cheese head cannot be trained for hex, only for pyrat"):
        make_samples(rf.make("hex", size=3), [], SEARCH, TargetConfig(), 1, ("cheese",))
    with pytest.raises(ValueError, match="payoffs head can be trained only where both players act at once"):
        make_samples(rf.make("hex", size=3), [], SEARCH, TargetConfig(), 1, ("payoffs",))


def test_class_losses_skip_what_is_unknown():
    logits = torch.zeros(1, 4, 3)
    logits[0, 2, 0] = math.log(3)
    found = class_loss(logits, torch.tensor([[2, -1, 0]], dtype=torch.int8))
    assert found.item() == pytest.approx((math.log(2) + math.log(4)) / 2)  # 3/6, and 1/4
    assert float(class_loss(logits, torch.full((1, 3), -1))) == 0.0


def test_payoff_loss_by_hand():
    visits = torch.tensor([[[3.0, 1.0], [0.0, 0.0]]])
    target = torch.tensor([[[[1.0, 2.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]])
    payoffs = torch.zeros(1, 2, 2, 2, requires_grad=True)
    found = payoff_loss(payoffs, batch(pair_visits=visits, payoffs=target))
    assert found.item() == pytest.approx((0.75 * 1 + 0.25 * 4 + 0.75 * 0 + 0.25 * 1) / 2)
    found.backward()
    assert payoffs.grad[0, 0].flatten().tolist() == pytest.approx([-0.75, -0.5, 0, 0])
    assert payoffs.grad[0, 1].flatten().tolist() == pytest.approx([0, -0.25, 0, 0])
    assert payoff_loss(payoffs, batch(pair_visits=visits * 0, payoffs=target)).item() == 0.0


def test_payoffs_of_equal_actions_are_averaged():
    groups = torch.tensor([[[1, 1], [0, 1]]])
    of = members(batch(groups=groups))
    payoffs = torch.tensor([[[[1.0, 2.0], [3.0, 5.0]], [[0.0, 0.0], [1.0, 1.0]]]])
    found = average_payoffs(payoffs, of)
    assert found[0, 0].tolist() == [[0.0, 0.0], [2.0, 3.5]]
    assert found[0, 1].tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_nash_loss_is_zero_at_an_equilibrium_and_counts_violations():
    of = members(batch())
    pennies = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    payoffs = torch.stack([pennies, -pennies]).unsqueeze(0)
    even = torch.full((1, 2, 2), 0.5)
    assert float(nash_loss(payoffs, of, even)) == 0.0
    # The other always plays its first: worth 1 and -1 for the viewer, whose mix is worth 0, so 1 and 1 squared.
    # For the other, both are worth 0 against the even mix.
    pure = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])
    assert float(nash_loss(payoffs, of, pure)) == pytest.approx((1 + 0) / 2)
    # Both play their first: worth 1 to the viewer, its second less, which is no violation; the other would gain 2.
    both = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    given = payoffs.clone().requires_grad_()
    found = nash_loss(given, of, both)
    assert found.item() == pytest.approx((0 + (4 / 2)) / 2)
    found.backward()
    assert not given.grad[0, 0].any()
    assert given.grad[0, 1].flatten().tolist() == pytest.approx([-1, 1, 0, 0])  # 2 * 2 / 2 outcomes / 2 players
    assert float(nash_loss(payoffs, of, torch.tensor([[[1.0, 0.0], [0.0, 0.0]]]))) == 0.0  # no target


def test_constant_sum_loss_by_hand():
    payoffs = torch.tensor([[[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, 2.0]]]], requires_grad=True)
    of = members(batch())
    found = constant_sum_loss(payoffs, of, torch.tensor([2.0]))
    assert found.item() == pytest.approx((0 + 1 + 0 + 1) / 4)
    found.backward()
    assert payoffs.grad[0, 0].tolist() == payoffs.grad[0, 1].tolist() == [[0.0, 0.5], [0.0, 0.5]]
    merged = members(batch(groups=torch.tensor([[[1, 1], [0, 1]]])))  # one outcome against two
    mean = average_payoffs(payoffs.detach(), merged)
    assert float(constant_sum_loss(mean, merged, torch.tensor([2.0]))) == pytest.approx((0 + 1) / 2)


def test_win_probabilities():
    """Exact where the scores add up: of two pieces in half points, with chances 1/4, 1/2 and 1/4 of 0, 1 and 2."""
    even = torch.tensor([0.25, 1e-12, 0.5, 1e-12, 0.25]).log()
    found = win_probabilities(torch.stack([even, even]).unsqueeze(0))
    assert found[0].tolist() == pytest.approx([0.25, 0.5, 0.25], abs=1e-6)
    ahead = torch.tensor([[[0.0, 0.0, 0.1, 0.3, 0.6], [0.6, 0.3, 0.1, 0.0, 0.0]]]).log().clamp(min=-60)
    assert win_probabilities(ahead)[0].tolist() == pytest.approx([0.9, 0.1, 0.0], abs=1e-6)
    assert win_probabilities(ahead.flip(1))[0].tolist() == pytest.approx([0.0, 0.1, 0.9], abs=1e-6)
    drawn = win_probabilities(torch.randn(50, 2, 9))
    assert torch.allclose(drawn.sum(dim=1), torch.ones(50).double())
    assert (drawn >= 0).all()


class TinyNetwork(torch.nn.Module):
    """All heads from one layer."""

    def __init__(self, game) -> None:
        super().__init__()
        self.cells = int(np.prod(game.observation_shape[1:]))
        self.sizes = {"logits": 10, "values": 2, "cheese": 4 * self.cells, "final_score": 22, "payoffs": 50}
        self.layer = torch.nn.Linear(int(np.prod(game.observation_shape)), sum(self.sizes.values()))

    def forward(self, observations):
        parts = self.layer(observations.flatten(1)).split(list(self.sizes.values()), dim=1)
        found, rows = dict(zip(self.sizes, parts, strict=True)), len(observations)
        return {
            "logits": found["logits"].view(rows, 2, 5),
            "values": found["values"],
            "cheese": found["cheese"].view(rows, 4, self.cells),
            "final_score": found["final_score"].view(rows, 2, 11),
            "payoffs": found["payoffs"].view(rows, 2, 5, 5),
        }


def test_all_heads_are_learnt():
    """The losses fall, the total is their weighted sum, and the metrics improve."""
    made = make_samples(GAME, records(GAME, SEARCH, 6), SEARCH, TargetConfig(), 2, HEADS)
    replay = Replay(GAME, WindowConfig(), TargetConfig(augment=False), CPU)
    replay.add(made)
    rows = replay.newest(64)
    torch.manual_seed(0)
    module = TinyNetwork(GAME)
    module.config = rf.networks.ResNetConfig()
    weights = LossConfig(nash=0.1, constant_sum=0.1, cheese=1, final_score=1, payoffs=1)
    settings = OptimizerConfig(learning_rate=0.02, warmup_steps=0, schedule="constant", average="none")
    learner = Learner(module, settings, weights, CPU)
    before = pyrat_measures(learner.module(rows.observations), rows)
    found = [{name: float(loss) for name, loss in learner.learn(rows, 0.0).items()} for _ in range(80)]
    for name in ("policy", "cheese", "final_score", "payoffs", "constant_sum"):  # without payoffs nothing violates Nash
        assert found[-1][name] < found[0][name], name
    wanted = sum(
        getattr(weights, name) * value for name, value in found[0].items() if name not in ("total", "gradient")
    )
    assert found[0]["total"] == pytest.approx(wanted, rel=1e-5)
    after = pyrat_measures(learner.module(rows.observations), rows)
    assert after["cheese_accuracy"] > before["cheese_accuracy"]
    assert after["final_score_error"] < before["final_score_error"]
    assert after["payoff_error"] < before["payoff_error"]


def test_outputs_that_are_no_heads_have_no_loss():
    """A network whose config names no heads: the batch has no targets for what else it gives."""
    made = make_samples(GAME, records(GAME, SEARCH, 2), SEARCH, TargetConfig(), 2)
    replay = Replay(GAME, WindowConfig(), TargetConfig(), CPU)
    replay.add(made)
    rows = replay.draw(8, (0,))
    module = TinyNetwork(GAME)
    module.config = rf.networks.ResNetConfig()
    outputs = module(rows.observations)
    assert losses(outputs, rows, module, LossConfig()).keys() == {"policy", "value", "total"}
    assert not pyrat_measures(outputs, rows)


def test_scores_beyond_the_bins_are_in_the_last():
    made = make_samples(GAME, records(GAME, SEARCH, 2), SEARCH, TargetConfig(), 2, HEADS)
    high = replace(made, final_scores=np.full_like(made.final_scores, 30))
    replay = Replay(GAME, WindowConfig(), TargetConfig(augment=False), CPU)
    replay.add(high)
    rows = replay.newest(4)
    logits = torch.zeros(4, 2, 11)
    logits[:, :, 10] = 50.0
    assert pyrat_measures({"final_score": logits}, rows)["final_score_error"] == pytest.approx(0.0, abs=1e-6)


def test_value_losses_are_in_the_unit_of_the_network():
    """In units of the cheese left, half of it missed costs the same on every board."""
    made = make_samples(GAME, records(GAME, SEARCH, 2), SEARCH, TargetConfig(), 2)
    replay = Replay(GAME, WindowConfig(), TargetConfig(), CPU)
    replay.add(made)
    rows = replay.draw(8, (0,))
    module = rf.networks.make(GAME, {"kind": "destinations", "blocks": 0, "channels": 8, "value_unit": "remaining"})
    outputs = module(rows.observations)
    left = outputs["value_unit"]
    assert len(left.unique()) > 1
    outputs["values"] = rows.values + left / 2
    assert float(losses(outputs, rows, module, LossConfig())["value"]) == pytest.approx(0.25)
    del outputs["value_unit"]  # a network that predicts points
    points = float((left / 2).square().mean())
    assert float(losses(outputs, rows, module, LossConfig())["value"]) == pytest.approx(points)
