"""The sequential test: its ratio against brute force, its error rates by simulation, and gates that use it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

import ramify as rf
from ramify.arena import Memory, Pace, SprtConfig, gate, sprt
from ramify.arena.sequential import log_ratio, points_at
from tests.arena import helpers


def brute_force(wins: int, draws: int, losses: int, points: float) -> float:
    """The greatest log-likelihood with that mean, over all rates of draws, by search."""

    def negative(draw: float) -> float:
        rates = (points - draw / 2, draw, 1 - points - draw / 2)
        return -sum(n * math.log(p) for n, p in zip((wins, draws, losses), rates, strict=True) if n)

    top = 2 * min(points, 1 - points)
    if draws == 0:
        return -negative(0.0)
    found = scipy.optimize.minimize_scalar(
        negative, bounds=(1e-12, top - 1e-12), method="bounded", options={"xatol": 1e-12}
    )
    return -float(found.fun)


@pytest.mark.parametrize("counts", [(10, 5, 3), (0, 5, 3), (7, 0, 9), (0, 0, 4), (3, 0, 0), (0, 6, 0), (100, 300, 90)])
@pytest.mark.parametrize("elos", [(0, 10), (-5, 30), (0, 400)])
def test_the_ratio_is_that_of_the_best_rates(counts: tuple[int, int, int], elos: tuple[float, float]) -> None:
    wanted = brute_force(*counts, points_at(elos[1])) - brute_force(*counts, points_at(elos[0]))
    assert float(log_ratio(*counts, *elos)) == pytest.approx(wanted, abs=1e-5)


def test_known_ratios() -> None:
    """Without draws it is Wald's: the sum of log(p1 / p0)."""
    p0, p1 = points_at(0), points_at(100)
    assert float(log_ratio(3, 0, 1, 0, 100)) == pytest.approx(3 * math.log(p1 / p0) + math.log((1 - p1) / (1 - p0)))
    assert sprt(0, 0, 0).ratio == 0
    assert sprt(400, 0, 100).verdict == "stronger"
    assert sprt(100, 0, 400).verdict == "not stronger"
    assert sprt(5, 5, 5).verdict is None
    assert sprt(1, 0, 0).high == pytest.approx(math.log(19))


def run_tests(elo: float, runs: int, config: SprtConfig, seed: int, draw: float = 0.3) -> tuple[float, float]:
    """Share of tests that say stronger, and games that a test takes, for a player of known strength."""
    points = points_at(elo)
    rates = [points - draw / 2, draw, 1 - points - draw / 2]
    games = np.random.default_rng(seed).choice(3, size=(runs, 4000), p=rates)
    counts = [np.cumsum(games == kind, axis=1)[:, 1::2] for kind in range(3)]  # looked at after every pair
    ratio = log_ratio(*counts, config.elo0, config.elo1)
    low, high = config.bounds
    ended = (ratio <= low) | (ratio >= high)
    assert ended.any(axis=1).mean() > 0.99
    last = ended.argmax(axis=1)
    return float((ratio[np.arange(runs), last] >= high).mean()), float(2 * last.mean() + 2)


def test_error_rates_are_those_asked_for() -> None:
    config = SprtConfig(elo0=0, elo1=50)
    wrong, games = run_tests(0, 1500, config, seed=1)
    right, others = run_tests(50, 1500, config, seed=2)
    assert wrong <= 0.065  # 5 %, and two standard errors of 1500 tests
    assert wrong >= 0.02  # nor is it a test that never says so
    assert 1 - right <= 0.065
    middle, most = run_tests(25, 1500, config, seed=3)
    assert 0.4 < middle < 0.6
    assert most > games
    assert others < 500


@pytest.mark.slow
def test_error_rates_without_draws_and_with_many() -> None:
    for draw in (0.0, 0.6):
        config = SprtConfig(elo0=0, elo1=60, alpha=0.02, beta=0.1)
        wrong, _ = run_tests(0, 3000, config, seed=4, draw=draw)
        right, _ = run_tests(60, 3000, config, seed=5, draw=draw)
        assert wrong <= 0.02 + 0.008
        assert 1 - right <= 0.1 + 0.015


@pytest.mark.parametrize("settings", [{"elo0": 5, "elo1": 5}, {"alpha": 0}, {"beta": 0.7}, {"elo2": 3}])
def test_wrong_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="test setting"):
        SprtConfig(**settings)


def test_a_gate_lets_the_stronger_through_and_not_the_weaker() -> None:
    game = rf.make("tictactoe")
    weak, strong = helpers.DiceConfig(), helpers.DiceConfig(skill=0.9)
    test, kept = SprtConfig(elo0=0, elo1=100), Memory()
    passed = gate(game, strong, weak, test=test, results=kept)
    assert passed.verdict == "stronger"
    assert passed.wins + passed.draws + passed.losses == len(passed.games) < 400
    assert gate(game, weak, strong, test=test, results=kept).verdict == "not stronger"
    open_still = gate(game, strong, weak, test=test, max_games=2)
    assert open_still.verdict is None
    assert len(open_still.games) == 2
    with pytest.raises(ValueError, match="same player"):
        gate(game, weak, weak)


def test_a_gate_says_the_same_however_games_are_played() -> None:
    game = rf.make("tictactoe")
    weak, strong = helpers.DiceConfig(), helpers.DiceConfig(skill=0.9)
    test = SprtConfig(elo0=0, elo1=100)
    found = [gate(game, strong, weak, test=test, pace=Pace(together)) for together in (1, 7, 64)]
    assert found[0] == found[1] == found[2]
