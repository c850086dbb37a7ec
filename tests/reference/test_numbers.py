"""The rounding points themselves, and the evaluator in its two forms."""

from types import SimpleNamespace

import numpy as np
import pytest

import ramify as rf

from .config import Config, softmax
from .evaluators import HashEvaluator, outcome_actions, outcome_priors
from .numbers import (
    best,
    edge_value,
    exploration,
    f32,
    node_value,
    normalized,
    round_prior,
    score,
    weighted_mean,
)
from .tiny import Harvest


def test_prior_codes():
    # Every code decodes to itself; codes ascend; a prior goes to the nearest of them, halves upwards.
    codes = (np.arange(65536, dtype=np.uint32) << 12 | np.uint32(3 << 28)).view(np.float32)
    assert (codes[0], codes[-1]) == (2.0**-31, 2 - 2.0**-11)
    assert np.all(np.diff(codes) > 0)
    for code in codes[::997]:
        assert round_prior(code) == code
    rng = np.random.default_rng(0)
    for prior in np.exp(rng.uniform(np.log(1e-9), 0, 500)).astype(np.float32):
        near = np.abs(codes.astype(np.float64) - float(prior))
        assert round_prior(prior) == codes[near.argmin()] or near[codes == round_prior(prior)] == near.min()
    assert round_prior(1 + 2.0**-12) == 1 + 2.0**-11  # half-way between two codes


def test_prior_extremes():
    assert round_prior(0.0) == 2.0**-31  # never quite nothing
    assert round_prior(1e-12) == 2.0**-31
    assert (round_prior(1.0), round_prior(0.5), round_prior(2.0)) == (1, 0.5, 2 - 2.0**-11)
    assert isinstance(round_prior(np.float32(0.3)), np.float32)


def test_values_are_rounded_once():
    # One by one in float32, each 2^-25 would vanish beside the 1; in double four of them add up to 2^-23.
    tiny = f32(2.0**-25)
    assert node_value(f32(1), [(1, tiny)] * 4) == f32((1 + 2.0**-23) / 5) != f32(1 / 5)
    assert weighted_mean([(1, f32(1)), *[(1, tiny)] * 4]) == f32((1 + 2.0**-23) / 5)
    # A product rounded before a sum that nearly cancels would spoil most of what is left.
    third = f32(1 / 3)
    assert edge_value(-third, 0.997, third) == f32(-0.003 * float(third)) != -third + f32(0.997) * third
    assert node_value(f32(0.5), []) == 0.5
    assert exploration(1.5, None, 4) == 3
    assert exploration(1.25, 19652, 100) == f32((1.25 + np.log(19753 / 19652)) * 10)


def test_scores_are_float32_throughout():
    third = f32(1) / f32(3)
    assert score(third, third, third, 2) == f32(third + f32(f32(third * third) / f32(3)))
    assert score(f32(1), f32(2.0**-25), f32(1), 0) == 1
    assert best([f32(1), f32(2), f32(2), f32(2)], [f32(0.9), f32(0.1), f32(0.3), f32(0.3)]) == 2
    assert normalized(f32(3), f32(2), f32(2)) == 3
    assert normalized(f32(3), f32(2), f32(6)) == 0.25
    assert normalized(f32(3), f32(np.inf), f32(-np.inf)) == 3


def batch(states):
    """The part of the engine's batch that an evaluator by key reads."""
    legal = np.zeros((len(states), 2, states[0].game.num_actions), dtype=bool)
    for row, state in zip(legal, states, strict=True):
        for player in state.acting:
            row[player, state.legal_actions(player)] = True
    return SimpleNamespace(keys=np.array([state.key for state in states], dtype=np.uint64), legal=legal)


@pytest.mark.parametrize("zero_sum", [True, False])
def test_hash_evaluator_scalar_and_batch_agree(zero_sum):
    rng, states = np.random.default_rng(1), []
    for start in (Harvest(), rf.make("tictactoe").initial_state()):
        state = start
        while not state.is_over:
            states.append(state.copy())
            state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
    tiny = [state for state in states if isinstance(state, Harvest)]
    for group in (tiny, states[len(tiny) :]):
        evaluator = HashEvaluator(seed=7, zero_sum=zero_sum)
        logits, values = evaluator.evaluate(batch(group))
        single = [evaluator(state) for state in group]
        np.testing.assert_array_equal(logits, [row.logits for row in single])
        np.testing.assert_array_equal(values, [row.values for row in single])
        assert logits.dtype == values.dtype == np.float32
        assert np.all(np.abs(values) < 1)
        assert np.all(np.abs(logits) < 2)
        assert np.all(values[:, 1] == -values[:, 0]) == zero_sum
        assert not np.array_equal(values, HashEvaluator(8, zero_sum).evaluate(batch(group)).values)


def test_hash_evaluator_is_uniform():
    keys = np.arange(20000, dtype=np.uint64)
    logits, values = HashEvaluator(0, False).evaluate(SimpleNamespace(keys=keys, legal=np.ones((20000, 2, 4), bool)))
    numbers = np.concatenate([values.T, logits.reshape(20000, 8).T / 2])
    assert np.all(np.abs(numbers.mean(axis=1)) < 5 / np.sqrt(3 * 20000))
    assert np.all(np.abs((numbers**2).mean(axis=1) - 1 / 3) < 5 * np.sqrt(4 / 45 / 20000))
    assert np.all(np.abs(np.corrcoef(numbers) - np.eye(10)) < 5 / np.sqrt(20000))


def test_priors_of_merged_and_passive_outcomes():
    state = Harvest()
    state.apply(1, 2)  # both take the coin at their wall: neither is busy
    assert (state.acting, state.at) == ((0, 1), (0, 5))
    logits = np.log(np.array([[0.5, 0.125, 0.375], [0.25, 0.25, 0.5]], dtype=np.float32))
    assert outcome_actions(state, 0) == [0, 2]  # wait = left
    assert outcome_priors(state, 0, logits, softmax) == [0.625, 0.375]
    state.apply(0, 1)
    state.apply(0, 1)  # player 1 alone takes a coin
    assert (state.acting, outcome_actions(state, 1)) == ((0,), [-1])
    assert outcome_priors(state, 1, logits, softmax) == [1]


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="normalize is one of"):
        Config(normalize="min-max")
    with pytest.raises(ValueError, match="knows only graph=False"):
        Config(graph=True).require(graph=False)
