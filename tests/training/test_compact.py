"""Compact samples against the samples they are made of: the same rows and batches, bit for bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.training import Replay, Samples, TargetConfig, UnrollConfig, WindowConfig, make_samples, make_trajectories
from ramify.training.compact import CompactSamples, compacted
from ramify.training.rows import Rows, Sparse
from ramify.training.unroll import UnrollReplay
from tests.training.helpers import records

CPU = torch.device("cpu")
SEARCH = rf.SearchConfig(simulations=8)
PYRAT = {"width": 4, "height": 4, "cheese": 4, "max_turns": 8}
TARGETS = TargetConfig(augment=False)


def samples_of(name: str, learned: bool, params: dict[str, Any] | None = None) -> Samples:
    game = rf.make(name, **(params or {}))
    games = records(game, SEARCH, 3, rf.evaluators.Uniform(), max_moves=12, opening_moves=2)
    players = 2 if game.simultaneous else 1
    if learned:
        return make_trajectories(game, games, SEARCH, TARGETS, players)
    return make_samples(game, games, SEARCH, TARGETS, players)


def window(name: str, learned: bool, params: dict[str, Any] | None = None) -> Replay:
    game = rf.make(name, **(params or {}))
    if learned:
        return UnrollReplay(game, WindowConfig(), TARGETS, CPU, UnrollConfig(steps=2), 1.0, observe=True)
    return Replay(game, WindowConfig(), TARGETS, CPU)


def assert_same_batches(one: Replay, other: Replay) -> None:
    assert len(one) == len(other)
    np.testing.assert_array_equal(one.games, other.games)
    for found, wanted in ((one.newest(1000), other.newest(1000)), (one.draw(32, (1,)), other.draw(32, (1,)))):
        for name, tensor in vars(wanted).items():
            assert getattr(found, name).dtype == tensor.dtype, name
            assert torch.equal(getattr(found, name), tensor), name


@pytest.mark.parametrize("learned", [False, True])
def test_rows_of_chess_need_little_and_are_the_same(learned: bool) -> None:
    samples = samples_of("chess", learned)
    sent = compacted(samples)
    assert isinstance(sent, CompactSamples)
    assert len(pickle.dumps(sent)) < 0.04 * len(pickle.dumps(samples))
    received = pickle.loads(pickle.dumps(sent))
    plain, compact = window("chess", learned), window("chess", learned)
    for _ in range(3):  # into new memory and into old, after rows were dropped
        plain.append(samples)
        compact.append(received)
        assert_same_batches(compact, plain)
        for replay in (plain, compact):
            replay.drop(len(samples) // 2)


def test_groups_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a game in which actions have the same effect, also where it has too few actions for lists to be worth it."""
    samples = samples_of("pyrat", True, PYRAT)
    assert samples.groups.shape == samples.policies.shape
    assert compacted(samples) is samples
    monkeypatch.setattr("ramify.training.compact.WORTH", 100.0)
    sent = compacted(samples)
    assert isinstance(sent, CompactSamples)
    plain, compact = window("pyrat", True, PYRAT), window("pyrat", True, PYRAT)
    for _ in range(2):
        plain.append(samples)
        compact.append(sent)
    assert_same_batches(compact, plain)
    assert len(sent) == len(samples)


def test_parts_with_and_without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose groups are written out follow rows without any, and the other way round."""
    samples = samples_of("pyrat", True, PYRAT)
    single = type(samples)(**{**vars(samples), "groups": samples.groups[:, :, :0]})
    monkeypatch.setattr("ramify.training.compact.WORTH", 100.0)
    plain, compact = window("pyrat", True, PYRAT), window("pyrat", True, PYRAT)
    for part in (single, samples, single):
        plain.append(part)
        compact.append(compacted(part))
        assert_same_batches(compact, plain)


def test_no_positions() -> None:
    game = rf.make("chess")
    empty = make_trajectories(game, [], SEARCH, TARGETS, 1)
    assert compacted(empty) is empty


def test_observations_that_are_no_planes_of_bits() -> None:
    samples = samples_of("chess", True)
    samples.observations[0, 0, 0, :2] = (0.5, -0.25)
    sent = compacted(samples)
    assert isinstance(sent, CompactSamples)
    np.testing.assert_array_equal(sent.plain["observations"], samples.observations)
    plain, compact = window("chess", True), window("chess", True)
    plain.append(samples)
    compact.append(sent)
    assert_same_batches(compact, plain)


def test_sparse_rows_are_written_over_what_was_there() -> None:
    rows = Rows(CPU)
    rows.append({"a": torch.full((4, 3), 7)})
    rows.drop(4)
    rows.append({"a": Sparse((2, 3), torch.tensor([1, 5]), torch.tensor([8, 9]))})
    rows.append({"a": Sparse((2, 3), torch.tensor([0]), torch.tensor([5]), numbered=True)})
    assert rows["a"].tolist() == [[0, 8, 0], [0, 0, 9], [5, 1, 2], [0, 1, 2]]
