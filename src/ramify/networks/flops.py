"""The cost of evaluating one position."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ramify.games import Game
from ramify.networks.blocks import folded
from ramify.networks.modules import GameNetwork, Inference


@torch.no_grad()
def flops(module: nn.Module, game: Game | None = None) -> int:
    """Floating-point operations of matrix products and convolutions in one evaluation, without auxiliary heads.

    A multiplication and an addition are two operations. ``game``: the game with another board size than that of the
    network; a module that was not created by ``networks.make`` needs it.
    """
    shape: Sequence[int]
    if game is not None:
        shape = game.observation_shape
    elif isinstance(module, GameNetwork):
        shape = module.spec.observation_shape
    else:
        raise ValueError("game is required for a module that was not created by ramify.networks")
    if isinstance(module, GameNetwork):
        module.check_shape(tuple(shape))
    counter = FlopCounterMode(display=False)
    # Two rows: a matrix with one row may be multiplied as a vector, which is not counted.
    with counter, sdpa_kernel(SDPBackend.MATH):  # attention in steps that are counted
        Inference(folded(module).cpu())(torch.zeros(2, *shape))
    return int(counter.get_total_flops()) // 2
