"""Learned models: representation, dynamics and prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf

torch = pytest.importorskip("torch")

from ramify.evaluators import LatentNetwork  # noqa: E402
from ramify.networks import LearnedModel, load, make, network_id, save  # noqa: E402
from ramify.networks.categorical import contracted, expanded, mean_of, two_hot  # noqa: E402
from ramify.networks.learned import rescaled  # noqa: E402

SMALL: dict[str, Any] = {"kind": "muzero", "blocks": 1, "channels": 8, "value_channels": 4, "value_hidden": 8}
VECTORS: dict[str, Any] = {"kind": "muzero-mlp", "width": 16, "latent": 8, "value_hidden": 8}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("tictactoe", {}, VECTORS, "alternating"),
    ("tictactoe", {}, {**SMALL, "value": "wdl"}, "alternating"),
    ("connect_four", {}, {**SMALL, "projection": 8}, "alternating"),
    ("hex", {"size": 4, "swap": True}, {**SMALL, "support": 3}, "alternating"),
    ("chess", {}, SMALL, "alternating"),
    ("pyrat", {"width": 5, "height": 4, "cheese": 4}, SMALL, "both"),
    ("pyrat", {"width": 5, "height": 4, "cheese": 4}, {**VECTORS, "support": 5}, "both"),
    ("goofspiel", {"cards": 5}, VECTORS, "both"),
]


def case(number: int) -> tuple[Any, Any]:
    name, params, config, _ = CASES[number]
    game = rf.make(name, **params)
    return game, make(game, config, seed=3).eval().requires_grad_(False)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_each_part_gives(number: int) -> None:
    game, module = case(number)
    assert isinstance(module, LearnedModel)
    assert module.acting == CASES[number][3]
    both = (2,) if module.acting == "both" else ()
    seen = torch.rand(3, *game.observation_shape)
    latents = module.representation(seen)
    assert latents.shape == (3, *module.latent_shape)
    assert float(latents.min()) == 0.0
    assert float(latents.max()) == pytest.approx(1.0)
    after, rewards = module.dynamics(latents, torch.zeros(3, 2 if both else 1, dtype=torch.int32))
    assert after.shape == latents.shape
    assert rewards["rewards"].shape == (3, *both)
    found = module.prediction(after)
    assert found["logits"].shape == (3, *both, game.num_actions)
    assert found["values"].shape == (3, *both)
    config = module.config
    bins = 3 if config.value == "wdl" else 2 * config.support + 1 if config.support else 0
    if bins:
        assert found["value_logits"].shape == (3, *both, bins)
    if config.support:
        assert rewards["reward_logits"].shape == (3, *both, bins)
    torch.testing.assert_close(module(seen)["values"], module.prediction(latents)["values"])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_action_matters(number: int) -> None:
    """Of each player: no two actions lead to the same latent state."""
    game, module = case(number)
    players = 2 if module.acting == "both" else 1
    latents = module.representation(torch.rand(1, *game.observation_shape))
    count = min(game.num_actions, 40)
    for player in range(players):
        actions = torch.zeros(count, players, dtype=torch.int64)
        actions[:, player] = torch.linspace(0, game.num_actions - 1, count).long()
        after = module.dynamics(latents.expand(count, *latents.shape[1:]), actions)[0].flatten(1)
        distances = torch.cdist(after, after) + torch.eye(count)
        assert float(distances.min()) > 1e-6


@pytest.mark.parametrize("number", [0, 1, 3, 5])
def test_files_keep_everything(number: int, tmp_path: Path) -> None:
    game, module = case(number)
    copy = load(save(tmp_path / "net", module))
    assert network_id(copy) == network_id(module)
    assert copy.config == module.config
    seen = torch.rand(2, *game.observation_shape)
    torch.testing.assert_close(copy(seen)["logits"], module(seen)["logits"])
    evaluator = rf.evaluators.Network(copy, "cpu", backend="torch")  # also an ordinary evaluator of positions
    assert rf.search(game.initial_state(seed=1), evaluator, simulations=8).visits.sum() == 7


def test_files_of_earlier_versions_keep_their_checksums() -> None:
    shipped = Path(rf.networks.__file__).parent / "shipped"
    assert load(next(shipped.glob("*.safetensors")))  # raises an error if the checksum is another one


@pytest.mark.parametrize(
    ("game", "config", "message"),
    [
        ("tictactoe", {**SMALL, "heads": ["wdl"]}, "has no auxiliary heads, not wdl"),
        ("tictactoe", {**SMALL, "acting": "both"}, "acting must be 'alternating' for tictactoe, not 'both'"),
        ("tictactoe", {**SMALL, "per_player": True}, "only where both act, not in tictactoe"),
        ("tictactoe", {**SMALL, "value": "wdl", "support": 3}, "support=0"),
        ("goofspiel", {**VECTORS, "per_player": False}, "per_player must be True for goofspiel"),
    ],
)
def test_what_cannot_be_made(game: str, config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(rf.make(game), config)


def test_the_scale_of_values_is_invertible() -> None:
    x = torch.cat([torch.linspace(-400, 400, 801), torch.tensor([0.001, -0.3, 1.0])]).double()
    torch.testing.assert_close(expanded(contracted(x)), x, atol=1e-6, rtol=1e-6)
    assert float(contracted(torch.tensor(3.0))) == pytest.approx(1.003)
    chances = two_hot(x, 25)
    torch.testing.assert_close(chances.sum(dim=1), torch.ones_like(x))
    assert int((chances > 0).sum(dim=1).max()) <= 2
    torch.testing.assert_close(mean_of(chances.clamp(min=1e-30).log()), x, atol=1e-5, rtol=1e-5)
    beyond = two_hot(torch.tensor([1e6, -1e6]), 2)
    assert beyond.tolist() == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]


def test_latent_states_are_rescaled_row_by_row() -> None:
    x = torch.randn(4, 3, 2, 2) * torch.tensor([1.0, 10, 100, 0]).view(4, 1, 1, 1)
    scaled = rescaled(x)
    assert scaled.flatten(1).amin(dim=1).tolist() == [0.0] * 4
    torch.testing.assert_close(scaled.flatten(1).amax(dim=1), torch.tensor([1.0, 1, 1, 0]))
    torch.testing.assert_close(rescaled(x[:1]), scaled[:1])


# ---------- as the search takes them ----------


@pytest.mark.parametrize("number", [0, 2, 3, 5])
def test_the_latent_model_is_the_network(number: int) -> None:
    game, module = case(number)
    model = LatentNetwork(module, "cpu")
    seen = torch.rand(4, *game.observation_shape)
    players = 2 if module.acting == "both" else 1
    actions = torch.randint(game.num_actions, (4, players), dtype=torch.int32)
    first = model.initial(seen)
    second = model.recurrent(first.latents, actions.squeeze(1))
    with torch.no_grad():
        latents = module.representation(seen)
        after, rewards = module.dynamics(latents, actions)
        expected = module.prediction(after)
    torch.testing.assert_close(second.rewards, rewards["rewards"])
    torch.testing.assert_close(second.values, expected["values"])
    torch.testing.assert_close(second.logits, expected["logits"])


def test_threads_share_a_batch() -> None:
    game, module = case(2)
    one, two = (LatentNetwork(module, "cpu", threads=threads) for threads in (1, 2))
    seen = torch.rand(100, *game.observation_shape)
    torch.testing.assert_close(one.initial(seen).logits, two.initial(seen).logits)


def test_weights_change_between_batches() -> None:
    game, module = case(2)
    other = make(game, module.config, seed=9).eval()
    model = LatentNetwork(module, "cpu")
    seen = torch.rand(2, *game.observation_shape)
    before = model.initial(seen).logits
    model.load_weights(other)
    assert model.network_id == network_id(other)
    torch.testing.assert_close(model.initial(seen).logits, other(seen)["logits"])
    assert not torch.equal(before, model.initial(seen).logits)
    with pytest.raises(ValueError, match="the weights do not fit"):
        model.load_weights(make(game, {**CASES[2][2], "channels": 12}))
    assert model.version == 1


def test_searches_and_games_of_a_network() -> None:
    for number in (0, 2, 5):
        game, module = case(number)
        model = LatentNetwork(module, "cpu")
        state = game.initial_state(seed=1)
        result = rf.Searcher(model, config=rf.SearchConfig(simulations=30, normalize="minmax")).run(state)
        assert result.visits.sum() == 29
        played = [
            data
            for records in rf.selfplay.SelfPlay(
                game, model, rf.SearchConfig(simulations=8), rf.selfplay.PlayConfig(max_moves=6), games=3
            )
            for data in records
        ]
        assert len(played) == 3


def test_what_is_no_learned_model() -> None:
    game = rf.make("tictactoe")
    with pytest.raises(TypeError, match="needs a learned network"):
        LatentNetwork(make(game, "1x8"))
    model = LatentNetwork(make(game, VECTORS), "cpu")
    with pytest.raises(rf.EvaluatorError, match=r"observations of shape \[2, 3, 3\], not \[2, 6, 7\]"):
        model.initial(torch.zeros(1, 2, 6, 7))


def test_roots_do_not_depend_on_the_batch() -> None:
    """The dynamics normalises each row by itself: the same latent state whatever else is in the batch."""
    game, module = case(2)
    module.train()
    latents = torch.rand(6, *module.latent_shape)
    actions = torch.arange(6).view(6, 1)
    with torch.no_grad():
        alone = module.dynamics(latents[:1], actions[:1])[0]
        together = module.dynamics(latents, actions)[0]
    torch.testing.assert_close(alone, together[:1])
    assert np.prod(game.observation_shape) > 0
