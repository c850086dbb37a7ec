"""Logits come in the order of the game's actions: checked by which cells they look at, and by the actions' names."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.networks import Layout, ResNetConfig, policy_layout
from tests.networks.helpers import net


def sources(module: networks.GameNetwork, shape: tuple[int, ...], action: int) -> set[tuple[int, int]]:
    """Cells of the policy head's input that the logit of this action depends on, the board as a whole left out."""
    channels = module.config.model_dump()["channels"]
    # Several boards: on one alone, every channel of a cell may lie below the activation's zero.
    x = torch.rand(16, channels, *shape[1:], generator=torch.Generator().manual_seed(0)).requires_grad_()
    module.policy(x)[:, action].sum().backward()
    assert x.grad is not None
    seen = x.grad.abs().sum(dim=(0, 1))
    return {(int(row), int(column)) for row, column in torch.nonzero(seen)}


class GameLike(SimpleNamespace):
    """As much of a game as networks look at."""

    def initial_state(self, seed: int | None = None) -> Any:
        raise AssertionError("networks play no games")


def game_like(name: str, shape: tuple[int, ...], actions: int) -> Any:
    return GameLike(name=name, params={}, observation_shape=shape, num_actions=actions, simultaneous=False)


def blind_to_the_whole(module: networks.GameNetwork) -> networks.GameNetwork:
    """Cuts what the policy head pools, so that only the cell's own way is left."""
    with torch.no_grad():
        module.policy.tell.weight.zero_()
    return module


@pytest.mark.parametrize("swap", [False, True])
def test_hex(swap: bool) -> None:
    game = rf.make("hex", size=5, swap=swap)
    state = game.initial_state()
    module = blind_to_the_whole(net("hex swap" if swap else "hex", "1x8"))
    for action in range(25):
        column, row = re.fullmatch(r"([a-e])(\d)", state.action_name(action)).groups()  # type: ignore[union-attr]
        assert sources(module, game.observation_shape, action) == {(int(row) - 1, ord(column) - ord("a"))}
    if swap:
        state.apply(7)
        assert state.action_name(25) == "swap"
        assert len(sources(module, game.observation_shape, 25)) > 1  # of no cell


@pytest.mark.parametrize(
    "fen", ["4k3/P6p/8/2N1b3/8/3R1q2/p6P/4K2n w - - 0 1", "4k3/P6p/8/2N1b3/8/3R1q2/p6P/4K2n b - - 0 1"]
)
def test_chess(fen: str) -> None:
    """A logit looks at its from-square, as the mover sees the board; two moves of a square differ in their plane."""
    game = rf.make("chess")
    state = game.state(fen)
    module = blind_to_the_whole(net("chess", "1x8"))
    player = state.acting[0]
    checked, planes = set(), set()
    for action in state.legal_actions():
        name = state.action_name(int(action))
        rank, file = int(name[1]) - 1, ord(name[0]) - ord("a")
        square = (7 - rank if player else rank, file)
        assert sources(module, game.observation_shape, int(action)) == {square}
        own = state.observation()[:6, square[0], square[1]]
        assert own.sum() == 1  # the observation shows the moving piece there
        checked.add(square)
        planes.add(int(action) % 73)
    assert len(checked) >= 4
    assert len(planes) >= 15
    # Planes: logit 73 * square + p comes from output channel p.
    x = torch.rand(2, 8, 8, 8)
    cells = module.policy.out(module.policy.act(module.policy.local(x)))
    assert torch.allclose(module.policy(x)[1, 73 * (8 * 2 + 5) + 40], cells[1, 40, 2, 5], atol=1e-6)


def test_connect_four() -> None:
    game = rf.make("connect_four")
    module = net("connect_four", "1x8")
    state = game.initial_state()
    for action in range(7):
        column = ord(state.action_name(action)) - ord("a")
        looked_at = sources(module, game.observation_shape, action)
        assert {place[1] for place in looked_at} == {column}
        assert len(looked_at) == 6


def test_goofspiel_and_both_players() -> None:
    """Each player's logits come from a channel of their own, at the card that they bid."""
    game = rf.make("goofspiel", cards=4)
    module = blind_to_the_whole(net("goofspiel", "1x8"))
    x = torch.rand(1, 8, 1, 4)
    cells = module.policy.out(module.policy.act(module.policy.local(x)))
    assert torch.allclose(module.policy(x)[0], cells[0, :, 0], atol=1e-6)
    assert module.policy(x).shape == (1, 2, game.num_actions)


def test_layouts_of_games() -> None:
    found = {name: policy_layout(rf.make(name)) for name in ("hex", "chess", "connect_four", "pyrat", "tictactoe")}
    assert found == {
        "hex": Layout("cells"),
        "chess": Layout("cells", planes=73),
        "connect_four": Layout("columns"),
        "pyrat": Layout("pooled"),
        "tictactoe": Layout("cells"),
    }
    assert policy_layout(rf.make("hex", swap=True)) == Layout("cells", extra=1)
    assert policy_layout(rf.make("matrix", payoffs=[[1, 2]])) == Layout("dense")


def test_a_layout_of_ones_own() -> None:
    from ramify.networks import layouts

    wide = game_like("wide_test_game", (1, 3, 4), 13)
    networks.register_layout("wide_test_game", Layout("cells", extra=None), unit_returns=True)
    try:
        assert policy_layout(wide) == Layout("cells", extra=1)
        networks.register_layout("wide_test_game", Layout("cells"))
        with pytest.raises(ValueError, match=r"wide_test_game: .* does not have 13 actions on a board of \[1, 3, 4\]"):
            policy_layout(wide)
    finally:
        del layouts._LAYOUTS["wide_test_game"], layouts._UNIT["wide_test_game"]


def test_a_tower_needs_planes() -> None:
    flat = game_like("flat_test_game", (5,), 2)
    with pytest.raises(ValueError, match=r"flat_test_game has \[5\]: use an mlp"):
        networks.make(flat, ResNetConfig())
    assert networks.make(flat).config.kind == "mlp"
