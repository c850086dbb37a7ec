"""Training data and losses of learned models, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.networks import make
from ramify.networks.categorical import two_hot
from ramify.training import LossConfig, OptimizerConfig, TargetConfig, UnrollConfig, WindowConfig
from ramify.training.reanalyse import reanalyse
from ramify.training.samples import replay as replayed
from ramify.training.trajectories import make_trajectories
from ramify.training.unroll import UnrollReplay
from ramify.training.unroll_learner import UnrollLearner, scaled_gradient, unroll_losses, unroll_measures, unrolled
from tests.engine.hashed_model import HashedModel
from tests.muzero.perfect import decoded
from tests.training.helpers import records

CPU = torch.device("cpu")
SEARCH = rf.SearchConfig(simulations=10, discount=0.9)
GAMES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {},
    "pyrat": {"width": 4, "height": 4, "cheese": 4, "max_turns": 12},
}


def window_of(
    name: str, unroll: UnrollConfig | None = None, targets: TargetConfig | None = None, **play: Any
) -> tuple[UnrollReplay, list[Any]]:
    """A window with a few games, and the games."""
    game, targets = rf.make(name, **GAMES[name]), targets or TargetConfig(augment=False)
    games = records(game, SEARCH, 5, **{"opening_moves": 2, **play})
    replay = UnrollReplay(game, WindowConfig(), targets, CPU, unroll or UnrollConfig(steps=3), 0.9, observe=True)
    replay.add(make_trajectories(game, games, SEARCH, targets, 2 if game.simultaneous else 1))
    return replay, sorted(games, key=lambda record: record.number)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("cut", [False, True])
def test_pieces_are_the_games(name: str, cut: bool) -> None:
    """Every piece of a window against a loop over its game: positions, actions, rewards, values, policies, ends."""
    replay, games = window_of(name, max_moves=5 if cut else None)
    both, steps = replay.game.simultaneous, 3
    batch = replay.newest(10_000)
    row = 0
    for record in games:
        states, rewards = replayed(replay.game, record)
        for first in range(len(record.moves)):
            np.testing.assert_array_equal(batch.observations[row], states[first].observation(states[first].acting[0]))
            for k in range(steps + 1):
                at, last = first + k, len(record.moves)
                known = at < last or not record.cut
                assert bool(batch.known[row, k]) == known
                assert bool(batch.real[row, k]) == (at < last)
                if at >= last:
                    assert not batch.policies[row, k].any()
                    assert not batch.values[row, k].any()
                    continue
                move, order = record.moves[at], [0, 1] if both else [record.moves[at].acting[0]]
                wanted = discounted(record, rewards, at)[order]
                np.testing.assert_allclose(batch.values[row, k], wanted, atol=1e-5)
                assert bool(batch.policies[row, k].any()) == (move.found is not None)
                if k < steps:
                    assert batch.actions[row, k].tolist() == list(move.actions)
                    np.testing.assert_allclose(batch.rewards[row, k], rewards[at][order], atol=1e-6)
                if k > 0:
                    np.testing.assert_array_equal(batch.following[row, k - 1], states[at].observation(order[0]))
            row += 1
    assert row == len(replay) == len(batch.observations)


def discounted(record: Any, rewards: Any, at: int) -> Any:
    """Discounted rewards still to come; in a cut game up to its last search, whose value stands for the rest."""
    end = len(record.moves)
    rest = np.zeros(2)
    if record.cut:
        end = max(n for n, move in enumerate(record.moves) if move.found is not None)
        if at > end:  # after the last search: nothing better is known than the rewards themselves
            end = len(record.moves)
        else:
            rest = record.moves[end].found.value.astype(np.float64)
    for n in range(end - 1, at - 1, -1):
        rest = rewards[n] + 0.9 * rest
    return rest


def test_values_of_some_steps() -> None:
    replay, games = window_of("pyrat", UnrollConfig(steps=2, n_step=3))
    batch, row = replay.newest(10_000), 0
    for record in games:
        _, rewards = replayed(replay.game, record)
        for at in range(len(record.moves)):
            if at + 3 < len(record.moves):
                later = record.moves[at + 3].found
                assert later is not None
                wanted = sum(0.9**j * rewards[at + j] for j in range(3)) + 0.9**3 * later.value
            else:
                wanted = discounted(record, rewards, at)
            np.testing.assert_allclose(batch.values[row, 0], wanted, atol=1e-5)
            row += 1


@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
def test_symmetries_hold_for_whole_pieces(name: str) -> None:
    """In a turned piece the rules lead from what is seen, by the turned action, to what is seen next."""
    replay, _ = window_of(name, targets=TargetConfig(augment=True))
    batch, game = replay.draw(64, (1,)), replay.game
    plain = replay.newest(10_000)
    assert not {row.tobytes() for row in batch.observations.numpy()} <= {
        r.tobytes() for r in plain.observations.numpy()
    }
    checked = 0
    for row in range(64):
        if batch.real[row, 1]:
            state = decoded(game, batch.observations[row].numpy())
            state.apply(int(batch.actions[row, 0, 0]))
            np.testing.assert_array_equal(state.observation(state.acting[0]), batch.following[row, 0])
            legal = np.flatnonzero(batch.legal[row, 1, 0])
            np.testing.assert_array_equal(legal, state.legal_actions())
            assert not batch.policies[row, 1, 0, ~batch.legal[row, 1, 0]].any()
            checked += 1
    assert checked > 30


def test_priorities_choose_surprises_and_are_weighed_against() -> None:
    plain, _ = window_of("tictactoe")
    replay, _ = window_of("tictactoe", UnrollConfig(steps=1, priority=1.0))
    replay._whole()
    chances = np.diff(replay._cumulated, prepend=0.0) / replay._cumulated[-1]
    window = replay._whole()
    viewers = window["viewers"].numpy()
    errors = (window["targets"] - window["roots"]).abs().numpy()[np.arange(len(viewers)), viewers]
    known = ~np.isnan(errors)
    np.testing.assert_allclose(chances[known] / chances[known][0], (errors[known] + 1e-3) / (errors[known][0] + 1e-3))
    np.testing.assert_allclose((chances * replay._importance), np.full(len(chances), 1 / len(chances)))
    assert plain.draw(8, (0,)).weights.tolist() == [1.0] * 8


def test_gradients_are_scaled() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    y = scaled_gradient(x, 0.5)
    y.backward()
    assert (float(y.detach()), float(x.grad)) == (2.0, 0.5)


@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("tictactoe", {"kind": "muzero-mlp", "width": 16, "latent": 8}),
        ("tictactoe", {"kind": "muzero-mlp", "width": 16, "latent": 8, "value": "wdl"}),
        ("pyrat", {"kind": "muzero-mlp", "width": 16, "latent": 8, "support": 4, "projection": 6}),
    ],
)
def test_losses_are_the_formulas(name: str, network: dict[str, Any]) -> None:
    replay, _ = window_of(name, UnrollConfig(steps=3, priority=0.5))
    module: Any = make(replay.game, network).eval()
    batch = replay.draw(12, (3,))
    weights = LossConfig(policy=2.0, value=0.5, reward=3.0)
    with torch.no_grad():
        found = {n: float(x) for n, x in unroll_losses(module, batch, unrolled(module, batch, 0.5), weights).items()}
        parts = by_hand(module, batch)
    for part, value in parts.items():
        assert found[part] == pytest.approx(value, rel=1e-4), part
    total = 2 * found["policy"] + 0.5 * found["value"] + 3 * found["reward"] + found.get("consistency", 0.0)
    assert found["total"] == pytest.approx(total, rel=1e-5)


def merged_rows(batch: Any, row: int, k: int, logs: Any) -> Any:
    """Log-chances of outcomes at the places of the actions that stand for them."""
    if not batch.groups.shape[2]:
        return logs
    made = torch.zeros_like(logs)
    stands = batch.groups.view(*batch.policies.shape)[row, k]
    for player, action in np.ndindex(*logs.shape):
        made[player, action] = logs[player].exp()[stands[player] == action].sum().clamp(min=1e-30).log()
    return made


def by_hand(module: Any, batch: Any) -> dict[str, float]:
    """The losses of a batch row by row and step by step."""
    sums: dict[str, list[float]] = {}

    def add(part: str, loss: float, weight: float) -> None:
        entry = sums.setdefault(part, [0.0, 0.0])
        entry[0] += loss * weight
        entry[1] += weight

    def number(said: float, logits: Any, target: float) -> float:
        if logits is None:
            return (said - target) ** 2
        logs = logits.log_softmax(0).numpy()
        if module.config.value == "wdl":
            return float(-(np.array([max(target, 0), 1 - abs(target), max(-target, 0)]) * logs).sum())
        return float(-(two_hot(torch.tensor(target), module.config.support).numpy() * logs).sum())

    players = module.spec.players
    for row in range(len(batch.observations)):
        latents, weight = module.representation(batch.observations[row : row + 1]), float(batch.weights[row])
        for k in range(batch.values.shape[1]):
            step = "start" if k == 0 else "rest"
            if k:
                latents, paid = module.dynamics(latents, batch.actions[row : row + 1, k - 1])
                for p in range(players if batch.known[row, k - 1] else 0):
                    logits = paid["reward_logits"].view(players, -1)[p] if "reward_logits" in paid else None
                    said = float(paid["rewards"].view(-1)[p])
                    add("reward", number(said, logits, float(batch.rewards[row, k - 1, p])), weight / players)
            found = module.prediction(latents)
            policy = found["logits"].view(players, -1).log_softmax(1)
            if batch.policies[row, k].any():
                add(
                    f"policy {step}",
                    float(-(batch.policies[row, k] * merged_rows(batch, row, k, policy)).sum()) / players,
                    weight,
                )
            for p in range(players if batch.known[row, k] else 0):
                logits = found["value_logits"].view(players, -1)[p] if "value_logits" in found else None
                loss = number(float(found["values"].view(-1)[p]), logits, float(batch.values[row, k, p]))
                add(f"value {step}", loss, weight / players)
            if k and batch.real[row, k] and module.config.projection:
                real = module.projected(module.representation(batch.following[row : row + 1, k - 1]), False)
                ours = module.projected(latents, True)
                add("consistency", 1 - float(torch.cosine_similarity(ours, real)), weight)
    means = {part: total / count for part, (total, count) in sums.items()}
    made = {"reward": means["reward"]}
    made |= {part: means[f"{part} start"] + means[f"{part} rest"] for part in ("policy", "value")}
    return made | ({"consistency": means["consistency"]} if "consistency" in means else {})


def test_policies_of_actions_with_the_same_effect() -> None:
    """Records of a search of the rules have outcomes: the model's chances of their actions are added."""
    replay, _ = window_of("pyrat")
    batch = replay.draw(16, (0,))
    assert batch.groups.shape == (16 * 4, 2, 5)
    module: Any = make(replay.game, {"kind": "muzero-mlp", "width": 16, "latent": 8})
    found = unroll_losses(module, batch, unrolled(module, batch, 0.5), LossConfig())
    assert 0 < float(found["policy"].detach()) < 2 * np.log(5) + 1  # first step and rest


