"""Networks: shapes for every game, deterministic starts, every size of board, heads by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import ramify as rf
from ramify import networks
from ramify.engine.batch import batch_of
from ramify.networks import MLPConfig, ResNetConfig
from tests.evaluators.helpers import some_states
from tests.networks.helpers import GAMES, game_of, lively, net


@pytest.mark.parametrize("config", ["2x16", "mlp:2x32", None])
@pytest.mark.parametrize("label", list(GAMES))
def test_shapes(label: str, config: str | None) -> None:
    game = game_of(label)
    module = networks.make(game, config)
    outputs = module(torch.zeros(3, *game.observation_shape))
    players = [2] if game.simultaneous else []
    assert outputs["logits"].shape == (3, *players, game.num_actions)
    assert outputs["values"].shape == (3, *players)
    assert set(outputs) == {"logits", "values"}


def test_the_same_seed_gives_the_same_weights_whatever_happened_before() -> None:
    game = rf.make("hex", size=5)
    one = networks.make(game, "2x16", seed=5)
    torch.rand(10)
    state = torch.random.get_rng_state()
    other = networks.make(game, "2x16", seed=5)
    assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's random numbers are touched
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert networks.network_id(one) == networks.network_id(other) != networks.network_id(networks.make(game, "2x16"))


def test_a_fresh_network_has_hardly_an_opinion() -> None:
    """Whatever its depth, and before any normalisation has seen a position."""
    for game, config in ((rf.make("hex", size=7), "6x64"), (rf.make("chess"), "20x32"), (rf.make("chess"), "mlp:2x64")):
        batch = batch_of(some_states(game, 8))
        with torch.no_grad():
            outputs = networks.make(game, config).eval()(torch.from_numpy(batch.observations))
        assert outputs["values"].abs().max() < 0.3
        assert outputs["logits"].softmax(1).max() < 5 / game.num_actions


def test_one_hex_network_plays_every_size() -> None:
    module = net("hex", "3x16")
    for size in (5, 6, 11, 19):
        game = rf.make("hex", size=size)
        again = networks.make(game, module.config)
        again.load_state_dict(module.state_dict())
        again.eval()
        x = torch.from_numpy(game.initial_state().observation())[None]
        one, other = module(x), again(x)
        assert one["logits"].shape == (1, size * size)
        assert torch.equal(one["logits"], other["logits"])
        result = rf.search(game.initial_state(), rf.evaluators.Network(module, "cpu"), simulations=8)
        assert result.visits.sum() == 7


def test_the_size_of_the_board_is_told_to_the_network() -> None:
    """A constant board looks the same at every cell, so only pooling by size can tell the values apart."""
    module = net("hex", ResNetConfig(blocks=0, channels=16))
    value = [module(torch.zeros(1, 3, size, size))["values"].item() for size in (5, 9, 13)]
    assert len({round(v, 4) for v in value}) == 3


def test_a_size_that_is_part_of_the_weights_is_refused() -> None:
    evaluator = rf.evaluators.Network(net("hex", "mlp:1x8"), "cpu")
    with pytest.raises(rf.EvaluatorError, match=r"for hex needs observations of shape \[3, 5, 5\], not \[3, 6, 6\]"):
        rf.search(rf.make("hex", size=6).initial_state(), evaluator, simulations=2)


HEADS = ("wdl", "score", "value_error", "ownership")


@pytest.mark.parametrize(("label", "players"), [("hex", []), ("pyrat", [2])])
def test_heads_by_name(label: str, players: list[int]) -> None:
    game = game_of(label)
    module = net(label, ResNetConfig(blocks=1, channels=8, heads=HEADS, score_bins=9))
    x = torch.rand(2, *game.observation_shape)
    outputs = module(x)
    assert outputs["wdl"].shape == (2, *players, 3)
    assert outputs["score"].shape == (2, 9)
    assert outputs["value_error"].shape == (2, *players)
    assert (outputs["value_error"] > 0).all()
    assert outputs["ownership"].shape == (2, *game.observation_shape[1:])
    short = module(x, heads=False)
    assert set(short) == {"logits", "values"}
    assert all(torch.equal(short[name], outputs[name]) for name in short)
    assert set(networks.make(game, MLPConfig(heads=HEADS[:3]))(x)) == {"logits", "values", *HEADS[:3]}


@pytest.mark.parametrize("label", list(GAMES))
def test_every_weight_learns(label: str) -> None:
    """Some steps towards fixed targets make the loss small, and no part of the network is left out."""
    game = game_of(label)
    module = networks.make(game, ResNetConfig(blocks=2, channels=16, heads=HEADS, score_bins=5))
    x = torch.from_numpy(batch_of(some_states(game, 1 if label == "matrix" else 4, turns=2)).observations)
    x = torch.cat([x, x + 0.1 * torch.rand(x.shape, generator=torch.Generator().manual_seed(0))])
    targets = {name: torch.rand(y.shape) - 0.5 for name, y in module(x).items()}
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = sum(((y - targets[name]) ** 2).mean() for name, y in module(x).items() if name != "value_error")
        loss = loss + module(x)["value_error"].mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert [name for name, weight in module.named_parameters() if not weight.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("label", ["chess", "pyrat"])
def test_values_from_win_draw_loss(label: str) -> None:
    game = game_of(label)
    module = net(label, ResNetConfig(blocks=1, channels=8, value="wdl", heads=("wdl",), value_scale=2.0))
    outputs = module(torch.rand(4, *game.observation_shape))
    chances = np.exp(outputs["wdl"].detach().numpy().astype(np.float64))
    chances /= chances.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(outputs["values"].detach(), 2 * (chances[..., 0] - chances[..., 2]), atol=1e-6)
    assert "value.outs.value.weight" not in module.state_dict()  # no second value head


def test_values_fit_the_returns() -> None:
    kinds = {label: networks.make(game_of(label), "mlp:1x8").config.value for label in GAMES}
    assert kinds == {**dict.fromkeys(GAMES, "tanh"), "pyrat": "linear", "matrix": "linear"}
    assert networks.make(rf.make("pyrat", reward="win"), "1x8").config.value == "tanh"
    assert networks.make(rf.make("goofspiel", returns="difference"), "1x8").config.value == "linear"


def test_both_players_of_a_game_in_turn() -> None:
    """Where outputs are the viewer's and the other's, each goes to its player."""
    module = networks.make(rf.make("connect_four"), ResNetConfig(blocks=1, channels=8, per_player=True))
    lively(module)
    state = rf.make("connect_four").initial_state()
    states = [state, state.copy()]
    states[1].apply(3)
    batch = batch_of(states)
    found = rf.evaluators.Network(module, "cpu").evaluate(batch)
    raw = module(torch.from_numpy(batch.observations))
    np.testing.assert_allclose(found.values[0], raw["values"][0].detach(), atol=1e-5)
    np.testing.assert_allclose(found.values[1], raw["values"][1].detach().flip(0), atol=1e-5)
    np.testing.assert_allclose(found.logits[1], raw["logits"][1].detach().flip(0), atol=1e-5)
    with pytest.raises(ValueError, match="both players act at once"):
        networks.make(rf.make("pyrat"), ResNetConfig(per_player=False))


def test_description_counts_every_parameter() -> None:
    module = networks.make(rf.make("hex", size=7), "6x64")
    counts = networks.parameter_counts(module)
    assert sum(counts.values()) == sum(weight.numel() for weight in module.parameters())
    assert counts["stem"] == 3 * 64 * 9 + 2 * 64
    assert counts["blocks.0"] == 2 * (64 * 64 * 9 + 2 * 64)
    text = networks.describe(module)
    assert "resnet for hex [3, 7, 7], any size" in text
    assert f"{sum(counts.values()):,}" in text.splitlines()[-1]
    assert "this size only" in networks.describe(networks.make(rf.make("matrix", payoffs=[[1]]), "mlp:1x4"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10x128", ResNetConfig(blocks=10, channels=128)),
        ("resnet:2x8", ResNetConfig(blocks=2, channels=8)),
        ("mlp:3x50", MLPConfig(layers=3, width=50)),
        ("mlp", MLPConfig()),
        ({"kind": "mlp", "heads": ["wdl"]}, MLPConfig(heads=("wdl",))),
        ({"blocks": 3}, ResNetConfig(blocks=3)),
    ],
)
def test_configs(given: object, expected: networks.NetworkConfig) -> None:
    assert networks.config_of(given) == expected  # type: ignore[arg-type]
    assert networks.config_of(json.loads(expected.model_dump_json())) == expected


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("6 by 64", "must be BLOCKSxCHANNELS"),
        (
            "transformer:2x8",
            "unknown kind of network 'transformer'; the kinds are attention, cells-attention, destinations, mlp, "
            "muzero, muzero-mlp, resnet",
        ),
        ({"block": 3}, "no network setting 'block'; did you mean 'blocks'"),
        ({"layers": 3}, "no network setting 'layers'; there are .*blocks"),  # and not "did you mean 'per_player'?"
        ({"blocks": 3.5}, "network setting blocks=3.5"),
        ({"blocks": -1}, "network setting blocks=-1"),
        ({"heads": ["wdl", "wdl"]}, "a head twice"),
        ({"heads": ["moves"]}, "network setting heads"),
    ],
)
def test_what_no_network_can_be_is_refused(given: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        networks.config_of(given)  # type: ignore[arg-type]


def test_configs_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ResNetConfig().blocks = 3  # type: ignore[misc]


def test_a_name_is_no_game() -> None:
    with pytest.raises(TypeError, match=r"a network needs a game \(see ramify.make\), not the name 'hex'"):
        networks.make("hex")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a network needs a game .*, not int"):
        networks.make(3)  # type: ignore[arg-type]


class PlainConfig(networks.NetworkConfig):
    kind: str = "plain"
    gives: str = "tuple"


class PlainModule(torch.nn.Module):
    """No base class of ours: logits and values, as a pair or in a dict."""

    def __init__(self, config, spec):
        super().__init__()
        self.gives = config.gives
        self.out = torch.nn.Linear(spec.observation_shape[0] * 9, spec.num_actions + 1)

    def forward(self, observations):
        found = self.out(observations.flatten(1))
        pair = (found[:, 1:], torch.tanh(found[:, 0]))
        return {"tuple": pair, "dict": dict(zip(("logits", "values"), pair, strict=True)), "one": pair[0]}[self.gives]


@pytest.fixture
def plain_kind():
    networks.Registry.add(PlainConfig, PlainModule)
    yield
    del networks.Registry._entries["plain"]


@pytest.mark.usefixtures("plain_kind")
@pytest.mark.parametrize("gives", ["tuple", "dict"])
def test_a_plain_module_is_searched_saved_and_loaded(gives: str, tmp_path: Path) -> None:
    game = rf.make("tictactoe")
    module = networks.make(game, {"kind": "plain", "gives": gives})
    assert (module.config.kind, module.spec.game) == ("plain", "tictactoe")
    assert networks.network_id(module) == networks.network_id(networks.make(game, {"kind": "plain", "gives": gives}))
    observations = torch.rand(3, *game.observation_shape)
    assert {name: list(found.shape) for name, found in module(observations).items()} == {
        "logits": [3, 9],
        "values": [3],
    }
    assert rf.search(game.initial_state(), rf.evaluators.Network(module, "cpu"), simulations=10).visits.sum() == 9
    loaded = networks.load(networks.save(tmp_path / "plain", module))
    assert torch.equal(loaded(observations)["logits"], module(observations)["logits"])


@pytest.mark.usefixtures("plain_kind")
def test_a_plain_module_that_gives_something_else_is_told_what_is_wanted() -> None:
    module = networks.make(rf.make("tictactoe"), {"kind": "plain", "gives": "one"})
    with pytest.raises(rf.EvaluatorError, match=r"PlainModule.forward has to give \(logits, values\).*, not Tensor"):
        module(torch.rand(1, *rf.make("tictactoe").observation_shape))


def test_a_builder_has_to_give_a_module() -> None:
    networks.Registry.add(PlainConfig, lambda config, spec: "nothing")
    try:
        with pytest.raises(TypeError, match="of kind 'plain' has to give a torch module, not str"):
            networks.make(rf.make("tictactoe"), {"kind": "plain"})
    finally:
        del networks.Registry._entries["plain"]


def test_a_kind_of_ones_own() -> None:
    """The registry has room for others: a config type and a builder."""
    from typing import Literal

    from ramify.networks.config import NetworkConfig, Registry
    from ramify.networks.modules import GameNetwork

    class FlatConfig(NetworkConfig):
        kind: Literal["flat"] = "flat"

    class Flat(GameNetwork):
        def __init__(self, config, spec):
            super().__init__(config, spec)
            self.bias = torch.nn.Parameter(torch.zeros(spec.num_actions))

        def forward(self, observations, heads=True):
            rows = len(observations)
            return {"logits": self.bias.expand(rows, -1), "values": observations.new_zeros(rows)}

    Registry.add(FlatConfig, Flat)
    try:
        game = rf.make("tictactoe")
        module = networks.make(game, {"kind": "flat"})
        result = rf.search(game.initial_state(), rf.evaluators.Network(module, "cpu"), simulations=10)
        assert result.visits.sum() == 9
        with pytest.raises(ValueError, match="no shorthand flat:2x8: give the settings of FlatConfig"):
            networks.make(game, "flat:2x8")
    finally:
        del Registry._entries["flat"]
