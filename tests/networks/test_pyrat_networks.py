"""The tool that compares networks for PyRat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ramify as rf
from tests.evaluators.helpers import some_states
from tools.pyrat_networks import Rows, Symmetries, learn, outcome_shares

GAME = {"width": 5, "height": 5, "cheese": 5, "wall_density": 0.5, "mud_density": 0.4, "symmetric": False}


def test_shares_of_outcomes() -> None:
    """Actions that lead to the same position share one probability, the sum of theirs."""
    game = rf.make("pyrat", **GAME)
    states = some_states(game, 10, turns=10)
    logits = torch.randn(10, 2, 5, generator=torch.Generator().manual_seed(0))
    found = outcome_shares(logits, torch.from_numpy(np.stack([state.observation(0) for state in states])))
    shares = logits.softmax(dim=2)
    for row, state in enumerate(states):
        for player in (0, 1):
            keys = []
            for action in range(5):
                after = state.copy()
                after.apply(*((action, 4) if player == 0 else (4, action)))
                keys.append(after.key)
            for action, key in enumerate(keys):
                same = [other == key for other in keys]
                assert found[row, player, action].exp().item() == pytest.approx(shares[row, player, same].sum().item())


def test_images_are_positions_of_the_game() -> None:
    """With the policy of each action at the action that does the same in the image."""
    game = rf.make("pyrat", **GAME)
    state = some_states(game, 1, turns=10)[0]
    seen = torch.from_numpy(state.observation(0))[None].expand(40, -1, -1, -1)
    policies = torch.arange(10.0).view(1, 2, 5).expand(40, -1, -1)
    values = torch.tensor([[1.0, 2.0]]).expand(40, -1)
    images = Symmetries(game)(Rows(seen, policies, values), torch.Generator().manual_seed(0))
    known = {}
    for number, turn in enumerate(game.symmetries):
        swaps = turn.swaps_players
        order = np.argsort(turn.actions)
        expected = policies[0].numpy()[:, order]
        known[state.transform(number).observation(0).tobytes()] = (expected[::-1] if swaps else expected, swaps)
    met = set()
    for row in range(40):
        expected, swaps = known[images.observations[row].numpy().tobytes()]
        met.add(images.observations[row].numpy().tobytes())
        assert (images.policies[row].numpy() == expected).all()
        assert images.values[row].tolist() == ([2.0, 1.0] if swaps else [1.0, 2.0])
    assert len(met) > 8


def test_it_trains_and_tests() -> None:
    lines = list(learn(["destinations:1x8"], games=20, simulations=8, seconds=0.05, seeds=1))
    assert "positions to train on" in lines[0]
    assert [line.split("|")[3].strip() for line in lines[3:]] == ["no", "yes"]
