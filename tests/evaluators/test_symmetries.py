"""Averaging over symmetries makes any evaluator symmetric; a random one is an answer about some image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.batch import batch_of
from ramify.evaluators import Cached, Ensemble, Function, Symmetries
from ramify.games import PythonSymmetry
from tests.engine.helpers import Observing, assert_same_result
from tests.evaluators.helpers import Counting, legal_probabilities, some_states


class Viewing:
    """Numbers of both players, drawn from what the viewer sees; the viewer's first, as networks give them."""

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        size, actions = batch.observations[0].size, batch.legal.shape[2]
        weights = np.random.default_rng(0).normal(size=(size, 2 * actions + 2))
        rows = np.stack([np.sin(row.ravel().astype(np.float64) @ weights) for row in batch.observations])
        logits, values = rows[:, 2:].reshape(-1, 2, actions), rows[:, :2]
        second = batch.acting[:, 1] & ~batch.acting[:, 0]
        logits[second], values[second] = logits[second, ::-1], values[second, ::-1]
        return rf.Evaluation(logits.astype(np.float32), values.astype(np.float32))


class Pile(rf.PythonGame):
    """Take one or two from a pile, the last one wins. A position is (left, who acts)."""

    num_actions = 2
    observation_shape = (3, 7)
    symmetries = (
        PythonSymmetry("identity", [0, 1], range(21)),
        PythonSymmetry("players swapped", [0, 1], range(21), swaps_players=True),
    )

    def start(self, rng):
        return (6, 0)

    def acting(self, position):
        return (position[1],) if position[0] else ()

    def legal_actions(self, position, player):
        return [0, 1][: position[0]]

    def apply(self, position, action):
        left, player = position
        left -= action + 1
        rewards = [0.0, 0.0]
        if left == 0:
            rewards[player], rewards[1 - player] = 1.0, -1.0
        return (left, 1 - player), rewards

    def observation(self, position, player):
        seen = np.zeros((3, 7), np.float32)
        seen[0 if position[1] == player else 1, position[0]] = 1
        return seen

    def transform(self, position, symmetry):
        return (position[0], position[1] ^ symmetry)


def pile() -> Any:
    game = Pile()
    rf.check_game(game)
    return game


# Where both act and players are exchanged, an evaluator is shown another view, which no image can give: see the class.
CASES = [
    ("hex", {"size": 5}),
    ("tictactoe", {}),
    ("connect_four", {}),
    ("pyrat", {"width": 7, "height": 5, "cheese": 5}),
]


@pytest.mark.parametrize(("name", "params"), CASES)
def test_the_average_is_symmetric(name: str, params: dict[str, Any]) -> None:
    game = rf.make(name, **params)
    evaluator = Symmetries(Viewing(), game)
    states = some_states(game, 8)
    batch = batch_of(states)
    here, values = legal_probabilities(evaluator.evaluate(batch), batch), evaluator.evaluate(batch).values
    plain = Viewing().evaluate(batch).values
    moved = 0
    for number, symmetry in enumerate(game.symmetries):
        if symmetry.swaps_players:
            continue
        images = batch_of([state.transform(number) for state in states])
        answer = evaluator.evaluate(images)
        there = legal_probabilities(answer, images)
        np.testing.assert_allclose(there[:, :, symmetry.actions], here, atol=1e-6)
        np.testing.assert_allclose(answer.values, values, atol=1e-6)
        moved += not np.allclose(Viewing().evaluate(images).values, plain, atol=1e-3)
    assert moved == sum(not symmetry.swaps_players for symmetry in game.symmetries) - 1  # the inner one is not


def test_the_average_is_the_mean_over_images() -> None:
    """By hand: images from the game itself, not from permutations of the observation."""
    game = rf.make("tictactoe")
    states = some_states(game, 5)
    batch = batch_of(states)
    shares, values = np.zeros(batch.legal.shape), np.zeros((5, 2))
    for number, symmetry in enumerate(game.symmetries):
        images = batch_of([state.transform(number) for state in states])
        answer = Viewing().evaluate(images)
        shares += legal_probabilities(answer, images)[:, :, symmetry.actions] / len(game.symmetries)
        values += answer.values / len(game.symmetries)
    found = Symmetries(Viewing(), game).evaluate(batch)
    np.testing.assert_allclose(legal_probabilities(found, batch), shares, atol=1e-6)
    np.testing.assert_allclose(found.values, values, atol=1e-6)


def test_exchanged_players_change_places() -> None:
    """Where one acts: the image is the other player's turn, and everything comes back to its owner."""
    game = pile()
    states = some_states(game, 4, turns=3)
    batch = batch_of(states)

    def judge(batch: rf.Batch) -> tuple[Any, Any]:  # knows who acts: player 1 is told the opposite of player 0
        sign = np.where(batch.acting[:, 0], 1.0, -1.0)[:, None]
        left = batch.observations.reshape(len(batch), -1) @ np.arange(21.0)
        logits = np.zeros(batch.legal.shape)
        logits[:, 0, 0], logits[:, 1, 0] = left * sign[:, 0], 3 * left * sign[:, 0]
        return logits, np.stack([left, 10 * left], axis=1) * sign

    found = Symmetries(Function(judge), game).evaluate(batch)
    images = batch_of([state.transform(1) for state in states])
    one, other = Function(judge).evaluate(batch), Function(judge).evaluate(images)
    np.testing.assert_allclose(found.values, (one.values + other.values[:, ::-1]) / 2, rtol=1e-6)
    expected = (legal_probabilities(one, batch) + legal_probabilities(other, images)[:, ::-1]) / 2
    np.testing.assert_allclose(legal_probabilities(found, batch), expected, atol=1e-6)


