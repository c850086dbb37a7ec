"""Compare networks for PyRat: their size and speed, or what they learn from the same games in the same time.

    python -m tools.pyrat_networks speeds
    python -m tools.pyrat_networks learn --games 400 --seconds 60

``speeds`` counts parameters and floating-point operations and times batches of 64 positions of a 7x7 maze in one
thread. ``learn`` plays games of a small maze by searches with rollouts, trains each network on nine tenths of them for
the same CPU time in one thread, and prints losses on the games that no network has seen. Every network is trained
with and without augmentation by the symmetries of the game.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ramify as rf
from ramify import networks
from ramify.evaluators.backends import installed
from ramify.evaluators.cpu import Choice, Opened
from ramify.networks.mazes import EXCHANGED, OTHER, OWN, mover
from ramify.selfplay import PlayConfig, SelfPlay, decode
from ramify.training.config import TargetConfig
from ramify.training.samples import Samples, make_samples

SPEEDS = ("symmetric-mlp:2x256", "symmetric-mlp:3x2048", "6x64", "destinations:6x44", "cells-attention:5x64")
LEARN = ("symmetric-mlp:3x512", "4x24", "destinations:4x16", "cells-attention:3x24")
BATCH = 64


@dataclass(frozen=True)
class Rows:
    """Positions as tensors, the viewer's outputs first."""

    observations: Tensor
    policies: Tensor  # [n, 2, 5]: share of an outcome at one of its actions
    values: Tensor  # [n, 2]: cheese still to come

    def __len__(self) -> int:
        return len(self.values)

    def select(self, rows: Tensor) -> Rows:
        return Rows(self.observations[rows], self.policies[rows], self.values[rows])


def speeds(names: list[str]) -> Iterator[str]:
    """A line of a table per network."""
    game = rf.make("pyrat", width=7, height=7, cheese=9)
    backends = installed()
    yield f"| network | parameters | MFLOP | {' | '.join(f'{name}, positions/s' for name in backends)} |"
    yield "|---" * (3 + len(backends)) + "|"
    for name in names:
        module = networks.make(game, name).eval()
        shape = tuple(game.observation_shape)
        rates = Choice(module, backends).measure(Opened(networks.folded(module)), shape, BATCH)
        count = sum(networks.parameter_counts(module).values())
        cells = " | ".join(f"{rates[backend]:,.0f}" if backend in rates else "–" for backend in backends)
        yield f"| `{name}` | {count:,} | {networks.flops(module) / 1e6:.2f} | {cells} |"


def play(game: rf.Game, games: int, simulations: int, seed: int) -> Samples:
    """Positions of self-play games by searches with rollouts."""
    search = rf.SearchConfig(simulations=simulations)
    records = []
    played = SelfPlay(game, rf.evaluators.Rollout(), search, PlayConfig(full_share=1.0), games=games, seed=seed)
    for finished in played:
        records += [decode(data) for data in finished]
    return make_samples(game, records, played.search, TargetConfig(), players=2, heads=())


def split(samples: Samples) -> tuple[Rows, Rows]:
    """Positions to train on, and those of every tenth game to test with."""
    held = samples.games % 10 == 9
    pick = [(~held).nonzero()[0], held.nonzero()[0]]
    fields = (samples.observations, samples.policies, samples.values)
    train, test = (Rows(*(torch.from_numpy(field[rows]) for field in fields)) for rows in pick)
    return train, test


def outcome_shares(logits: Tensor, observations: Tensor) -> Tensor:
    """Logarithms of the probability of each action's outcome: the sum over the actions that lead to the same cell."""
    movers = [mover(observations, plane).destinations for plane in (OWN, OTHER)]
    cells = torch.stack(movers, dim=1)
    same = (cells.unsqueeze(3) == cells.unsqueeze(2)).to(logits.dtype)
    shares = logits.softmax(dim=2)
    return (same @ shares.unsqueeze(3)).squeeze(3).clamp(min=1e-9).log()


def uniform(observations: Tensor) -> Tensor:
    """Logits of the policy that is uniform over outcomes, [B, 2, 5]."""
    return -torch.stack([mover(observations, plane).log_count for plane in (OWN, OTHER)], dim=1)


