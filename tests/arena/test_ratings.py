"""Ratings against programs nobody here wrote, and against players whose strength is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from ramify.arena import count, rate
from ramify.arena.ratings import ELO, Counts, probabilities


def simulate(
    strengths: np.ndarray, games: int, nu: float, rng: np.random.Generator, advantage: float = 0.0
) -> dict[tuple[int, int], np.ndarray]:
    """A round robin: so many games of every two players with each of them first."""
    counts = {}
    for i in range(len(strengths)):
        for j in range(len(strengths)):
            if i != j:
                chances = probabilities(np.array([strengths[i] - strengths[j] + advantage]), nu)
                counts[i, j] = rng.multinomial(games, [float(part[0]) for part in chances])
    return counts


def elos(ratings, players: int) -> np.ndarray:
    return np.array([ratings[player].elo for player in range(players)])


def test_without_draws_it_is_bradley_terry_as_choix_has_it() -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(0)
    for trial in range(5):
        n = 4 + trial
        counts = simulate(rng.normal(0, 0.8, n), 20, 0.0, rng)
        data = [pair for (i, j), (w, _, k) in counts.items() for pair in [(i, j)] * int(w) + [(j, i)] * int(k)]
        wanted = choix.opt_pairwise(n, data, method="Newton-CG", tol=1e-10)
        found = elos(rate(counts, prior=0.0, anchor=0), n)
        assert np.abs(found - (wanted - wanted[0]) * ELO).max() < 1e-2


def negative_log_likelihood(x: np.ndarray, counts: Counts, n: int, prior: float, advantage: bool) -> float:
    """Written out game by game, from the model's definition alone."""
    strength, nu = x[:n], math.exp(x[-1])
    edge = x[n] if advantage else 0.0
    total = 0.0
    for (i, j), (wins, draws, losses) in counts.items():
        a, b = math.exp(strength[i] + edge), math.exp(strength[j])
        whole = a + b + nu * math.sqrt(a * b)
        total += wins * math.log(a / whole) + losses * math.log(b / whole)
        total += draws * math.log(nu * math.sqrt(a * b) / whole)
    for own in [*strength, *([edge] if advantage else [])]:  # half a win and half a loss against strength 0
        total += prior / 2 * (math.log(1 / (1 + math.exp(-own))) + math.log(1 / (1 + math.exp(own))))
    return -(total + prior / 2 * (math.log(nu / (2 + nu)) + math.log(2 / (2 + nu))))


@pytest.mark.parametrize("prior", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("advantage", [False, True])
def test_draws_prior_and_advantage_against_the_raw_likelihood(prior: float, advantage: bool) -> None:
    rng, n = np.random.default_rng(7), 4
    counts = simulate(rng.normal(0, 0.7, n), 15, 0.8, rng, advantage=0.4)
    found = rate(counts, prior=prior, anchor=2, anchor_elo=100.0, advantage=advantage)
    start = np.zeros(n + advantage + 1)
    best = scipy.optimize.minimize(
        negative_log_likelihood, start, args=(counts, n, prior, advantage), method="BFGS", options={"gtol": 1e-8}
    )
    assert np.abs(elos(found, n) - (100 + (best.x[:n] - best.x[2]) * ELO)).max() < 0.05
    assert found.draw == pytest.approx(math.exp(best.x[-1]), rel=1e-3)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    if advantage:
        assert found.advantage == pytest.approx(best.x[n] * ELO, abs=0.05)
    step = 1e-3  # the Hessian by differences, its inverse the covariance: nothing shared with what is tested
    size = len(best.x)
    hessian = np.zeros((size, size))
    for a in range(size):
        for b in range(size):
            for one, other, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
                x = best.x.copy()
                x[a] += one * step
                x[b] += other * step
                hessian[a, b] += sign * negative_log_likelihood(x, counts, n, prior, advantage)
    hessian /= 4 * step * step
    covariance = np.linalg.pinv(hessian) if prior == 0 else np.linalg.inv(hessian)
    error = math.sqrt(covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2]) * ELO
    assert found.difference(0, 2)[1] == pytest.approx(error, rel=1e-3)
    assert found[0].high - found[0].elo == pytest.approx(1.959964 * error, rel=1e-3)
    assert found.superiority(0, 2) == pytest.approx(scipy.stats.norm.cdf(found.difference(0, 2)[0] / error), abs=1e-3)


def coverage(rounds: int, seed: int, nu: float, advantage: float) -> tuple[float, float]:
    """How often the 95 % interval holds the truth: of ratings above the anchor's, and of all differences."""
    rng, n = np.random.default_rng(seed), 5
    own, pairs = [], []
    for _ in range(rounds):
        truth = rng.normal(0, 0.7, n)
        ratings = rate(simulate(truth, 25, nu, rng, advantage), anchor=0, advantage=advantage != 0)
        for player in range(1, n):
            rating = ratings[player]
            own.append(rating.low <= (truth[player] - truth[0]) * ELO <= rating.high)
            other = 1 + player % (n - 1)
            elo, error = ratings.difference(player, other)
            pairs.append(abs(elo - (truth[player] - truth[other]) * ELO) <= 1.959964 * error)
    return float(np.mean(own)), float(np.mean(pairs))


