"""Networks that average over mirror images."""

from __future__ import annotations

import pytest
import torch

import ramify as rf
from ramify.networks import make

SMALL = {"kind": "resnet", "blocks": 1, "channels": 8, "value": "wdl", "value_cells": True, "mirror": True}


def observations(game: rf.Game, count: int = 6) -> torch.Tensor:
    """Observations of positions after different columns."""
    states = [game.initial_state() for _ in range(count)]
    for number, state in enumerate(states):
        for column in (number, number, 2, number + 1, 0):
            state.apply(min(column, 6))
    return torch.stack([torch.as_tensor(state.observation()) for state in states])


@pytest.mark.parametrize("training", [False, True])
def test_mirror_images_have_mirrored_outputs(training: bool) -> None:
    game = rf.make("connect_four")
    network = make(game, {**SMALL, "heads": ["ownership"]}).train(training)
    seen = observations(game)
    assert not torch.equal(seen, seen.flip(-1))
    here, there = network(seen), network(seen.flip(-1))
    torch.testing.assert_close(here["logits"], there["logits"].flip(-1))
    torch.testing.assert_close(here["ownership"], there["ownership"].flip(-1))
    for name in ("values", "wdl"):
        torch.testing.assert_close(here[name], there[name])


def test_the_mean_is_that_of_both_images() -> None:
    game = rf.make("connect_four")
    mirrored, plain = make(game, SMALL).eval(), make(game, {**SMALL, "mirror": False}).eval()
    plain.load_state_dict(mirrored.state_dict())
    seen = observations(game)
    here, there = plain(seen), plain(seen.flip(-1))
    found = mirrored(seen, heads=False)
    assert sorted(found) == ["logits", "values"]
    torch.testing.assert_close(found["logits"], (here["logits"] + there["logits"].flip(-1)) / 2)
    torch.testing.assert_close(found["values"], (here["values"] + there["values"]) / 2)


def test_games_without_columns_have_no_mirror() -> None:
    with pytest.raises(ValueError, match=r"mirror=True needs a game with one action per column.*hex has none"):
        make(rf.make("hex", size=5), {**SMALL, "value_cells": False})


def test_earlier_files_keep_their_checksum() -> None:
    config = make(rf.make("connect_four"), {**SMALL, "mirror": False}).config
    assert "mirror" not in config.identity()
    assert config.replace(mirror=True).identity()["mirror"] is True