def test_an_exchange_of_players_who_act_together_shows_nothing_new() -> None:
    game = rf.make("goofspiel", cards=4)
    evaluator = Symmetries(Viewing(), game)
    assert len(evaluator) == 1
    batch = batch_of(some_states(game, 3, turns=2))
    np.testing.assert_allclose(evaluator.evaluate(batch).values, Viewing().evaluate(batch).values, atol=1e-7)
    assert len(Symmetries(Viewing(), rf.make("pyrat"))) == 4
    assert len(Symmetries(Viewing(), pile())) == 2


def test_a_random_image_is_one_of_them_and_depends_on_the_position_alone() -> None:
    game = rf.make("tictactoe")
    states = some_states(game, 30, turns=5)
    batch = batch_of(states)
    evaluator = Symmetries(Viewing(), game, "random", seed=3)
    found = evaluator.evaluate(batch)
    one_by_one = [evaluator.evaluate(batch_of([state])) for state in states]
    np.testing.assert_allclose(np.concatenate([one.values for one in one_by_one]), found.values, atol=1e-6)
    candidates = []
    for number, symmetry in enumerate(game.symmetries):
        answer = Viewing().evaluate(batch_of([state.transform(number) for state in states]))
        values, logits = answer.values, answer.logits[:, :, symmetry.actions]
        candidates.append(np.concatenate([values, logits.reshape(len(states), -1)], axis=1))
    mine = np.concatenate([found.values, found.logits.reshape(len(states), -1)], axis=1)
    which = np.abs(np.array(candidates) - mine).max(axis=2)
    assert (which.min(axis=0) < 1e-6).all()
    assert len(set(which.argmin(axis=0).tolist())) >= 4  # not always the same one
    other = Symmetries(Viewing(), game, "random", seed=4).evaluate(batch)
    assert not np.allclose(other.values, found.values)


def test_images_in_a_cache_do_not_meet() -> None:
    game = rf.make("tictactoe")
    batch = batch_of(some_states(game, 6))
    inner = Cached(Viewing())
    for _ in range(2):
        found = Symmetries(inner, game).evaluate(batch)
        np.testing.assert_allclose(found.values, Symmetries(Viewing(), game).evaluate(batch).values, atol=1e-6)
    assert inner.misses == 48


def test_a_symmetric_evaluator_searches_as_before() -> None:
    game = rf.make("hex", size=5)
    constant = Function(lambda batch: (np.zeros((len(batch), 25)), np.zeros(len(batch))))
    plain = rf.search(game.initial_state(), constant, simulations=60)
    assert_same_result(rf.search(game.initial_state(), Symmetries(constant, game), simulations=60), plain)


def test_infinite_logits_are_not_averaged_away() -> None:
    game = rf.make("hex", size=5)

    def bad(batch: rf.Batch) -> tuple[Any, Any]:
        logits = np.zeros((len(batch), 25), np.float32)
        logits[:, 7] = -np.inf
        return logits, np.zeros(len(batch))

    for evaluator in (Symmetries(Function(bad), game), Ensemble([Function(bad), Observing()])):
        with pytest.raises(rf.EvaluatorError, match="row 0"):
            rf.search(game.initial_state(), evaluator, simulations=4)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'average' or 'random', not 'best'"):
        Symmetries(Observing(), rf.make("hex"), "best")  # type: ignore[arg-type]


def test_symmetries_of_another_game_say_so() -> None:
    state = rf.make("hex", size=3).initial_state()
    for other in (rf.make("connect_four"), rf.make("hex", size=5), rf.make("hex", size=3, swap=True)):
        with pytest.raises(rf.EvaluatorError, match="these are the symmetries of"):
            rf.search(state, Symmetries(Observing(), other), simulations=2)
    with pytest.raises(TypeError, match=r"Symmetries needs a game \(see ramify.make\), not the name 'hex'"):
        Symmetries(Observing(), "hex")  # type: ignore[arg-type]


def test_an_ensemble_is_the_mean_of_probabilities_and_values() -> None:
    batch = batch_of(some_states(rf.make("hex", size=5), 6))
    one, other = Observing(0), Observing(1)
    for weights, (first, second) in ((None, (0.5, 0.5)), ([3, 1], (0.75, 0.25))):
        found = Ensemble([one, other], weights).evaluate(batch)
        parts = [evaluator.evaluate(batch) for evaluator in (one, other)]
        expected = first * legal_probabilities(parts[0], batch) + second * legal_probabilities(parts[1], batch)
        np.testing.assert_allclose(legal_probabilities(found, batch), expected, atol=1e-6)
        values = first * parts[0].values + second * parts[1].values
        np.testing.assert_allclose(found.values[batch.acting], values, rtol=1e-6)
    for weights in ([1], [1, -1], [0, 0], [1, float("nan")]):
        with pytest.raises(ValueError, match="non-negative numbers"):
            Ensemble([one, other], weights)
    with pytest.raises(ValueError, match="at least one"):
        Ensemble([])


def test_wrappers_pass_changes_of_weights_on() -> None:
    game = rf.make("hex", size=5)
    inner = Counting(Observing())
    cached = Cached(Ensemble([Symmetries(inner, game, "random"), Observing()]))
    batch = batch_of(some_states(game, 3))
    cached.evaluate(batch)
    inner.version = 1
    cached.evaluate(batch)
    assert inner.rows == [3, 3]