def losses(module: networks.GameNetwork, rows: Rows) -> tuple[Tensor, Tensor]:
    """Cross-entropy of outcomes and squared error of values, per player."""
    outputs = module(rows.observations, heads=False)
    shares = outcome_shares(outputs["logits"], rows.observations)
    policy = -(rows.policies * shares).sum(dim=2).mean()
    return policy, (outputs["values"] - rows.values).square().mean()


class Symmetries:
    """Random images of positions: rotations and reflections, and the other player's view."""

    def __init__(self, game: rf.Game) -> None:
        turns = [turn for turn in game.symmetries if not turn.swaps_players]
        self.observation = torch.from_numpy(np.stack([turn.observation for turn in turns]).astype(np.int64))
        inverse: NDArray[np.int64] = np.argsort(np.stack([turn.actions for turn in turns]), axis=1)
        self.actions = torch.from_numpy(inverse)
        self.exchanged = torch.tensor(EXCHANGED)

    def __call__(self, rows: Rows, generator: torch.Generator) -> Rows:
        count, shape = len(rows), rows.observations.shape
        which = torch.randint(len(self.actions), (count,), generator=generator)
        seen = rows.observations.flatten(1).gather(1, self.observation[which]).view(shape)
        policies = rows.policies.gather(2, self.actions[which].unsqueeze(1).expand(-1, 2, -1))
        swap = torch.rand(count, generator=generator) < 0.5
        return Rows(
            torch.where(swap.view(-1, 1, 1, 1), seen.index_select(1, self.exchanged), seen),
            torch.where(swap.view(-1, 1, 1), policies.flip(1), policies),
            torch.where(swap.view(-1, 1), rows.values.flip(1), rows.values),
        )


def train(module: networks.GameNetwork, rows: Rows, images: Symmetries | None, seconds: float) -> int:
    """Train for some CPU time; returns the number of steps."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(module.parameters(), lr=2e-3, weight_decay=1e-4)
    started, steps = time.thread_time(), 0
    module.train()
    while (spent := (time.thread_time() - started) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, 2 * (1 - spent))  # constant, then down to 0
        batch = rows.select(torch.randint(len(rows), (BATCH,), generator=generator))
        policy, value = losses(module, batch if images is None else images(batch, generator))
        optimizer.zero_grad()
        torch.autograd.backward(policy + value)
        optimizer.step()
        steps += 1
    module.eval()
    return steps


def learn(names: list[str], games: int, simulations: int, seconds: float, seeds: int) -> Iterator[str]:
    """A line of a table per network."""
    game = rf.make("pyrat", width=5, height=5, cheese=5, max_turns=40, wall_density=0.5, mud_density=0.2)
    started = time.perf_counter()
    rows, test = split(play(game, games, simulations, seed=1))
    entropy = -(test.policies * test.policies.clamp(min=1e-9).log()).sum(dim=2).mean()
    even = -(test.policies * outcome_shares(uniform(test.observations), test.observations)).sum(dim=2).mean()
    yield (
        f"{games} games of {game}, {simulations} simulations: {len(rows)} positions to train on and {len(test)} to "
        f"test with, in {time.perf_counter() - started:.0f} s. Entropy of the policies {entropy:.3f}; loss of "
        f"the uniform policy {even - entropy:.3f} beyond it. Variance of the values {test.values.var():.3f}."
    )
    yield "| network | MFLOP | augmented | steps | policy loss, beyond the entropy | value loss |"
    yield "|---" * 6 + "|"
    for name in names:
        for images in (None, Symmetries(game)):
            found, steps = [], 0
            for seed in range(seeds):
                module = networks.make(game, name, seed)
                steps = train(module, rows, images, seconds)
                with torch.no_grad():
                    found.append([loss.item() for loss in losses(module, test)])
            policy, value = zip(*found, strict=True)
            spread = [f"{min(x):.3f} – {max(x):.3f}" for x in (np.array(policy) - entropy.item(), value)]
            cost = f"{networks.flops(module) / 1e6:.2f}"
            yield f"| `{name}` | {cost} | {'yes' if images else 'no'} | {steps:,} | {spread[0]} | {spread[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speeds", "learn"])
    parser.add_argument("--networks", nargs="+", help="networks, as KIND:DEPTHxWIDTH")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="CPU time to train each network")
    parser.add_argument("--seeds", type=int, default=2, help="initial weights to start from")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "speeds":
        lines = speeds(given.networks or list(SPEEDS))
    else:
        lines = learn(given.networks or list(LEARN), given.games, given.simulations, given.seconds, given.seeds)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
