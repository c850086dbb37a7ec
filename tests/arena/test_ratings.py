"""Ratings against programs nobody here wrote, and against players whose strength is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from ramify.arena import count, draw_model, pair_up, points_at, rate
from ramify.arena.bradley_terry import ELO, Counts, probabilities
from ramify.arena.spread import Pairs, quantile

POINTS = (1.0, 0.5, 0.0)


def simulate(
    strengths: np.ndarray, games: int, nu: float, rng: np.random.Generator, advantage: float = 0.0
) -> dict[tuple[int, int], np.ndarray]:
    """A round robin by Davidson's model: so many games of every two players with each of them first."""
    counts = {}
    for i in range(len(strengths)):
        for j in range(len(strengths)):
            if i != j:
                chances = probabilities(np.array([strengths[i] - strengths[j] + advantage]), nu)
                counts[i, j] = rng.multinomial(games, [float(part[0]) for part in chances])
    return counts


def rates(points: float, draw: float) -> np.ndarray:
    """Of wins, draws and losses with this mean, and so many draws as that leaves room for."""
    draw = min(draw, 1.8 * min(points, 1 - points))
    return np.array([points - draw / 2, draw, 1 - points - draw / 2])


def play_pairs(
    strengths: np.ndarray, pairs: int, draw: float, seat: float, rng: np.random.Generator
) -> tuple[Counts, Pairs]:
    """A round robin in pairs of games. Every opening favours one seat by so many points; ratings hold exactly."""
    counts: dict[tuple[int, int], list[float]] = {}
    kinds: dict[tuple[int, int], dict[tuple[float, float], float]] = {}
    for i in range(len(strengths)):
        for j in range(i + 1, len(strengths)):
            points = points_at((strengths[i] - strengths[j]) * ELO)
            edge = min(seat, 0.98 * min(points, 1 - points))
            both = sum(np.outer(rates(points + e, draw), rates(points - e, draw)) / 2 for e in (edge, -edge))
            found = rng.multinomial(pairs, np.ravel(both) / np.sum(both)).reshape(3, 3)
            counts[i, j], counts[j, i] = found.sum(1).tolist(), found.sum(0)[::-1].tolist()
            kinds[i, j] = {(POINTS[x], POINTS[y]): int(found[x, y]) for x, y in np.argwhere(found)}
    return counts, kinds


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
    found = draw_model(counts, prior=prior, anchor=2, advantage=advantage)
    start = np.zeros(n + advantage + 1)
    best = scipy.optimize.minimize(
        negative_log_likelihood, start, args=(counts, n, prior, advantage), method="BFGS", options={"gtol": 1e-8}
    )
    strengths = np.array([found.strengths[player] for player in range(n)])
    assert np.abs(strengths - (best.x[:n] - best.x[2]) * ELO).max() < 0.05
    assert found.nu == pytest.approx(math.exp(best.x[-1]), rel=1e-3)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    if advantage:
        assert found.advantage == pytest.approx(best.x[n] * ELO, abs=0.05)
    win, draw, loss = found.chances(0, 1)
    assert win + draw + loss == pytest.approx(1)
    assert draw / math.sqrt(win * loss) == pytest.approx(found.nu)


def test_expected_points_interval_and_draw_model_of_a_match_with_draws() -> None:
    """48 won and 152 drawn of 200 are 62 %, which is 85 Elo, whatever the draws say about strength."""
    counts = {("a", "b"): (24, 76, 0), ("b", "a"): (0, 76, 24)}
    found = rate(counts, anchor="b")
    assert found["a"].elo == pytest.approx(400 * math.log10(0.62 / 0.38), abs=0.5)
    assert found.expected("a", "b") == pytest.approx(0.62, abs=0.001)
    assert 60 < found["a"].low < 66  # by hand: 85 -+ 2 * 174 * 0.2135 / (0.62 * 0.38 * sqrt(200))
    assert 104 < found["a"].high < 110
    assert draw_model(counts, anchor="b").strengths["a"] > 700


def quasi_likelihood(x: np.ndarray, counts: Counts, n: int, prior: float, advantage: bool) -> float:
    """Written out: logarithms of expected points, each game weighted by its points."""
    total = 0.0
    for (i, j), (wins, draws, losses) in counts.items():
        apart = x[i] - x[j] + (x[n] if advantage else 0.0)
        total += (wins + draws / 2) * math.log(1 / (1 + math.exp(-apart)))
        total += (losses + draws / 2) * math.log(1 / (1 + math.exp(apart)))
    for own in x:
        total += prior / 2 * (math.log(1 / (1 + math.exp(-own))) + math.log(1 / (1 + math.exp(own))))
    return -total


