"""PyRat's structural networks: what their structure promises holds for any weights, maze and position."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.engine.batch import batch_of
from ramify.evaluators.cpu import kind_of
from ramify.evaluators.cuda import Device
from ramify.networks import CellsAttentionConfig, DestinationsConfig, SymmetricMLPConfig
from ramify.networks.mazes import OTHER, OWN, mover
from tests.evaluators.helpers import some_states
from tests.networks.helpers import lively

HEADS = ("wdl", "score", "value_error", "payoffs", "final_score")
SIZES = {"heads": (*HEADS, "cheese"), "policy_hidden": 16, "value_hidden": 16, "value_channels": 8, "score_bins": 7}
CELLS: dict[str, networks.NetworkConfig] = {
    **{
        f"destinations {transition} {tokens}": DestinationsConfig(
            blocks=3, channels=12, transition=transition, player_tokens=tokens, **SIZES
        )
        for transition, tokens in itertools.product(("none", "add", "concat", "difference"), ("coupled", "decoupled"))
    },
    "attention": CellsAttentionConfig(layers=2, width=16, attention_heads=2, reach=3, **SIZES),
    "attention decoupled": CellsAttentionConfig(layers=1, width=8, player_tokens="decoupled", **SIZES),
}
CONFIGS = {**CELLS, "mlp": SymmetricMLPConfig(layers=2, width=24, heads=HEADS)}
SMALL = ("mlp", "destinations concat decoupled", "attention")  # one of each kind


def maze_game(width: int = 5, height: int = 5) -> rf.Game:
    return rf.make(
        "pyrat",
        width=width,
        height=height,
        cheese=5,
        wall_density=0.5,
        mud_density=0.5,
        starts="random",
        symmetric=False,
    )


def positions(game: rf.Game, count: int = 24, seed: int = 0) -> list[rf.State]:
    """Positions of random games, some of them with players in mud."""
    states = some_states(game, count, turns=20, seed=seed)
    assert any(state.observation(0)[11, 0, 0] > 0 for state in states)
    return states


def seen(states: list[rf.State], player: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.stack([state.observation(player) for state in states]))


def network(name: str, game: rf.Game, seed: int = 0) -> networks.GameNetwork:
    """A network with random weights everywhere, as training might leave them."""
    module = networks.make(game, CONFIGS[name], seed)
    lively(module, seed)
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        if weight.dim() == 1 or weight.shape[-1] == 2:
            weight.data += 0.3 * torch.randn(weight.shape, generator=generator)
    return module


@torch.no_grad()
def outputs(module: networks.GameNetwork, observations: torch.Tensor) -> dict[str, torch.Tensor]:
    return module(observations)


def exchanged(found: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Outputs for the viewer first as outputs for the other player first."""
    turned = {name: x.flip(1) for name, x in found.items()}
    turned["score"] = found["score"].flip(1)  # minus the difference
    turned["payoffs"] = found["payoffs"].flip(1).transpose(2, 3)
    if "cheese" in found:
        turned["cheese"] = found["cheese"][:, [1, 0, 2, 3]]
    return turned


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], atol: float) -> None:
    assert found.keys() == expected.keys()
    for name, x in found.items():
        np.testing.assert_allclose(x, expected[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("kind", ["destinations", "cells-attention"])
def test_values_in_units_of_the_cheese_left(kind: str) -> None:
    """Values and payoffs are the same numbers times the cheese left, errors times its square."""
    game = maze_game()
    heads = ("payoffs", "value_error", "final_score")
    plain, unit = (
        networks.make(game, {"kind": kind, "heads": heads, "value_unit": x}) for x in ("points", "remaining")
    )
    states = positions(game)
    left = torch.tensor([float(len(state.cheese)) for state in states])
    assert len(left.unique()) > 1
    expected = outputs(plain.eval(), seen(states))
    for name, power in (("values", 1), ("payoffs", 1), ("value_error", 2)):
        expected[name] = expected[name] * left.pow(power).view(-1, *[1] * (expected[name].dim() - 1))
    expected["value_unit"] = left[:, None].expand(-1, 2)
    assert_same(outputs(unit.eval(), seen(states)), expected, 1e-5)


@pytest.mark.parametrize("name", list(CONFIGS))
def test_exchanging_the_players_exchanges_the_outputs(name: str) -> None:
    game = maze_game()
    states, module = positions(game), network(name, game)
    found = outputs(module, seen(states))
    assert (found["logits"][:, 0] - found["logits"][:, 1]).abs().max() > 0.01  # the players do differ
    assert_same(outputs(module, seen(states, 1)), exchanged(found), 1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_symmetries_that_swap_the_seats(name: str) -> None:
    """The position with the players' places swapped, as the game makes it, is the other player's view."""
    game = maze_game()
    states, module = positions(game), network(name, game)
    number = [symmetry.name for symmetry in game.symmetries].index("swap players")
    swapped = [state.transform(number) for state in states]
    assert_same(outputs(module, seen(swapped)), exchanged(outputs(module, seen(states))), 1e-5)


@pytest.mark.parametrize("name", list(CELLS))
def test_equal_outcomes_have_equal_logits_and_payoffs(name: str) -> None:
    game = maze_game()
    states, module = positions(game), network(name, game)
    found, differ = outputs(module, seen(states)), 0
    for row, state in enumerate(states):
        logits, payoffs = found["logits"][row], found["payoffs"][row]
        for player, (one, other) in itertools.product((0, 1), itertools.combinations(range(5), 2)):
            acts = payoffs if player == 0 else payoffs.transpose(1, 2)
            if same_outcome(state, player, one, other):
                assert logits[player, one] == logits[player, other]
                assert torch.equal(acts[:, one], acts[:, other])
            else:
                differ += bool(logits[player, one] != logits[player, other])
                assert not torch.equal(acts[:, one], acts[:, other])
    assert differ > 100


def same_outcome(state: rf.State, player: int, one: int, other: int) -> bool:
    """Whether the game goes on in the same way after either action of a player."""
    keys = []
    for action in (one, other):
        after = state.copy()
        after.apply(*((action, 4) if player == 0 else (4, action)))
        keys.append(after.key)
    return keys[0] == keys[1]


def test_destinations_are_where_the_game_puts_the_players() -> None:
    game = maze_game(5, 4)
    states = positions(game, 40)
    for player, plane in ((0, OWN), (1, OTHER)):
        moving = mover(seen(states), plane)
        for row, action in itertools.product(range(len(states)), range(5)):
            state = states[row].copy()
            before = state.observation(0)
            state.apply(*((action, 4) if player == 0 else (4, action)))
            after = state.observation(0)
            assert moving.destinations[row, action] == after[plane].argmax()
            moves = before[plane].argmax() != after[plane].argmax()
            entered = after[11 + plane, 0, 0] if moves else 0
            assert moving.edges[row, action].tolist() == [float(moves), pytest.approx(entered)]


@pytest.mark.parametrize("name", list(CELLS))
def test_an_outcome_gets_no_more_for_having_several_actions(name: str) -> None:
    """The policies of an untrained network are uniform over outcomes, not over actions."""
    game = maze_game()
    states, module = positions(game), networks.make(game, CELLS[name])
    for weight in module.heads.policy.out.parameters():
        torch.nn.init.zeros_(weight)
    shares = outputs(module.eval(), seen(states))["logits"].softmax(dim=2)
    for row, state in enumerate(states):
        classes = [[b for b in range(5) if a == b or same_outcome(state, 0, a, b)] for a in range(5)]
        distinct = len({tuple(one) for one in classes})
        for action, same in enumerate(classes):
            assert shares[row, 0, action].item() == pytest.approx(1 / distinct / len(same), abs=1e-6)


@pytest.mark.parametrize("name", ["attention", "attention decoupled"])
@pytest.mark.parametrize("size", [(6, 6), (6, 4)])
def test_attention_turns_with_the_board(name: str, size: tuple[int, int]) -> None:
    game = maze_game(*size)
    module, states = network(name, game), positions(game)
    found, cells = outputs(module, seen(states)), size[0] * size[1]
    turns = [(k, turn) for k, turn in enumerate(game.symmetries) if not turn.swaps_players]
    assert len(turns) == (8 if size[0] == size[1] else 4)
    for number, turn in turns:
        source = torch.from_numpy(turn.observation.astype(np.int64))
        actions = torch.from_numpy(turn.actions.astype(np.int64))  # an action's name on the turned board
        turned = outputs(module, seen([state.transform(number) for state in states]))
        back = dict(turned)
        back["logits"] = turned["logits"][:, :, actions]
        back["payoffs"] = turned["payoffs"][:, :, actions][:, :, :, actions]
        expected = {**found, "cheese": found["cheese"][:, :, source[:cells]]}
        assert_same(back, expected, 1e-5)


@pytest.mark.parametrize("name", ["resnet", "destinations concat decoupled", "attention"])
def test_the_same_weights_play_every_size(name: str) -> None:
    module = networks.make(maze_game(), "2x12") if name == "resnet" else network(name, maze_game())
    evaluator = rf.evaluators.Network(module, "cpu", backend="torch")
    for width, height in ((5, 5), (7, 7), (11, 9), (21, 15)):
        game = maze_game(width, height)
        fresh = networks.make(game, module.config)
        fresh.load_state_dict(module.state_dict())
        observations = seen(some_states(game, 4))
        assert_same(outputs(fresh.eval(), observations), outputs(module.eval(), observations), 0)
        result = rf.search(game.initial_state(), evaluator, simulations=8)
        assert result.stats["simulations"] == 8


def test_one_size_only_for_the_mlp() -> None:
    evaluator = rf.evaluators.Network(network("mlp", maze_game()), "cpu")
    with pytest.raises(rf.EvaluatorError, match=r"needs observations of shape \[24, 5, 5\], not \[24, 7, 7\]"):
        rf.search(maze_game(7, 7).initial_state(), evaluator, simulations=2)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "openvino"])
def test_every_library_gives_the_outputs_of_the_module(name: str, backend: str) -> None:
    pytest.importorskip(backend)
    game = maze_game(7, 6)
    module, batch = network(name, game), batch_of(positions(game))
    found = rf.evaluators.Network(module, "cpu", backend=backend).evaluate(batch)
    expected = outputs(module, torch.from_numpy(batch.observations))
    np.testing.assert_allclose(found.logits, expected["logits"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.values, expected["values"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_any_observation_is_evaluated(name: str) -> None:
    """Also what no position looks like: rows of zeros pad batches, and random ones are used to measure speeds."""
    game = maze_game(7, 6)
    module = network(name, game)
    observations = torch.stack([torch.zeros(24, 6, 7), torch.ones(24, 6, 7), torch.rand(24, 6, 7)])
    assert all(x.isfinite().all() for x in outputs(module, observations).values())
    alone = outputs(module, observations[2:])
    assert_same({key: x[2:] for key, x in outputs(module, observations).items()}, alone, 1e-5)


@pytest.mark.parametrize("name", ["destinations concat decoupled", "attention"])
def test_equal_outcomes_stay_equal_in_bfloat16(name: str) -> None:
    """The precision on a GPU: positions, walls and mud are exact in it, so structure is not lost to rounding."""
    game = maze_game()
    states, module = positions(game), network(name, game)
    half = Device(networks.folded(module), torch.device("cpu"), torch.bfloat16)
    with torch.no_grad():
        logits, values = half(seen(states))
    assert logits.dtype == torch.bfloat16
    expected = outputs(module, seen(states))
    np.testing.assert_allclose(logits.float(), expected["logits"], atol=0.1)
    np.testing.assert_allclose(values, expected["values"], atol=0.1)
    for row, state in enumerate(states):
        for player, (one, other) in itertools.product((0, 1), itertools.combinations(range(5), 2)):
            if same_outcome(state, player, one, other):
                assert logits[row, player, one] == logits[row, player, other]


@pytest.mark.parametrize("name", SMALL)
def test_files(name: str, tmp_path: Path) -> None:
    game = maze_game()
    module, observations = network(name, game), seen(positions(game))
    again = networks.load(networks.save(tmp_path / "net", module))
    assert again.config == module.config
    assert_same(outputs(again, observations), outputs(module, observations), 0)


EXPORTED = [pytest.param(name, marks=pytest.mark.slow) for name in SMALL]  # an export takes ten seconds


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_models(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    game = maze_game()
    module, batch = network(name, game), batch_of(positions(game))
    expected = outputs(module, torch.from_numpy(batch.observations))
    found = rf.evaluators.Onnx(networks.export_onnx(tmp_path / "net.onnx", module)).evaluate(batch)
    np.testing.assert_allclose(found.logits, expected["logits"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.values, expected["values"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", [*CONFIGS])
def test_heads_and_their_shapes(name: str) -> None:
    game = maze_game(6, 4)
    module, observations = network(name, game), seen(some_states(game, 3))
    found = outputs(module, observations)
    shapes = {"logits": (2, 5), "values": (2,), "wdl": (2, 3), "score": (module.config.score_bins,)}
    shapes |= {"value_error": (2,), "payoffs": (2, 5, 5), "final_score": (2, 83)}
    if name != "mlp":
        shapes["cheese"] = (4, 24)
    assert {key: tuple(x.shape[1:]) for key, x in found.items()} == shapes
    with torch.no_grad():
        short = module(observations, heads=False)
    assert_same(short, {key: found[key] for key in ("logits", "values")}, 0)


@pytest.mark.parametrize("name", list(CONFIGS))
def test_every_weight_learns(name: str) -> None:
    game = maze_game()
    module, observations = networks.make(game, CONFIGS[name]), seen(positions(game))
    generator = torch.Generator().manual_seed(0)
    targets = {key: torch.rand(x.shape, generator=generator) for key, x in module(observations).items()}
    for values in targets.values():
        values -= values.mean()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        found = module(observations)
        loss = sum(((x - targets[key]) ** 2).mean() for key, x in found.items())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert [key for key, weight in module.named_parameters() if not weight.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("name", SMALL)
def test_a_fresh_network_has_hardly_an_opinion(name: str) -> None:
    game = rf.make("pyrat", width=7, height=7, cheese=9)
    kind = CONFIGS[name].kind
    module = networks.make(game, {"kind": kind}).eval()
    found = outputs(module, seen(some_states(game, 16)))
    assert found["values"].abs().max() < 0.3
    assert found["logits"].softmax(2).max() < 0.7  # where three outcomes are left, a third each


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("symmetric-mlp:3x50", SymmetricMLPConfig(layers=3, width=50)),
        ("destinations:5x32", DestinationsConfig(blocks=5, channels=32)),
        ("cells-attention:3x40", CellsAttentionConfig(layers=3, width=40)),
    ],
)
def test_shorthands(given: str, expected: networks.NetworkConfig) -> None:
    assert networks.config_of(given) == expected
    assert kind_of(networks.make(maze_game(), expected), (24, 5, 5)).key.startswith(f"pyrat 24x5x5 {given} #")


def test_descriptions() -> None:
    text = networks.describe(networks.make(maze_game(), "cells-attention:1x8"))
    assert "cells-attention for pyrat [24, 5, 5], any size\npolicy destinations, value linear, heads none" in text
    assert "this size only" in networks.describe(networks.make(maze_game(), "symmetric-mlp:1x8"))


@pytest.mark.parametrize(
    ("game", "config", "complaint"),
    [
        ("hex", "destinations:1x8", "'destinations' reads the observations of pyrat, not of hex"),
        ("hex", "symmetric-mlp:1x8", "'symmetric-mlp' reads the observations of pyrat, not of hex"),
        ("hex", {"kind": "resnet", "heads": ["payoffs"]}, "'payoffs' needs a game in which both players act at once"),
        ("goofspiel", {"kind": "resnet", "heads": ["cheese"]}, "'cheese' is for pyrat, not for goofspiel"),
        ("pyrat", {"kind": "symmetric-mlp", "heads": ["cheese"]}, "'symmetric-mlp' cannot have the head 'cheese'"),
        ("pyrat", {"kind": "cells-attention", "heads": ["ownership"]}, "cannot have the head 'ownership'"),
        ("pyrat", {"kind": "cells-attention", "width": 10}, "attention_heads=4 must divide width=10"),
    ],
)
def test_what_cannot_be_built_is_refused(game: str, config: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        networks.make(rf.make(game), config)


def test_settings_added_later_leave_checksums_alone() -> None:
    """Files of earlier versions were written without them; other values than the default do count."""
    game = rf.make("pyrat", preset="tiny")
    module = networks.make(game, "1x8")
    assert "final_score_bins" not in module.config.identity()
    changed = networks.make(game, module.config.replace(final_score_bins=9))
    assert changed.config.identity()["final_score_bins"] == 9
    assert networks.network_id(changed) != networks.network_id(module)


@pytest.mark.parametrize("kind", ["resnet", "mlp"])
def test_plain_networks_have_these_heads_too(kind: str) -> None:
    game = maze_game(6, 4)
    heads = ["payoffs", "final_score", *(["cheese"] if kind == "resnet" else [])]
    module = networks.make(game, {"kind": kind, "heads": heads, "final_score_bins": 11}).eval()
    found = outputs(module, seen(some_states(game, 3)))
    shapes = {"payoffs": (3, 2, 5, 5), "final_score": (3, 2, 11), "cheese": (3, 4, 24)}
    assert {key: tuple(found[key].shape) for key in heads} == {key: shapes[key] for key in heads}
    assert set(found) == {"logits", "values", *heads}
    bounded = networks.make(rf.make("pyrat", reward="win"), {"kind": kind, "heads": heads, "value_scale": 2.0})
    assert outputs(bounded, 100 * torch.rand(2, *bounded.spec.observation_shape))["payoffs"].abs().max() <= 2
