"""The sequential test: its ratio against brute force, its error rates by simulation, and gates that use it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

import ramify as rf
from ramify.arena import (
    Memory,
    ParallelSettings,
    SprtConfig,
    gate,
    operating_characteristic,
    points_at,
    sprt,
    sprt_pairs,
)
from ramify.arena.characteristic import pair_rates
from ramify.arena.sequential import PAIR, log_ratio, pair_log_ratio
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


def brute_force_pairs(counts: tuple[int, ...], points: float) -> float:
    """The greatest log-likelihood of pairs with that mean, by a general optimiser over all five rates."""

    def negative(rates: np.ndarray) -> float:
        return -sum(n * math.log(max(p, 1e-300)) for n, p in zip(counts, rates, strict=True) if n)

    limits = [
        {"type": "eq", "fun": lambda rates: rates.sum() - 1},
        {"type": "eq", "fun": lambda rates: rates @ PAIR - points},
    ]
    start = np.array([1 - points, 0, 0, 0, points]) * 0.5 + pair_rates(400 * math.log10(points / (1 - points)), 0.3) / 2
    found = scipy.optimize.minimize(
        negative,
        start,
        bounds=[(0, 1)] * 5,
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return -float(found.fun)


@pytest.mark.parametrize(
    "counts", [(3, 5, 9, 6, 4), (0, 0, 9, 0, 0), (0, 0, 0, 0, 4), (5, 0, 0, 0, 7), (0, 3, 20, 5, 0), (1, 0, 0, 0, 0)]
)
@pytest.mark.parametrize("elos", [(0, 50), (-20, 200)])
def test_the_ratio_of_pairs_is_that_of_the_best_rates(counts: tuple[int, ...], elos: tuple[float, float]) -> None:
    wanted = brute_force_pairs(counts, points_at(elos[1])) - brute_force_pairs(counts, points_at(elos[0]))
    assert float(pair_log_ratio(counts, *elos)) == pytest.approx(wanted, abs=1e-4)
    assert sprt_pairs(counts, SprtConfig(elo0=elos[0], elo1=elos[1])).ratio == pytest.approx(wanted, abs=1e-4)


def test_pairs_that_the_openings_decide_say_little() -> None:
    """One game each says the same whoever is stronger; trinomially these would be decided games."""
    assert sprt_pairs([0, 0, 0, 0, 0]).ratio == 0
    swept, split = sprt_pairs([2, 0, 16, 0, 12]), sprt(40, 0, 20)
    assert swept.ratio > split.ratio
    with pytest.raises(ValueError, match=r"five counts .*, not 3"):
        sprt_pairs([1, 2, 3])


def exactly(config: SprtConfig, max_games: int, rates: np.ndarray) -> tuple[float, float, float]:
    """How a gate without draws ends, by adding up the chances of all (lost, split, won) pairs: nothing is drawn."""
    low, high = config.bounds
    chances, stronger, weaker, games = {(0, 0): 1.0}, 0.0, 0.0, 0.0
    for pairs in range(1, max_games // 2 + 1):
        after: dict[tuple[int, int], float] = {}
        for (lost, won), chance in chances.items():
            for step, rate in (((1, 0), rates[0]), ((0, 0), rates[2]), ((0, 1), rates[4])):
                key = (lost + step[0], won + step[1])
                after[key] = after.get(key, 0.0) + chance * rate
        keys = np.array(list(after))
        counts = np.zeros((len(keys), 5))
        counts[:, 0], counts[:, 4] = keys[:, 0], keys[:, 1]
        counts[:, 2] = pairs - keys.sum(axis=1)
        chances = {}
        for key, ratio in zip(after, pair_log_ratio(counts, config.elo0, config.elo1), strict=True):
            if low < ratio < high:
                chances[key] = after[key]
            else:
                stronger, weaker = stronger + after[key] * (ratio >= high), weaker + after[key] * (ratio <= low)
                games += 2 * pairs * after[key]
    return stronger, weaker, games + max_games * sum(chances.values())


@pytest.mark.parametrize("seat", [0.0, 0.25])
def test_the_characteristic_agrees_with_an_exact_sum(seat: float) -> None:
    config = SprtConfig(elo0=0, elo1=200)
    for found in operating_characteristic(config, 50, [0, 100], seat=seat, runs=4000, seed=3):
        stronger, weaker, games = exactly(config, 50, pair_rates(found.elo, seat=seat))
        assert found.stronger == pytest.approx(stronger, abs=0.03)
        assert found.not_stronger == pytest.approx(weaker, abs=0.03)
        assert found.undecided == pytest.approx(1 - stronger - weaker, abs=0.03)
        assert found.games == pytest.approx(games, rel=0.03)


def test_rates_of_pairs_have_the_mean_they_should() -> None:
    for elo in (-300, 0, 40):
        for draw, seat in ((0, 0), (0.8, 0), (0, 0.4), (0.5, 0.5)):
            rates = pair_rates(elo, draw, seat)
            assert rates.sum() == pytest.approx(1)
            assert rates @ PAIR == pytest.approx(points_at(elo))
            assert rates.min() >= 0


def check_defaults(runs: int, slack: float, draw: float, seat: float) -> None:
    """Few gates end undecided, and no more are wrong than was asked for; slack: what so few runs vary by."""
    config = SprtConfig()
    middle = (config.elo0 + config.elo1) / 2
    at0, half, at1 = operating_characteristic(elos=[config.elo0, middle, config.elo1], draw=draw, seat=seat, runs=runs)
    assert at0.undecided <= 0.05
    assert at1.undecided <= 0.05
    assert half.undecided <= 0.1
    assert at0.stronger <= config.alpha + slack
    assert at1.not_stronger <= config.beta + slack


@pytest.mark.parametrize(("draw", "seat"), [(0.0, 0.0), (0.75, 0.0), (0.5, 0.2)])
def test_a_gate_by_default_rarely_ends_undecided(draw: float, seat: float) -> None:
    check_defaults(500, 0.025, draw, seat)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "seat"), [(0.0, 0.0), (0.3, 0.0), (0.75, 0.0), (0.0, 0.3), (0.5, 0.2), (0.0, 0.45)])
def test_a_gate_by_default_rarely_ends_undecided_in_the_long_run(draw: float, seat: float) -> None:
    check_defaults(10_000, 0.0065, draw, seat)


@pytest.mark.parametrize("settings", [{"draw": 1.0}, {"seat": 0.7}, {"max_games": 7}])
def test_a_characteristic_of_nothing_possible_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"draw must be|even number"):
        operating_characteristic(**settings)


def run_tests(elo: float, runs: int, config: SprtConfig, seed: int, draw: float = 0.3) -> tuple[float, float]:
    """Share of tests that say stronger, and games that a test takes, for a player of known strength."""
    points = points_at(elo)
    rates = [points - draw / 2, draw, 1 - points - draw / 2]
    games = np.random.default_rng(seed).choice(3, size=(runs, 1600), p=rates)
    counts = [np.cumsum(games == kind, axis=1)[:, 1::2] for kind in range(3)]  # looked at after every pair
    ratio = log_ratio(*counts, config.elo0, config.elo1)
    low, high = config.bounds
    ended = (ratio <= low) | (ratio >= high)
    assert ended.any(axis=1).mean() > 0.99
    last = ended.argmax(axis=1)
    return float((ratio[np.arange(runs), last] >= high).mean()), float(2 * last.mean() + 2)


def test_error_rates_are_those_asked_for() -> None:
    config = SprtConfig(elo0=0, elo1=50)
    wrong, games = run_tests(0, 400, config, seed=1)
    right, others = run_tests(50, 400, config, seed=2)
    assert wrong <= 0.072  # 5 %, and two standard errors of 400 tests
    assert wrong >= 0.01  # nor is it a test that never says so
    assert 1 - right <= 0.072
    assert max(games, others) < 500


@pytest.mark.slow
def test_error_rates_without_draws_and_with_many() -> None:
    for draw in (0.0, 0.6):
        config = SprtConfig(elo0=0, elo1=60, alpha=0.02, beta=0.1)
        wrong, _ = run_tests(0, 1500, config, seed=4, draw=draw)
        right, _ = run_tests(60, 1500, config, seed=5, draw=draw)
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
    found = [gate(game, strong, weak, test=test, parallel=ParallelSettings(together)) for together in (1, 7, 64)]
    assert found[0] == found[1] == found[2]
