"""Networks whose every weight matters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

import ramify as rf
from ramify import networks

GAMES = {
    "tictactoe": {},
    "connect_four": {},
    "hex": {"size": 5},
    "hex swap": {"size": 5, "swap": True},
    "chess": {},
    "pyrat": {"preset": "tiny"},
    "goofspiel": {},
    "matrix": {"payoffs": [[1, 2, 3], [4, 5, 6]]},
}


def game_of(label: str) -> rf.Game:
    return rf.make(label.split()[0], **GAMES[label])


@torch.no_grad()
def lively(module: nn.Module, seed: int = 0) -> nn.Module:
    """The module as if trained: biases and statistics of normalisations are not those of a fresh one."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.normal_(0, 0.3, generator=generator)
            part.running_var.uniform_(0.5, 2.0, generator=generator)
            part.weight.uniform_(0.5, 1.5, generator=generator)
    for name, weight in module.named_parameters():
        if name.endswith("bias"):
            weight.normal_(0, 0.2, generator=generator)
    return module.eval()


def net(label: str, config: str | networks.NetworkConfig = "3x16", seed: int = 0) -> networks.GameNetwork:
    module = networks.make(game_of(label), config, seed)
    lively(module, seed)
    return module


def outcome(call: Callable[[], Any]) -> tuple[Any, str]:
    """What it gives, or the text of the ValueError that it raises."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


def check_changes_of_weights(
    evaluator: Any, modules: Sequence[nn.Module], batch: rf.Batch, changes: int, threads: int = 3, atol: float = 0.0
) -> None:
    """Threads evaluate while weights change: each answer is that of one network, never of a bit of both."""
    allowed = []
    for module in modules:
        evaluator.load_weights(module)
        allowed.append(evaluator.evaluate(batch).logits)
    assert np.abs(allowed[0] - allowed[1]).max() > 0.1
    strangers, seen, ended = [], [0] * len(modules), threading.Event()

    def work() -> None:
        while not ended.is_set():
            found = evaluator.evaluate(batch).logits
            which = [np.allclose(found, logits, rtol=0, atol=atol) for logits in allowed]
            if any(which):
                seen[which.index(True)] += 1
            else:
                strangers.append(found)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for number in range(changes):
        evaluator.load_weights(modules[number % len(modules)].state_dict())
    ended.set()
    for worker in workers:
        worker.join()
    assert strangers == []
    assert min(seen) > 0
    assert evaluator.version == len(modules) + changes
