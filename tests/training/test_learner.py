"""Losses against plain numpy, and steps that go on after a restore as if nothing had been."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.training import Learner, LossConfig, OptimizerConfig, Replay, TargetConfig, WindowConfig, make_samples
from ramify.training.losses import losses, measures
from tests.training.helpers import records

SEARCH = rf.SearchConfig(simulations=12)
CPU = torch.device("cpu")


def batch_of(game, rows=32, heads=()):
    players = 2 if game.simultaneous else 1
    made = make_samples(game, records(game, SEARCH, 8), SEARCH, TargetConfig(), players, heads)
    replay = Replay(game, WindowConfig(), TargetConfig(), CPU)
    replay.add(made)
    return [replay.draw(rows, (number,)) for number in range(12)]


def log_softmax(logits, legal):
    masked = np.where(legal, logits, -np.inf)
    best = masked.max()
    return masked - best - np.log(np.exp(masked - best).sum())


@pytest.mark.parametrize("name", ["hex", "pyrat"])
def test_losses_are_the_formulas(name):
    game = rf.make("hex", size=3) if name == "hex" else rf.make("pyrat", width=3, height=3, cheese=3, max_turns=10)
    heads = ["wdl", "score", "value_error", *(["ownership"] if name == "hex" else [])]
    module = rf.networks.make(game, {"kind": "resnet", "blocks": 1, "channels": 8, "heads": heads}).eval()
    batch = batch_of(game, heads=heads)[0]
    outputs = module(batch.observations)
    weights = LossConfig(policy=2.0, value=0.5)
    found = {key: float(value.detach()) for key, value in losses(outputs, batch, module, weights).items()}
    players, rows = batch.policies.shape[1], len(batch.policies)
    numbers = {key: value.detach().numpy().astype(np.float64) for key, value in outputs.items()}
    logits = numbers["logits"].reshape(rows, players, -1)
    values, target = numbers["values"].reshape(rows, players), batch.values.numpy()
    policy = wdl = 0.0
    for row in range(rows):
        for player in range(players):
            logs = log_softmax(logits[row, player], batch.legal[row, player].numpy())
            if name == "pyrat":  # as the search adds them up
                stands = batch.groups[row, player].numpy()
                logs = np.log([np.exp(logs)[stands == action].sum() + 1e-300 for action in range(5)])
            share = batch.policies[row, player].numpy()
            policy -= (share[share > 0] * logs[share > 0]).sum()
            value = float(np.clip(target[row, player], -1, 1))
            chances = np.array([max(value, 0), 1 - abs(value), max(-value, 0)])
            wdl -= (chances * log_softmax(numbers["wdl"].reshape(rows, players, 3)[row, player], True)).sum()
    assert found["policy"] == pytest.approx(policy / rows / players, rel=1e-4)
    assert found["value"] == pytest.approx(((values - target) ** 2).mean() + wdl / rows / players, rel=1e-4)
    config = module.config
    place = (batch.scores.numpy() / config.score_range + 1) / 2 * (config.score_bins - 1)
    bins = [log_softmax(numbers["score"][row], True)[int(np.rint(place[row]))] for row in range(rows)]
    assert found["score"] == pytest.approx(-np.mean(bins), rel=1e-4)
    wanted = sum(getattr(weights, part) * loss for part, loss in found.items() if part != "total")
    assert found["total"] == pytest.approx(wanted, rel=1e-5)
    if name == "hex":
        chance = 1 / (1 + np.exp(-numbers["ownership"].reshape(rows, -1)))
        owned = (batch.owners.numpy() + 1) / 2
        cross = -(owned * np.log(chance) + (1 - owned) * np.log(1 - chance)).mean()
        assert found["ownership"] == pytest.approx(cross, rel=1e-4)


def test_measures_of_perfect_and_of_useless_answers():
    game = rf.make("hex", size=3)
    batch = batch_of(game)[0]
    perfect = {"logits": (batch.policies[:, 0] + 1e-9).log(), "values": batch.values[:, 0]}
    found = measures(perfect, batch)
    assert found["top1"] > 0.9  # not 1: two visited alike are both best
    assert found["top3"] == 1.0
    assert found["value_correlation"] == pytest.approx(1.0)
    assert found["explained_variance"] == pytest.approx(1.0)
    assert found["entropy"] == pytest.approx(found["target_entropy"], abs=1e-5)
    useless = measures({"logits": torch.zeros(32, 9), "values": torch.zeros(32)}, batch)
    assert useless["explained_variance"] == useless["value_correlation"] == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "sgd", "learning_rate": 0.05, "schedule": "linear"},
        {"average": "swa", "swa_from": 0.3},
        {"average": "none"},
    ],
)
def test_steps_after_a_restore_are_the_same(settings):
    game = rf.make("hex", size=3)
    batches = batch_of(game)
    module = rf.networks.make(game, "1x8")
    config = OptimizerConfig(**{"learning_rate": 0.01, "warmup_steps": 4, **settings})
    unbroken = Learner(module, config, LossConfig(), CPU)
    wanted = [float(unbroken.learn(batch, number / 12)["total"]) for number, batch in enumerate(batches)]
    first = Learner(module, config, LossConfig(), CPU)
    for number, batch in enumerate(batches[:7]):
        first.learn(batch, number / 12)
    second = Learner(rf.networks.make(game, "1x8", seed=5), config, LossConfig(), CPU)
    second.restore(copy.deepcopy(first.tensors()), first.steps)
    found = [float(second.learn(batch, (number + 7) / 12)["total"]) for number, batch in enumerate(batches[7:])]
    assert found == wanted[7:]
    for name, tensor in unbroken.tensors().items():
        assert torch.equal(tensor, second.tensors()[name]), name
    assert wanted[-1] < wanted[0]


def test_averages_are_averages():
    game = rf.make("hex", size=3)
    batches = batch_of(game)
    learner = Learner(rf.networks.make(game, "1x8"), OptimizerConfig(ema_decay=0.8), LossConfig(), CPU)
    mean = None
    for step, batch in enumerate(batches, 1):
        learner.learn(batch, 0.0)
        weight = learner.module.state_dict()["stem.conv.weight"].clone()
        decay = min(0.8, (1 + step) / (10 + step))  # shorter in the first steps
        mean = weight if mean is None else decay * mean + (1 - decay) * weight
    assert torch.allclose(learner.playing.state_dict()["stem.conv.weight"], mean, atol=1e-6)
    assert learner.playing is not learner.module


def test_a_long_average_forgets_the_first_weights():
    """At a decay of 0.999, forty steps would leave 96 % of the first weights in the average."""
    game = rf.make("hex", size=3)
    module = rf.networks.make(game, "1x8")
    learner = Learner(module, OptimizerConfig(ema_decay=0.999, learning_rate=0.01), LossConfig(), CPU)
    batches = batch_of(game)
    for number in range(40):
        learner.learn(batches[number % len(batches)], 0.0)
    first, averaged, last = (
        found.state_dict()["stem.conv.weight"] for found in (module, learner.playing, learner.module)
    )
    assert (averaged - last).norm() < 0.3 * (first - last).norm()


@pytest.mark.parametrize("average", ["ema", "swa"])
def test_tables_of_integers_are_not_averaged(average):
    """The averaged network says what a loaded copy of it says: a table of places, rounded down, would change it."""
    game = rf.make("pyrat", preset="tiny")
    config = OptimizerConfig(average=average, ema_decay=0.99, swa_from=0.0)
    module = rf.networks.make(game, {"kind": "destinations", "blocks": 1, "channels": 8})
    learner = Learner(module, config, LossConfig(), CPU)
    batches = batch_of(game)
    for number in range(100):
        learner.steps = number
        learner.averaged.update_parameters(learner.module)
    assert torch.equal(learner.playing.order, module.order)
    module.load_state_dict(learner.playing.state_dict())
    found, wanted = (net.eval()(batches[0].observations)["values"] for net in (learner.playing, module))
    assert torch.equal(found, wanted)


def test_rates_rise_and_fall():
    config = OptimizerConfig(learning_rate=1.0, warmup_steps=10, final_share=0.1)
    learner = Learner(rf.networks.make(rf.make("hex", size=3), "1x8"), config, LossConfig(), CPU)
    assert learner.rate(0.0) == pytest.approx(0.1)
    learner.steps = 100
    assert [learner.rate(share) for share in (0.0, 0.5, 1.0, 2.0)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_long_gradients_are_cut():
    game = rf.make("hex", size=3)
    batch = batch_of(game)[0]
    settings = {"kind": "sgd", "momentum": 0, "clip": 1e-3, "weight_decay": 0, "warmup_steps": 0, "learning_rate": 1.0}
    learner = Learner(rf.networks.make(game, "1x8"), OptimizerConfig(**settings), LossConfig(), CPU)
    before = torch.cat([weight.detach().flatten().clone() for weight in learner.module.parameters()])
    length = float(learner.learn(batch, 0.0)["gradient"])
    after = torch.cat([weight.detach().flatten() for weight in learner.module.parameters()])
    assert length > 1e-2
    assert float((after - before).norm()) == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("broken", [False, True])
def test_a_compiled_network_with_other_gradients_is_not_used(broken, caplog):
    """The compiled network is a stand-in: torch.compile would take most of a minute."""
    game = rf.make("hex", size=3)
    batches = batch_of(game)
    module = rf.networks.make(game, "1x8")
    plain, compiled = (Learner(module, OptimizerConfig(warmup_steps=0), LossConfig(), CPU) for _ in range(2))

    def forward(observations):
        outputs = compiled.module(observations)
        # Adds 0, with a gradient of 0 / 0.
        return {name: output + (output * 0).abs().sqrt() if broken else output for name, output in outputs.items()}

    compiled._forward, compiled._compared = forward, False
    for batch in batches[:3]:
        wanted, found = plain.learn(batch, 0.0), compiled.learn(batch, 0.0)
        assert {name: float(one) for name, one in found.items()} == {name: float(one) for name, one in wanted.items()}
    assert compiled._forward is (compiled.module if broken else forward)
    assert ("torch.compile is not used" in caplog.text) == broken
    for name, weight in plain.module.state_dict().items():
        torch.testing.assert_close(compiled.module.state_dict()[name], weight, rtol=0, atol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the compiler's own
@pytest.mark.parametrize("name", ["hex", "connect_four"])  # a policy of cells, and one of columns
def test_the_compiled_gradient_in_bfloat16_is_that_of_the_plain_network(name):
    """With amax in a head it was not a number: see ``largest`` in ramify.networks.blocks."""
    game = rf.make("hex", size=3) if name == "hex" else rf.make("connect_four")
    torch.manual_seed(0)
    module = rf.networks.make(game, {"kind": "resnet", "blocks": 2, "channels": 8, "pool_every": 2}).train()
    batch, lengths = batch_of(game)[0], []
    for forward in (module, torch.compile(module, dynamic=False)):
        module.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            outputs = forward(batch.observations)
        losses(outputs, batch, module, LossConfig())["total"].backward()
        lengths.append(float(torch.nn.utils.get_total_norm([weight.grad for weight in module.parameters()])))
    assert lengths[1] == pytest.approx(lengths[0], rel=0.05)
