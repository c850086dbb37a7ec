"""Evaluators that also return the expected errors of values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.engine.batch import batch_of
from ramify.evaluators import Network
from ramify.evaluators.backends import installed
from ramify.networks.config import config_of
from tests.networks.helpers import game_of, net

HEADS: dict[str, Any] = {"kind": "resnet", "blocks": 1, "channels": 8, "heads": ["value_error"]}


def module_of(label: str) -> Any:
    return net(label, config_of(HEADS))


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("label", ["hex", "pyrat"])
def test_errors_are_those_of_the_head(label: str, backend: str) -> None:
    module, state = module_of(label), game_of(label).initial_state(seed=3)
    other = state.after(*(int(state.legal_actions(player)[0]) for player in state.acting))  # in Hex, player 1 acts
    batch = batch_of([state, other, state])
    with torch.no_grad():
        wanted = module(torch.from_numpy(batch.observations))
    found = Network(module, "cpu", backend=backend, errors=True).evaluate(batch)
    np.testing.assert_allclose(found.errors, wanted["value_error"].numpy(), atol=1e-4)
    np.testing.assert_allclose(found.values, wanted["values"].numpy(), atol=1e-4)
    np.testing.assert_allclose(found.logits, wanted["logits"].numpy(), atol=1e-4)
    assert Network(module, "cpu", backend=backend).evaluate(batch).errors is None


@pytest.mark.parametrize("label", ["hex", "pyrat"])
def test_a_search_weighs_by_the_errors_of_a_network(label: str) -> None:
    module, state = module_of(label), game_of(label).initial_state(seed=1)
    evaluator = Network(module, "cpu", backend="torch", errors=True)
    plain, weighted, alike = (
        rf.search(state, evaluator, simulations=40, error_scale=scale) for scale in (None, 0.05, 1e9)
    )
    np.testing.assert_allclose(alike.value, plain.value, atol=1e-6)
    assert (weighted.value != plain.value).any()


def test_the_head_is_needed() -> None:
    with pytest.raises(ValueError, match="errors=True needs a network with the head value_error"):
        Network(net("hex", "1x8"), "cpu", errors=True)


def test_players_with_error_scale_ask_for_errors(tmp_path: Any) -> None:
    file = rf.networks.save(tmp_path / "net", module_of("hex"))
    game = game_of("hex")
    players = [f"search:network={file},simulations=8{more}" for more in ("", ",error_scale=0.1")]
    result = rf.arena.match(game, *players, games=2)
    assert len(result.games) == 2


def test_the_identity_of_other_players_is_what_it_was(tmp_path: Any) -> None:
    content = rf.arena.read_player("search:simulations=8").content()
    assert "error_scale" not in content
    assert rf.arena.read_player("search:simulations=8,error_scale=0.5").content()["error_scale"] == 0.5
