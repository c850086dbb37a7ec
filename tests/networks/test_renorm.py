"""Batch renormalisation: as batch normalisation at first, then the same in training as in evaluation."""

from __future__ import annotations

import copy

import torch
from torch import nn

import ramify as rf
from ramify.networks.blocks import BatchRenorm, folded, renormalized


def boards(turn: int) -> torch.Tensor:
    """Batches of two kinds in turn, with different statistics."""
    generator = torch.Generator().manual_seed(turn)
    x = torch.randn(16, 3, 4, 5, generator=generator)
    return x if turn % 2 else 3 * x + 2


def test_the_first_batches_are_normalised_by_their_own_statistics() -> None:
    plain, renorm = nn.BatchNorm2d(3), BatchRenorm(nn.BatchNorm2d(3))
    for turn in range(4):
        x = boards(turn)
        first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
        found, wanted = renorm(first), plain(second)
        assert torch.allclose(found, wanted, atol=1e-5)
        (found**3).sum().backward()
        (wanted**3).sum().backward()
        assert torch.allclose(first.grad, second.grad, atol=1e-3)


def test_training_agrees_with_evaluation_on_boards_of_different_kinds() -> None:
    plain, renorm = nn.BatchNorm2d(3), BatchRenorm(nn.BatchNorm2d(3))
    for turn in range(700):
        plain(boards(turn))
        renorm(boards(turn))
    for turn in (1000, 1001):
        gaps = []
        for norm in (plain, renorm):
            trained = copy.deepcopy(norm)(boards(turn))
            gaps.append(float((trained - copy.deepcopy(norm).eval()(boards(turn))).abs().max().detach()))
        assert gaps[0] > 0.5
        assert gaps[1] < 1e-4


def test_gradients_are_those_of_the_batch_statistics_times_the_correction() -> None:
    """The correction has no gradient: with it, x -> (x - mean) / deviation * scale + shift."""
    renorm = BatchRenorm(nn.BatchNorm2d(3))
    for turn in range(700):
        renorm(boards(turn))
    x = boards(1000).requires_grad_()
    usual, centre = torch.sqrt(renorm.running_var + renorm.eps), renorm.running_mean.clone()
    variance, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
    deviation = torch.sqrt(variance + renorm.eps)
    scale, shift = (deviation / usual).detach(), ((mean - centre) / usual).detach()
    wanted = ((x - mean[:, None, None]) / deviation[:, None, None]) * scale[:, None, None] + shift[:, None, None]
    [by_hand] = torch.autograd.grad((wanted**3).sum(), x)
    [found] = torch.autograd.grad((renorm(x) ** 3).sum(), x)
    assert torch.allclose(found, by_hand, atol=1e-3)


def test_a_network_keeps_its_weights_its_outputs_and_its_file() -> None:
    module = rf.networks.make(rf.make("hex", size=3), "2x8")
    changed = renormalized(copy.deepcopy(module))
    assert sum(isinstance(part, BatchRenorm) for part in changed.modules()) > 4
    assert not any(type(part) is nn.BatchNorm2d for part in changed.modules())
    assert {name: tuple(x.shape) for name, x in changed.state_dict().items()} == {
        name: tuple(x.shape) for name, x in module.state_dict().items()
    }
    x = torch.rand(5, *module.spec.observation_shape)
    for _ in range(3):
        changed.train()(x)
    module.load_state_dict(changed.state_dict())
    for wanted, found in zip(module.eval()(x).values(), folded(changed)(x).values(), strict=True):
        assert torch.allclose(found, wanted, atol=1e-4)
