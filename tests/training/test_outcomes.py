"""Policy losses over outcomes: what a network is trained to is what the search reads from its logits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.evaluators.symmetries import distinct
from ramify.networks import ResNetConfig
from ramify.training import LossConfig, Replay, TargetConfig, WindowConfig, make_samples
from ramify.training.losses import losses, measures, policy_logits
from ramify.training.outcomes import merged
from tests.training.helpers import records

SEARCH = rf.SearchConfig(simulations=12)
CPU = torch.device("cpu")
PYRAT = rf.make("pyrat", width=3, height=3, cheese=3, max_turns=12, wall_density=0.3, mud_density=0.3)
MODULE = SimpleNamespace(config=ResNetConfig())


def batch_of(game, rows=64, augment=True, players=None):
    targets = TargetConfig(augment=augment)
    made = make_samples(game, records(game, SEARCH, 8), SEARCH, targets, players or (2 if game.simultaneous else 1))
    replay = Replay(game, WindowConfig(), targets, CPU)
    replay.add(made)
    return made, replay.draw(rows, (1,))


def test_a_uniform_target_over_outcomes_is_reached_as_the_search_reads_it():
    """In the corner of an open maze: UP, RIGHT and staying, which three actions amount to."""
    game = rf.make("pyrat", width=3, height=3, cheese=1, wall_density=0, mud_density=0)
    state = game.initial_state(seed=0)
    made = make_samples(game, records(game, SEARCH, 1), SEARCH, TargetConfig(), 2)
    replay = Replay(game, WindowConfig(), TargetConfig(augment=False), CPU)
    replay.add(made)
    batch = replay.newest(len(made))
    first = {name: tensor[:1] for name, tensor in vars(batch).items()}
    policies = torch.zeros(1, 2, 5)
    for player in (0, 1):
        policies[0, player, state.outcomes(player)[0].tolist()] = 1 / 3
    corner = type(batch)(**{**first, "policies": policies})
    logits = torch.zeros(1, 2, 5, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=4.0)
    for _ in range(100):
        optimizer.zero_grad()
        outputs = {"logits": logits, "values": torch.zeros(1, 2)}
        losses(outputs, corner, MODULE, LossConfig())["policy"].backward()
        optimizer.step()
    found = logits.detach().numpy()

    def evaluate(batch):
        return np.repeat(found, len(batch), axis=0), np.zeros((len(batch), 2), np.float32)

    result = rf.search(state, rf.evaluators.Function(evaluate), simulations=2)
    for player in (0, 1):
        assert result.priors[player] == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_probabilities_are_added_up_as_plain_sums():
    logits = torch.randn(3, 2, 5).log_softmax(dim=2).requires_grad_()
    groups = torch.tensor([[4, 1, 4, 3, 4], [0, 1, 2, 3, 4]], dtype=torch.int8).expand(3, 2, 5)
    found = merged(logits, groups)
    chances = logits.exp()
    assert torch.allclose(found[:, 0, 4], (chances[:, 0, 0] + chances[:, 0, 2] + chances[:, 0, 4]).log())
    assert torch.allclose(found[:, 0, [1, 3]], logits[:, 0, [1, 3]])
    assert torch.allclose(found[:, 1], logits[:, 1])
    assert (found[:, 0, [0, 2]] < -1000).all()
    found[:, 0, 4].sum().backward()
    share = chances[:, 0] / (chances[:, 0, 0] + chances[:, 0, 2] + chances[:, 0, 4]).unsqueeze(1)
    assert torch.allclose(logits.grad[:, 0, [0, 2, 4]], share[:, [0, 2, 4]].detach())
    assert not logits.grad[:, 0, [1, 3]].any()


def test_tiny_probabilities_have_finite_losses_and_gradients():
    logits = torch.tensor([[[0.0, -500.0, -400.0, -300.0, -900.0]]], requires_grad=True)
    groups = torch.tensor([[[0, 4, 4, 3, 4]]])
    found = merged(logits.log_softmax(dim=2), groups)
    assert found[0, 0, 4].item() == pytest.approx(-400, rel=1e-5)
    (-found[0, 0, 4]).backward()
    assert torch.isfinite(logits.grad).all()


def test_groups_are_the_outcomes_of_the_positions():
    made, _ = batch_of(PYRAT)
    row = merging = 0
    for record in sorted(records(PYRAT, SEARCH, 8), key=lambda record: record.number):
        for state, move in zip(record.states(PYRAT), record.moves, strict=False):
            assert move.found is not None
            for player in (0, 1):
                stands, index = state.outcomes(player)
                assert np.array_equal(made.groups[row, player], stands[index])
                merging += len(stands) < 5
            row += 1
    assert row == len(made)
    assert merging > 10


@pytest.mark.parametrize("name", ["tictactoe", "hex", "connect_four"])
def test_games_without_equal_actions_pay_nothing(name):
    """No groups are kept, and the loss is bit for bit the cross-entropy over legal actions."""
    game = rf.make(name, **({"size": 3} if name == "hex" else {}))
    made, batch = batch_of(game)
    assert made.groups.nbytes == 0
    logits = torch.randn(64, game.num_actions)
    masked = torch.where(batch.legal[:, 0], logits, torch.full_like(logits, -1e4)).log_softmax(dim=1)
    wanted = -(batch.policies[:, 0] * masked).sum(dim=1).sum() / 64
    found = losses({"logits": logits, "values": torch.zeros(64)}, batch, MODULE, LossConfig())
    assert torch.equal(found["policy"], wanted)


def test_turned_rows_have_turned_groups():
    """Drawn rows against rows of positions turned by the game itself."""
    made, batch = batch_of(PYRAT, 128)
    known = {row.tobytes(): number for number, row in enumerate(made.observations)}
    turned = 0
    for row in range(128):
        observation = batch.observations[row].numpy()
        for symmetry in distinct(PYRAT):
            back = np.empty(observation.size, np.float32)
            back[symmetry.observation] = observation.ravel()
            number = known.get(back.reshape(observation.shape).tobytes())
            if number is None:
                continue
            wanted = symmetry.actions[made.groups[number]]
            groups = batch.groups[row].numpy()[:, symmetry.actions]
            if np.array_equal(groups, wanted):
                turned += symmetry.name != "identity"
                break
        else:
            pytest.fail("the groups of a drawn row are those of no recorded one")
        blocked = batch.observations[row, 3:7].numpy()
        for player in (0, 1):  # a direction stands for itself where there is a way, unless the player is stuck
            y, x = np.argwhere(batch.observations[row, player].numpy())[0]
            stuck = batch.observations[row, 11 + player, 0, 0] > 0
            for action in range(4):
                same = int(batch.groups[row, player, action]) == action
                assert same == (not stuck and blocked[action, y, x] == 0)
    assert turned > 20


def test_parts_with_and_without_groups_lie_in_one_window():
    made, _ = batch_of(PYRAT)
    alone = type(made)(**{**vars(made), "groups": made.groups[:, :, :0]})
    replay = Replay(PYRAT, WindowConfig(), TargetConfig(augment=False), CPU)
    replay.add(alone)
    replay.add(made)
    batch = replay.newest(2 * len(made))
    assert torch.equal(batch.groups[: len(made)], torch.arange(5).to(batch.groups.dtype).expand(len(made), 2, 5))
    assert np.array_equal(batch.groups[len(made) :].numpy(), made.groups)


def test_metrics_are_over_outcomes():
    """Equal logits: the entropy is that of 3/5, 1/5, 1/5 where three actions stay, and staying is the best."""
    _, batch = batch_of(PYRAT)
    outputs = {"logits": torch.zeros(64, 2, 5), "values": torch.zeros(64, 2)}
    sizes = torch.nn.functional.one_hot(batch.groups.long(), 5).sum(dim=2) / 5
    wanted = -(sizes * sizes.clamp(min=1e-9).log()).sum(dim=2).mean()
    found = measures(outputs, batch)
    assert found["entropy"] == pytest.approx(float(wanted), rel=1e-4)
    perfect = {"logits": (batch.policies + 1e-9).log(), "values": batch.values}
    assert measures(perfect, batch)["entropy"] == pytest.approx(found["target_entropy"], abs=1e-4)
    assert policy_logits(perfect, batch).exp().sum(dim=2).allclose(torch.ones(64, 2))


def test_rows_without_a_target_have_no_part_in_the_mean():
    _, batch = batch_of(PYRAT)
    logits, values = torch.randn(64, 2, 5), torch.zeros(64, 2)
    each = -(batch.policies * policy_logits({"logits": logits}, batch)).sum(dim=2)
    policies = batch.policies.clone()
    policies[::3, 0] = 0
    policies[10:20] = 0
    some = type(batch)(**{**vars(batch), "policies": policies})
    kept = policies.sum(dim=2) > 0
    assert 0 < int(kept.sum()) < 128
    found = losses({"logits": logits, "values": values}, some, MODULE, LossConfig())
    assert found["policy"].item() == pytest.approx(float(each[kept].mean()), rel=1e-5)
    none = type(batch)(**{**vars(batch), "policies": torch.zeros_like(policies)})
    logits.requires_grad_()
    found = losses({"logits": logits, "values": values}, none, MODULE, LossConfig())
    found["policy"].backward()
    assert found["policy"].item() == 0
    assert not logits.grad.any()
    assert measures({"logits": logits, "values": values}, none)["entropy"] == 0.0