@pytest.mark.parametrize(("prior", "advantage"), [(0.0, False), (1.0, False), (1.0, True)])
def test_ratings_by_points_against_a_general_optimiser(prior: float, advantage: bool) -> None:
    rng, n = np.random.default_rng(7), 4
    counts = simulate(rng.normal(0, 0.7, n), 15, 0.8, rng, advantage=0.4)
    found = rate(counts, prior=prior, anchor=2, anchor_elo=100.0, advantage=advantage)
    best = scipy.optimize.minimize(
        quasi_likelihood, np.zeros(n + advantage), args=(counts, n, prior, advantage), options={"gtol": 1e-8}
    )
    assert np.abs(elos(found, n) - (100 + (best.x[:n] - best.x[2]) * ELO)).max() < 0.05
    if advantage:
        assert found.advantage == pytest.approx(best.x[n] * ELO, abs=0.05)
    for player in range(n):  # without a prior, points to expect are points made
        games = [(pair, tally) for pair, tally in counts.items() if player in pair]
        wanted = sum(found.expected(*pair) * sum(tally) for pair, tally in games if pair[0] == player)
        wanted += sum((1 - found.expected(*pair)) * sum(tally) for pair, tally in games if pair[1] == player)
        assert found[player].points == pytest.approx(wanted, abs=1e-4 if prior == 0 else 0.5)


def resampled(counts: Counts, kinds: Pairs, rng: np.random.Generator) -> tuple[Counts, Pairs]:
    """As many pairs of every pairing, drawn from those that were played."""
    drawn: dict[tuple[int, int], list[float]] = {}
    again = {}
    for (i, j), tally in kinds.items():
        numbers = np.array(list(tally.values()))
        found = rng.multinomial(numbers.sum(), numbers / numbers.sum())
        again[i, j] = {kind: int(number) for kind, number in zip(tally, found, strict=True) if number}
        for (first, second), number in again[i, j].items():
            drawn.setdefault((i, j), [0, 0, 0])[POINTS.index(first)] += number
            drawn.setdefault((j, i), [0, 0, 0])[POINTS.index(1 - second)] += number
    return drawn, again


def test_standard_errors_against_a_bootstrap_by_pairs() -> None:
    rng = np.random.default_rng(11)
    counts, kinds = play_pairs(np.array([0.0, 0.4, 1.0, 0.2]), 100, 0.4, 0.25, rng)
    found = rate(counts, kinds, anchor=0)
    samples = [elos(rate(*resampled(counts, kinds, rng), anchor=0), 4) for _ in range(200)]
    for player in (1, 2, 3):
        wanted = np.std([sample[player] for sample in samples])
        assert found.difference(player, 0)[1] == pytest.approx(wanted, rel=0.15)  # 200 samples: 5 % by chance
    apart = np.std([sample[2] - sample[1] for sample in samples])
    assert found.difference(2, 1)[1] == pytest.approx(apart, rel=0.15)
    assert rate(counts, anchor=0).difference(2, 1)[1] > 1.1 * apart  # openings make games of a pair differ


def coverage(rounds: int, seed: int, pairs: int, draw: float, seat: float, n: int = 5) -> tuple[float, float]:
    """How often the 95 % interval holds the truth: of ratings above the anchor's, and of all differences."""
    rng = np.random.default_rng(seed)
    own, others = [], []
    for _ in range(rounds):
        truth = rng.normal(0, 0.7, n)
        ratings = rate(*play_pairs(truth, pairs, draw, seat, rng), anchor=0)
        for player in range(1, n):
            rating = ratings[player]
            own.append(rating.low <= (truth[player] - truth[0]) * ELO <= rating.high)
            other = player % (n - 1) + 1 if n > 2 else 0
            low, high = ratings.interval(player, other)
            others.append(low <= (truth[player] - truth[other]) * ELO <= high)
    return float(np.mean(own)), float(np.mean(others))


@pytest.mark.parametrize(("draw", "seat"), [(0.0, 0.0), (0.75, 0.0), (0.5, 0.2)])
def test_intervals_hold_the_truth_as_often_as_they_say(draw: float, seat: float) -> None:
    own, others = coverage(120, 1, 30, draw, seat)
    assert 0.93 <= own <= 0.97
    assert 0.93 <= others <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "seat"), [(0.0, 0.0), (0.3, 0.0), (0.75, 0.0), (0.0, 0.3), (0.5, 0.2)])
@pytest.mark.parametrize(("n", "pairs"), [(5, 50), (2, 100)])
def test_intervals_hold_the_truth_as_often_as_they_say_in_the_long_run(
    n: int, pairs: int, draw: float, seat: float
) -> None:
    own, others = coverage(1500 if n == 5 else 5000, 2, pairs, draw, seat, n)
    assert 0.94 <= own <= 0.96
    assert 0.94 <= others <= 0.96


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.0, 0.7])
def test_intervals_with_an_advantage_hold_the_truth(nu: float) -> None:
    """Moving first is worth 100 Elo, players are equal: so are all scales, and only the intervals are at stake."""
    rng, own, edges = np.random.default_rng(4), [], []
    edge = math.log(1 / (1 - points_at(100)) - 1)
    for _ in range(1500):
        counts = {}
        for i, j in [(i, j) for i in range(4) for j in range(4) if i != j]:
            counts[i, j] = rng.multinomial(25, rates(points_at(100), nu / (2 + nu)))
        found = rate(counts, anchor=0, advantage=True)
        own += [found[player].low <= 0 <= found[player].high for player in (1, 2, 3)]
        edges.append(abs(found.advantage - edge * ELO) <= 1.96 * found.advantage_error)
    assert 0.94 <= np.mean(own) <= 0.96
    assert 0.935 <= np.mean(edges) <= 0.965


