"""The window, and what is drawn from it."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.evaluators.symmetries import distinct
from ramify.training import Replay, Samples, TargetConfig, WindowConfig, make_samples
from tests.training.helpers import records

SEARCH = rf.SearchConfig(simulations=12)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def samples():
    game = rf.make("tictactoe")
    return make_samples(game, records(game, SEARCH, 12), SEARCH, TargetConfig(), 1, heads=("ownership",))


def part(samples: Samples, rows) -> Samples:
    return Samples(*(getattr(samples, field.name)[rows] for field in fields(Samples)))


def replay_of(samples, *, game="tictactoe", size=1000, **targets):
    made = Replay(rf.make(game), WindowConfig(size=size, growing=False), TargetConfig(**targets), CPU)
    made.add(samples)
    return made


def test_old_positions_fall_out(samples):
    whole = replay_of(samples, size=20)
    pieces = Replay(rf.make("tictactoe"), WindowConfig(size=20, growing=False), TargetConfig(), CPU)
    for start in range(0, len(samples), 7):
        pieces.add(part(samples, slice(start, start + 7)))
    assert len(whole) == len(pieces) == 20
    assert whole.total == pieces.total == len(samples)
    for made in (whole, pieces):
        newest = made.newest(100)
        assert np.array_equal(newest.observations.numpy(), samples.observations[-20:])
        assert np.array_equal(newest.values.numpy(), samples.values[-20:])
    first, second = (made.draw(16, (3, 4)) for made in (whole, pieces))
    for name, tensor in vars(first).items():
        assert torch.equal(tensor, getattr(second, name))


def test_draws_depend_on_the_key_alone(samples):
    made = replay_of(samples)
    first = made.draw(8, (1, 2))
    made.draw(8, (1, 3))
    assert torch.equal(first.observations, made.draw(8, (1, 2)).observations)
    assert not torch.equal(first.observations, made.draw(8, (1, 3)).observations)


def test_surprising_positions_are_drawn_more_often(samples):
    surprise = np.zeros(len(samples), np.float32)
    surprise[5] = 1.0
    values = np.arange(len(samples), dtype=np.float32)[:, None]
    marked = replace(samples, surprise=surprise, values=values)

    def share(weight):
        drawn = replay_of(marked, surprise=weight, augment=False).draw(20_000, (0,)).values.numpy()
        return float((drawn == 5).mean())

    assert share(0.0) == pytest.approx(1 / len(samples), abs=0.01)
    assert share(0.5) == pytest.approx(0.5 + 0.5 / len(samples), abs=0.02)
    assert share(1.0) == 1.0


def test_images_are_those_of_the_game():
    """A turned row is the row of the turned position, with the policy and the owners turned along."""
    game = rf.make("connect_four")
    made = make_samples(game, records(game, SEARCH, 6), SEARCH, TargetConfig(), 1, heads=("ownership",))
    replay = Replay(game, WindowConfig(size=10_000), TargetConfig(), CPU)
    replay.add(made)
    batch = replay.draw(64, (9,))
    known = {row.tobytes(): number for number, row in enumerate(made.observations)}
    turned = 0
    for row in range(64):
        observation = batch.observations[row].numpy()
        for symmetry in distinct(game):
            back = np.empty(observation.size, np.float32)
            back[symmetry.observation] = observation.ravel()
            number = known.get(back.reshape(observation.shape).tobytes())
            if number is None:
                continue
            if np.array_equal(batch.policies[row, 0].numpy()[symmetry.actions], made.policies[number, 0]):
                assert np.array_equal(batch.legal[row, 0].numpy()[symmetry.actions], made.legal[number, 0])
                owners = np.zeros(42, np.int8)
                owners[symmetry.observation[:42]] = batch.owners[row].numpy()
                turned += symmetry.name != "identity" and np.array_equal(owners, made.owners[number])
                break
        else:
            pytest.fail("a drawn row is no image of a recorded one")
    assert turned > 10