def test_a_model_learns_a_game_by_heart() -> None:
    replay, _ = window_of("tictactoe")
    module: Any = make(replay.game, {"kind": "muzero-mlp", "width": 64, "latent": 32, "projection": 16}, seed=1)
    settings = OptimizerConfig(learning_rate=0.01, warmup_steps=0, schedule="constant")
    learner = UnrollLearner(module, settings, LossConfig(), UnrollConfig(steps=3), CPU)
    before = learner.judge(replay.newest(1000))
    for number in range(100):
        learner.learn(replay.draw(64, (number,)), 0.0)
    after = learner.judge(replay.newest(1000))
    for part in ("policy", "value", "reward", "consistency"):
        assert after[part] < before[part], part
    assert after["reward"] < 0.75 * before["reward"]
    assert after["legal_mass_last"] > before["legal_mass_last"] + 0.1


def test_measures_of_a_perfect_answer() -> None:
    replay, _ = window_of("tictactoe", opening_moves=0)
    batch = replay.newest(20)
    module: Any = make(replay.game, {"kind": "muzero-mlp", "width": 16, "latent": 8})
    found = unrolled(module, batch, 1.0)
    exact = type(found)(
        batch.policies.clamp(min=1e-20).log(), {"values": batch.values}, {"rewards": batch.rewards}, found.latents
    )
    measured = unroll_measures(batch, exact)
    assert measured["top1"] == 1.0
    assert measured["value_error_last"] == measured["reward_error"] == measured["value_error"] == 0.0
    assert measured["legal_mass"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", ["tictactoe", "pyrat"])
def test_reanalyse_searches_again(name: str) -> None:
    """Fresh targets are those of a search of the same positions; value targets follow."""
    replay, games = window_of(name, UnrollConfig(steps=1, n_step=2), opening_moves=0)
    game = replay.game
    model = HashedModel(game.num_actions, "both" if game.simultaneous else "alternating")
    before = replay.newest(10_000)
    assert reanalyse(replay, model, 10**6, SEARCH, TargetConfig(), (1,)) == len(replay)
    after, row = replay.newest(10_000), 0
    searcher = rf.Searcher(model, config=SEARCH)
    for record in games:
        states = list(record.states(game))[:-1]
        for state, result in zip(states, searcher.run_many(states), strict=True):
            for place, player in enumerate(state.acting):
                policy = result.policy(player)
                stands, index = state.outcomes(player)
                merged = np.zeros_like(policy)
                np.add.at(merged, stands[index[state.legal_actions(player)]], policy[state.legal_actions(player)])
                np.testing.assert_allclose(after.policies[row, 0, place], merged, atol=1e-6)
            row += 1
    assert not torch.equal(before.values, after.values)
    torch.testing.assert_close(before.rewards, after.rewards)
    replay.add(make_trajectories(game, games, SEARCH, TargetConfig(), 2 if game.simultaneous else 1))
    torch.testing.assert_close(replay.newest(2 * row).policies[:row, 0], after.policies[:, 0])  # and they stay


def test_players_who_do_not_take_turns() -> None:
    game = rf.make("tictactoe")
    (record,) = records(game, SEARCH, 1)
    twice = type(record)(**{**vars(record), "moves": [record.moves[0], record.moves[0]]})
    with pytest.raises(ValueError, match="players who always act in turn"):
        make_trajectories(game, [twice], SEARCH, TargetConfig(), 1)