def test_draws_and_openings_without_pairs_would_be_too_careful() -> None:
    """Why games are taken in pairs: as independent games, intervals hold the truth far too often."""
    rng, alone, paired = np.random.default_rng(3), [], []
    for _ in range(100):
        counts, kinds = play_pairs(np.zeros(4), 30, 0.2, 0.35, rng)
        for settings, held in ((None, alone), (kinds, paired)):
            found = rate(counts, settings, anchor=0)
            held += [found[player].low <= 0 <= found[player].high for player in (1, 2, 3)]
    assert np.mean(alone) > 0.985
    assert 0.92 <= np.mean(paired) <= 0.98


def test_games_that_are_alike_are_worth_one() -> None:
    """A pair in which the same player always wins both games is one observation, not two."""
    counts = {("a", "b"): (60, 0, 40), ("b", "a"): (40, 0, 60)}
    twice = rate(counts, {("a", "b"): {(1.0, 1.0): 60, (0.0, 0.0): 40}}, anchor="b").difference("a", "b")[1]
    once = rate(counts, anchor="b").difference("a", "b")[1]
    assert twice == pytest.approx(math.sqrt(2) * once, rel=0.02)


def test_groups_that_never_met_are_rated_apart() -> None:
    counts = {("a", "b"): (7, 0, 3), ("c", "d"): (9, 0, 1), ("d", "e"): (5, 2, 3), ("x", "x"): (1, 0, 0)}
    found = rate(counts, anchor="b", anchor_elo=500.0)
    assert found.groups == (("b", "a"), ("c", "d", "e"), ("x",))
    assert [(rating.player, rating.group) for rating in found.table] == [
        ("a", 0),
        ("b", 0),
        ("c", 1),
        ("d", 1),
        ("e", 1),
        ("x", 2),
    ]
    assert found["b"].elo == 500
    assert found["c"].elo == found["c"].low == found["c"].high == 0
    for compare in (found.difference, found.superiority, found.expected, found.interval):
        with pytest.raises(ValueError, match="a and c cannot be compared"):
            compare("a", "c")
    alone = rate({("c", "d"): (9, 0, 1), ("d", "e"): (5, 2, 3)}, anchor="c")
    assert found.difference("d", "e") == pytest.approx(alone.difference("d", "e"), rel=0.02)
    assert rate({("a", "b"): (7, 0, 3), ("c", "d"): (9, 0, 1)}, prior=0.0).groups == (("a", "b"), ("c", "d"))


def test_pairs_are_found_among_games() -> None:
    games = [(1, "a", "b", 1.0), (2, "b", "a", 0.5), (1, "b", "a", 0.0), (2, "a", "b", 0.0), (3, "a", "b", 1.0)]
    games += [(1, "c", "a", 1.0), (4, "a", "a", 0.5)]
    assert pair_up(games) == {("a", "b"): {(1.0, 1.0): 1, (0.0, 0.5): 1}}
    counts = count(game[1:] for game in games)
    backwards = {("b", "a"): {(0.0, 0.0): 1, (0.5, 1.0): 1}}  # the same, as b sees it
    assert rate(counts, pair_up(games)).table == rate(counts, backwards).table
    with pytest.raises(ValueError, match="pairs of b and a contain games"):
        rate(counts, {("a", "b"): {(1.0, 1.0): 2}})


@pytest.mark.parametrize("freedom", [3, 5, 10, 30, 1000])
def test_quantiles_are_those_of_student(freedom: int) -> None:
    assert quantile(0.95, freedom) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=0.01)


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
    with pytest.raises(ValueError, match="counts of a and b must be"):
        rate({("a", "b"): tally})


def test_everything_in_proportion() -> None:
    """Scaling, order and the anchor change what they should and nothing else."""
    rng = np.random.default_rng(5)
    counts = simulate(np.array([0.0, 0.5, 1.0]), 30, 0.5, rng)
    one = rate(counts, anchor=0)
    other = rate(dict(reversed(counts.items())), anchor=1)
    assert one.difference(2, 0) == pytest.approx(other.difference(2, 0))
    assert rate(dict(reversed(counts.items())), anchor=0).table == one.table
    assert one.superiority(2, 0) == pytest.approx(
        scipy.stats.t.cdf(one.difference(2, 0)[0] / one.difference(2, 0)[1], 60), abs=0.01
    )
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