@pytest.mark.parametrize(("nu", "advantage"), [(0.0, 0.0), (0.7, 0.0), (0.7, 0.5)])
def test_intervals_hold_the_truth_as_often_as_they_say(nu: float, advantage: float) -> None:
    own, pairs = coverage(600, 1, nu, advantage)
    assert 0.93 <= own <= 0.97
    assert 0.93 <= pairs <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "advantage"), [(0.0, 0.0), (0.3, 0.0), (2.0, 0.0), (0.7, 0.5)])
def test_intervals_hold_the_truth_as_often_as_they_say_in_the_long_run(nu: float, advantage: float) -> None:
    own, pairs = coverage(6000, 2, nu, advantage)
    assert 0.94 <= own <= 0.96
    assert 0.94 <= pairs <= 0.96


def test_draws_as_half_wins_would_be_too_careful() -> None:
    """Why draws have a parameter: counted as half a win and half a loss, intervals hold the truth far too often."""
    rng, halves, modelled = np.random.default_rng(3), [], []
    for _ in range(400):  # equals, two games of three drawn: the truth is 0 on either scale
        counts = simulate(np.zeros(4), 20, 4.0, rng)
        half = rate({pair: (w + d / 2, 0.0, k + d / 2) for pair, (w, d, k) in counts.items()}, anchor=0)
        own = rate(counts, anchor=0)
        halves += [half[player].low <= 0 <= half[player].high for player in (1, 2, 3)]
        modelled += [own[player].low <= 0 <= own[player].high for player in (1, 2, 3)]
    assert np.mean(halves) > 0.985
    assert 0.93 <= np.mean(modelled) <= 0.97


def test_the_unbeaten_stay_finite_and_the_unconnected_are_refused_without_a_prior() -> None:
    counts = {("a", "b"): (10, 0, 0), ("b", "c"): (3, 1, 2)}
    ratings = rate(counts, anchor="b")
    assert [rating.player for rating in ratings.table] == ["a", "b", "c"]
    assert 200 < ratings["a"].elo < 1200
    assert ratings["b"].low == ratings["b"].high == 0
    with pytest.raises(ValueError, match="without a prior b, c cannot be rated"):
        rate(counts, prior=0.0)
    assert rate({("a", "b"): (0, 8, 0)}, anchor="b")["a"].elo == pytest.approx(0, abs=1e-6)
    assert math.isfinite(rate({("a", "b"): (9, 0, 0), ("b", "a"): (9, 0, 0)}, advantage=True).advantage)


@pytest.mark.parametrize("tally", [(-3, 0, 1), (1, 2), (math.nan, 0, 1), (math.inf, 0, 0)])
def test_counts_that_cannot_be_are_refused(tally: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="games of a and b are wins, draws and losses, 0 or more each"):
        rate({("a", "b"): tally})


def test_everything_in_proportion() -> None:
    """Scaling, order and the anchor change what they should and nothing else."""
    rng = np.random.default_rng(5)
    counts = simulate(np.array([0.0, 0.5, 1.0]), 30, 0.5, rng)
    one = rate(counts, anchor=0)
    other = rate(dict(reversed(counts.items())), anchor=1)
    assert one.difference(2, 0) == pytest.approx(other.difference(2, 0))
    assert rate(dict(reversed(counts.items())), anchor=0).table == one.table
    assert one.superiority(2, 0) + one.superiority(0, 2) == pytest.approx(1)
    many = rate({pair: 100 * tally for pair, tally in counts.items()}, anchor=0)
    assert many.difference(2, 0)[1] == pytest.approx(one.difference(2, 0)[1] / 10, rel=0.02)
    assert one.expected(2, 0) + one.expected(0, 2) == pytest.approx(1)
    assert one[2].games == 120
    assert sum(rating.points for rating in one.table) == 180


@pytest.mark.parametrize(
    ("settings", "words"), [({"anchor": "x"}, "x"), ({"prior": -1}, "prior"), ({"confidence": 1.0}, "confidence")]
)
def test_wrong_settings_are_named(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rate({("a", "b"): (1, 1, 1)}, **settings)
    with pytest.raises(ValueError, match="no games"):
        rate({})


def test_games_are_counted() -> None:
    assert count([("a", "b", 1.0), ("a", "b", 0.5), ("b", "a", 0.0), ("a", "b", 0.0)]) == {
        ("a", "b"): [1, 1, 1],
        ("b", "a"): [0, 0, 1],
    }
