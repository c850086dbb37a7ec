"""Noise at the root: of the right distribution, drawn anew for every run, and never mixed into what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from tests.engine.helpers import HashEvaluator, assert_same_result, searcher_of, tictactoe
from tests.engine.positions import walk

STEP = 2.0**-11  # a prior keeps eleven bits


def priors_of(seed: int, state: rf.State, simulations: int = 1, **settings: Any) -> tuple[Any, Any]:
    result = rf.search(state, HashEvaluator(1), simulations=simulations, seed=seed, **settings)
    return result.priors


@pytest.mark.parametrize("alpha", [0.03, 0.3, 1.0, 10.0])
def test_noise_is_dirichlet(alpha: float) -> None:
    state, n, draws = tictactoe(4), 8, 3000
    searcher = searcher_of(state, HashEvaluator(1), simulations=1, noise_fraction=1.0, noise_alpha=alpha)
    results = searcher.run_many([state] * draws, range(draws))
    samples = np.stack([result.priors[1] for result in results]).astype(np.float64)
    np.testing.assert_allclose(samples.sum(axis=1), 1, atol=2 * STEP)
    mean, variance = 1 / n, (1 / n) * (1 - 1 / n) / (n * alpha + 1)
    covariance = -1 / n**2 / (n * alpha + 1)
    assert np.abs(samples.mean(axis=0) - mean).max() < 4.5 * np.sqrt(variance / draws)
    # Standard error of a variance: from the fourth moment of the samples themselves.
    centred = (samples - mean) ** 2
    assert abs(centred.mean() - variance) < 4.5 * centred.mean(axis=1).std() / np.sqrt(draws)
    products = (samples[:, :-1] - mean) * (samples[:, 1:] - mean)
    assert abs(products.mean() - covariance) < 4.5 * products.mean(axis=1).std() / np.sqrt(draws)
    # The third moment tells a Dirichlet distribution from others of the same mean and variance.
    third = (alpha + 2) * (alpha + 1) * alpha / ((n * alpha + 2) * (n * alpha + 1) * n * alpha)
    cubes = samples**3
    assert abs(cubes.mean() - third) < 4.5 * cubes.mean(axis=1).std() / np.sqrt(draws)


@pytest.mark.parametrize("name", ["tictactoe", "hex", "pyrat zero-sum"])
@pytest.mark.parametrize("fraction", [0.25, 0.6])
def test_noise_is_mixed_with_the_clean_priors(name: str, fraction: float) -> None:
    state = walk(name, 1)
    clean = priors_of(0, state)
    most = 0.0
    for seed in range(20):
        noised = priors_of(seed, state, noise_fraction=fraction)
        for player in state.acting:
            noise = (noised[player] - (1 - fraction) * clean[player]) / fraction
            assert (noise > -4 * STEP).all()
            assert noise.sum() == pytest.approx(1, abs=0.01)
            assert noised[player].sum() == pytest.approx(1, abs=4 * STEP)
            most = max(most, np.abs(noised[player] - clean[player]).max())
    assert most > fraction / 10


def test_players_have_noise_of_their_own() -> None:
    state = walk("pyrat zero-sum", 0)
    assert state.acting == (0, 1)
    both = [priors_of(seed, state, noise_fraction=1.0, noise_alpha=1.0) for seed in range(400)]
    first = np.array([pair[0][0] for pair in both])
    second = np.array([pair[1][0] for pair in both])
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(400)


def test_no_noise_no_change() -> None:
    state = tictactoe()
    plain = priors_of(0, state)[0]
    for seed in (1, 2):
        np.testing.assert_array_equal(priors_of(seed, state, noise_fraction=0.0)[0], plain)


def test_an_only_action_has_no_noise() -> None:
    state = tictactoe(0, 1, 2, 4, 3, 5, 7, 6)
    assert len(state.legal_actions()) == 1
    assert priors_of(0, state, simulations=5, noise_fraction=1.0)[0].tolist() == [1.0]


@pytest.mark.parametrize("advanced", [False, True])
def test_noise_is_drawn_anew_on_a_root_that_is_searched_again(advanced: bool) -> None:
    state = tictactoe()
    searcher = searcher_of(state, HashEvaluator(1), simulations=40, noise_fraction=0.5, noise_alpha=1.0)
    action = searcher.run(state).action()
    if advanced:
        searcher.advance(action)
        state.apply(action)
    player = state.acting[0]
    clean = priors_of(0, state)[player].astype(np.float64)
    runs = np.stack([searcher.run(state).priors[player] for _ in range(400)]).astype(np.float64)
    assert len(np.unique(runs[:, 0])) > 300
    # Were noise put on top of noise, the clean priors would fade: their share of the mean would not stay a half.
    noise = (runs - 0.5 * clean) / 0.5
    assert (noise > -4 * STEP).all()
    n = len(clean)
    assert np.abs(noise.mean(axis=0) - 1 / n).max() < 4.5 * np.sqrt((1 / n) * (1 - 1 / n) / (n + 1) / 400)


def test_clean_priors_come_back_below_a_noised_root() -> None:
    state = tictactoe()
    noisy = searcher_of(state, HashEvaluator(1), simulations=200, noise_fraction=0.5)
    noisy.run(state)
    assert noisy._search is not None
    visits = noisy._search.report([])["edge_visits"][:, 0]
    for action in np.flatnonzero(visits):
        below = noisy._search.report([(int(action), -1)])["priors"][1]
        np.testing.assert_array_equal(below, priors_of(0, tictactoe(int(action)))[1])


def test_noise_leaves_the_evaluators_arrays_alone() -> None:
    logits, values = np.random.default_rng(0).normal(size=(1, 9)).astype(np.float32), np.zeros(1, np.float32)
    before = logits.copy()
    rf.search(tictactoe(), rf.evaluators.Function(lambda _: (logits, values)), simulations=1, noise_fraction=0.5)
    np.testing.assert_array_equal(logits, before)


def test_noise_reaches_the_search_of_a_built_in_evaluator() -> None:
    results = [rf.search(tictactoe(), simulations=40, seed=seed, noise_fraction=0.5) for seed in (0, 0, 1)]
    assert_same_result(results[0], results[1])
    assert (results[0].visits != results[2].visits).any()
    assert np.ptp(results[0].priors[0]) > 0.05


def test_noise_of_many_searches_differs_and_repeats() -> None:
    states = [tictactoe()] * 4
    searcher = searcher_of(states[0], HashEvaluator(1), simulations=30, noise_fraction=0.5)
    first = searcher.run_many(states)
    assert len({result.priors[0].tobytes() for result in first}) == 4
    again = searcher_of(states[0], HashEvaluator(1), simulations=30, noise_fraction=0.5).run_many(states)
    for one, other in zip(first, again, strict=True):
        assert_same_result(one, other)
