"""Equilibria of matrix games against LP, exact arithmetic, nashpy and the golden games; and what surrounds them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ramify as rf
from ramify.engine.equilibria import LARGEST, nash_conv, solve, values
from tests.engine.exact_equilibria import extreme_equilibria
from tests.engine.matrix_games import (
    lp_value,
    nashpy_equilibria,
    random_table,
    random_tables,
    same_set,
    true_equilibria,
)

GOLDEN = [
    json.loads(line) for line in (Path(__file__).parent.parent / "golden/simultaneous.jsonl").read_text().splitlines()
]
TABLES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=5).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.one_of(st.integers(-3, 3), st.floats(-10, 10)))
)
CHOICES = st.sampled_from(["centroid", "entropy", "any"])


def entropy(strategy: np.ndarray) -> float:
    return -float(sum(p * np.log(p) for p in strategy if p > 0))


# ---- against others


def check_value(table: np.ndarray, found: rf.equilibria.Equilibrium) -> None:
    assert abs(found.value[0] - lp_value(table)) <= 1e-9
    assert found.value[0] == -found.value[1]
    assert nash_conv(table, found.x, found.y) <= 1e-9
    assert values(table[None])[0] == pytest.approx(found.value[0], abs=1e-12)


def test_values_are_those_of_linear_programming() -> None:
    for table in random_tables(seed=1, count=300):
        check_value(table, solve(table))


@pytest.mark.slow
def test_ten_thousand_games_against_linear_programming_and_nashpy() -> None:
    compared = fooled = 0
    for k, table in enumerate(random_tables(seed=2, count=10_000)):
        check_value(table, solve(table))
        if min(table.shape) == 1:  # its polytopes need two outcomes a player
            continue
        for second in (-table, random_table(np.random.default_rng(k), table.shape, k % 5)):
            listed = nashpy_equilibria(table, second, whole=False)
            true = true_equilibria(table, second, listed)
            assert same_set(solve(np.stack([table, second]), all=True).equilibria, true)
            compared, fooled = compared + 1, fooled + (len(true) < len(listed))
    assert compared > 10_000
    assert fooled < compared / 1000


def test_equilibrium_sets_are_those_of_nashpy() -> None:
    rng = np.random.default_rng(3)
    for k, table in enumerate(random_tables(seed=3, count=60, sizes=(2, 4))):
        second = -table if k % 3 == 0 else random_table(rng, table.shape, k % 5)
        found = solve(np.stack([table, second]), all=True)
        assert same_set(found.equilibria, nashpy_equilibria(table, second))
        assert same_set(found.equilibria, nashpy_equilibria(table, second, whole=False))


def test_equilibrium_sets_are_those_of_exact_arithmetic() -> None:
    """Whole numbers from few: nearly every game is degenerate. Sets, multiplicity, uniqueness; one outcome too."""
    rng = np.random.default_rng(4)
    for k in range(100):
        first, second = rng.integers(-1 - k % 3, 2 + k % 3, (2, *rng.integers(1, 5, 2)))
        second = -first if k % 3 == 0 else second
        exact = extreme_equilibria(*([[Fraction(int(v)) for v in row] for row in table] for table in (first, second)))
        found = solve(np.stack([first, second]), all=True)
        assert len(found.equilibria) == len(exact)
        assert same_set(found.equilibria, [(np.array(x, float), np.array(y, float)) for x, y in exact], 1e-12)
        assert found.unique == (len(exact) == 1)
        assert found.nash_conv <= 1e-12


@pytest.mark.parametrize("record", GOLDEN, ids=lambda record: record["game"].partition("(")[0])
def test_golden_games(record: dict) -> None:
    table = np.array([[float(Fraction(entry)) for entry in row] for row in record["payoff_matrix"]])
    ranges = [np.array(record[name]) for name in ("row_prob_range", "col_prob_range")]
    for choose in ("centroid", "entropy", "any"):
        found = solve(table, choose=choose, all=True)
        assert abs(found.value[0] - float(Fraction(record["value_exact"]))) <= 1e-9
        for strategy, (low, high) in zip((found.x, found.y), (r.T for r in ranges), strict=True):
            assert (strategy >= low - 1e-8).all()
            assert (strategy <= high + 1e-8).all()
        assert found.unique == (record["row_unique"] and record["col_unique"])
        for extreme, known in zip(found.extreme, ranges, strict=True):
            assert np.abs(extreme.min(axis=0) - known[:, 0]).max() <= 1e-8
            assert np.abs(extreme.max(axis=0) - known[:, 1]).max() <= 1e-8


def test_large_games() -> None:
    rng = np.random.default_rng(5)
    for n0, n1 in ((32, 32), (1, 32), (32, 1), (40, 33), (100, 80)):
        table = rng.normal(size=(n0, n1))
        check_value(table, solve(table, choose="any"))
    ties = rng.integers(-1, 2, (32, 32)).astype(float)
    check_value(ties, solve(ties))


def test_payoffs_of_very_different_sizes() -> None:
    """Up to twenty powers of ten apart; the error is small beside the largest."""
    rng = np.random.default_rng(8)
    for _ in range(3000):
        table = np.exp(8 * rng.normal(size=rng.integers(1, 13, 2)))
        for choose in ("centroid", "entropy"):
            found = solve(table, choose=choose)
            assert found.nash_conv <= 1e-9 * max(np.ptp(table), 1e-300)


# ---- properties


@settings(max_examples=200, deadline=None)
@given(TABLES, CHOICES)
def test_what_is_found_is_an_equilibrium(table: np.ndarray, choose: str) -> None:
    found = solve(table, choose=choose)
    assert nash_conv(table, found.x, found.y) <= 1e-9
    assert min(found.x.min(), found.y.min()) >= 0
    assert found.x.sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(TABLES, CHOICES, st.randoms())
def test_general_sum_games_get_an_equilibrium(table: np.ndarray, choose: str, rng) -> None:
    second = np.array([rng.choice([-1, 0, 0.5, 2]) for _ in range(table.size)]).reshape(table.shape)
    both = np.stack([table, second])
    found = solve(both, choose=choose, all=True)
    assert nash_conv(both, found.x, found.y) <= 2e-9
    for x, y in found.equilibria:
        assert nash_conv(both, x, y) <= 2e-9
    expected = [found.x @ payoffs @ found.y for payoffs in both]
    assert found.value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.integers(-3, 3)),
    st.integers(-5, 5),
    st.sampled_from([0.125, 0.5, 3, 64]),
    st.sampled_from(["centroid", "entropy"]),
    st.randoms(),
)
def test_order_shift_and_scale_change_nothing(table, shift, scale, choose, rng) -> None:
    found = solve(table, choose=choose)
    rows, columns = (rng.sample(range(n), n) for n in table.shape)
    other = solve(table[rows][:, columns] * scale + shift, choose=choose)
    assert other.x == pytest.approx(found.x[rows], abs=1e-6)
    assert other.y == pytest.approx(found.y[columns], abs=1e-6)
    assert other.value[0] == pytest.approx(found.value[0] * scale + shift, abs=1e-9)
    turned = solve(-table.T, choose=choose)
    assert turned.x == pytest.approx(found.y, abs=1e-6)


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(np.int64, (4, 3), elements=st.integers(-1, 1)))
def test_maximum_entropy_is_the_maximum(table: np.ndarray) -> None:
    """At least that of the centroid and of every extreme strategy, and no way towards any of them goes up."""
    most, mean = solve(table, choose="entropy", all=True), solve(table)
    for strategy, middle, extreme in zip((most.x, most.y), (mean.x, mean.y), most.extreme, strict=True):
        assert entropy(strategy) >= entropy(middle) - 1e-9
        played = strategy > 0
        for other in extreme:
            assert not other[~played].any()
            slope = ((other - strategy)[played] * -(np.log(strategy[played]) + 1)).sum()
            assert slope <= 1e-6


def test_entropy_and_centroid_differ() -> None:
    """The second player may play anything from (1, 0, 0) to (0, 1/2, 1/2): 1/2 and 1/4, but 1/3 each is more even."""
    table = [[0, 1, -1], [0, -1, 1]]
    assert solve(table).y == pytest.approx([0.5, 0.25, 0.25])
    assert solve(table, choose="entropy").y == pytest.approx([1 / 3] * 3, abs=1e-7)
    assert solve(table, choose="any").y.max() == pytest.approx(1) or solve(table, choose="any").y[1] == 0.5


# ---- games that are not constant-sum


def test_the_mean_of_equilibria_is_taken_only_where_it_is_one() -> None:
    meet = np.stack([np.diag([3, 2]), np.diag([2, 3])])  # both want to meet, each prefers another place
    found = solve(meet, all=True)
    assert not found.constant_sum
    assert not found.unique
    assert len(found.equilibria) == 3
    assert (found.x.tolist(), found.y.tolist()) == ([1, 0], [1, 0])
    assert solve(meet, choose="entropy").x == pytest.approx([0.6, 0.4])
    better = solve(np.stack([np.diag([1, 2]), np.diag([1, 2])]))
    assert better.x.tolist() == [0, 1]  # the larger sum
    indifferent = solve([[[1, 1, 0]], [[2, 2, 1]]])
    assert indifferent.y == pytest.approx([0.5, 0.5, 0])  # any mixture is an equilibrium: their mean


def test_constant_sums_are_recognised_up_to_the_rounding_of_the_type() -> None:
    rng = np.random.default_rng(6)
    for dtype in (np.float32, np.float64):
        first = (rng.normal(size=(5, 5)) * 3).astype(dtype)
        both = np.stack([first, dtype(7) - first])
        found = solve(both)
        assert found.constant_sum
        assert found.value.sum() == pytest.approx(7, abs=1e-5)
        assert found.x == pytest.approx(solve(first).x, abs=1e-4)
        both[1, 0, 0] += 0.01
        assert not solve(both).constant_sum
    assert not solve(both.astype(np.float64) + [[[1e-9]], [[0]]] * np.eye(5)).constant_sum


def test_ties_are_recognised_up_to_the_rounding_of_the_type() -> None:
    noisy = np.array([[1, 2], [1, 2]]) + np.array([[0, 0], [3e-7, 0]])
    assert solve(noisy.astype(np.float32)).x == pytest.approx([0.5, 0.5])
    assert solve(noisy).x.tolist() == [0, 1]
    assert solve(noisy, tolerance=1e-5).x == pytest.approx([0.5, 0.5])
    far = np.full((3, 3), 1e6, np.float32)
    far[0, 0] += np.float32(0.0625)  # one unit in the last place
    assert not solve(far).informative
    assert solve(far).x == pytest.approx([1 / 3] * 3)


# ---- what a search leaves behind


def test_constant_payoffs_are_uniform_and_not_informative() -> None:
    for payoffs in (np.full((3, 4), 2.5), np.stack([np.zeros((3, 4)), np.ones((3, 4))]), [[7]]):
        found = solve(payoffs)
        assert not found.informative
        assert found.x == pytest.approx(np.full(len(found.x), 1 / len(found.x)))
    assert solve([[0, 0, 1.0]]).informative
    assert solve(np.zeros((3, 4))).unique is False


def test_rarely_visited_outcomes_are_left_out() -> None:
    payoffs = np.array([[0.0, 9.0, 1.0], [9.0, -9.0, 9.0], [1.0, 9.0, 0.0]])
    visits = np.array([[20, 2, 20], [1, 0, 3], [20, 2, 20]])
    found = solve(payoffs, visits)
    assert [mask.tolist() for mask in found.kept] == [[True, False, True]] * 2
    assert found.x == pytest.approx([0.5, 0, 0.5])
    assert found.informative
    assert solve(payoffs, visits, all=True).extreme[0].shape == (1, 3)
    assert solve(payoffs, visits, min_visits=0).x[1] > 0
    assert solve(payoffs, visits, min_visits=4).kept[1].tolist() == [True, True, True]


def test_too_few_visits_are_solved_but_not_informative() -> None:
    payoffs, visits = [[1.0, 0.0], [0.0, 1.0]], [[1, 1], [1, 1]]
    found = solve(payoffs, visits)
    assert found.x == pytest.approx([0.5, 0.5])
    assert not found.informative
    assert solve(payoffs, visits, min_visits=2).informative


def test_unknown_payoffs_are_guessed_and_matter_only_where_played() -> None:
    nan = np.nan
    diagonal = solve([[0.0, nan], [nan, 0.0]], [[50, 0], [0, 50]])
    assert diagonal.x == pytest.approx([0.5, 0.5])  # not the first outcome: nothing speaks for it
    assert not diagonal.informative
    beside = [[2.0, 3.0, 3.0], [1.0, nan, 4.0], [0.0, 4.0, nan]]  # a saddle point top left; nobody goes to the gaps
    found = solve(beside)
    assert (found.x.tolist(), found.y.tolist(), found.informative) == ([1, 0, 0], [1, 0, 0], True)
    assert not solve([[0.0, 1.0], [1.0, nan]]).informative
    guess = solve([[4.0, 0.0], [nan, 2.0]], [[30, 10], [0, 20]])  # the mean of 2 and 4
    assert guess.value[0] == pytest.approx(solve([[4.0, 0.0], [3.0, 2.0]]).value[0])
    empty = solve([[0.0, nan, 1.0], [nan, nan, nan], [1.0, nan, 0.0]])
    assert [mask.tolist() for mask in empty.kept] == [[True, False, True]] * 2


def test_what_a_search_found_can_be_solved() -> None:
    for name in ("pyrat", "goofspiel"):
        result = rf.search(rf.make(name).initial_state(seed=1), simulations=300)
        found = rf.equilibria.solve(result.payoffs, result.visits)
        assert len(found.x) == len(result.outcomes[0])
        assert found.x.sum() == pytest.approx(1)


# ---- what is refused


@pytest.mark.parametrize(
    ("payoffs", "complaint"),
    [
        (3.0, r"\[n0, n1\] or \[2, n0, n1\], not \[\]"),
        ([1, 2], r"not \[2\]"),
        (np.zeros((3, 2, 2)), r"not \[3, 2, 2\]"),
        (np.zeros((0, 2)), "at least one outcome"),
        (np.zeros((2, 2, 0)), "at least one outcome"),
        ([[1, 2], [3]], "an array of numbers"),
        ([["a"]], "real numbers"),
        ([[True]], "real numbers"),
        ([[1j]], "real numbers"),
        ([[np.inf, 1]], "finite"),
        ([[-np.inf, np.nan]], "finite"),
        ([[1e300]], f"to {LARGEST:g}".replace("+", r"\+")),
        ([[np.nan, np.nan]], "payoffs are all nan"),
    ],
)
def test_wrong_payoffs_are_refused(payoffs: object, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        solve(payoffs)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"visits": [1, 2]}, r"visits must have shape \[2, 2\], one per pair of outcomes, not \[2\]"),
        ({"visits": [[1, 2], [3, -1]]}, "0 or more"),
        ({"visits": [[1, 2], [3, np.nan]]}, "0 or more"),
        ({"choose": "best"}, "'centroid', 'entropy' or 'any', not 'best'"),
        ({"tolerance": -1}, "from 0 to 1, not -1"),
        ({"tolerance": np.nan}, "from 0 to 1"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict, complaint: str) -> None:
    with pytest.raises(rf.InvalidInput, match=complaint):
        solve([[1, 0], [0, 1]], **arguments)


@pytest.mark.parametrize("x", [[1], [0.5, 0.6], [1.5, -0.5], [np.nan, 1], [[1, 0]], "ab"])
def test_wrong_strategies_are_refused(x: object) -> None:
    with pytest.raises(rf.InvalidInput, match="x must"):
        nash_conv([[1, 0], [0, 1]], x, [1, 0])
    with pytest.raises(rf.InvalidInput, match="y must"):
        nash_conv([[1, 0], [0, 1]], [1, 0], x)


def test_what_else_is_refused() -> None:
    with pytest.raises(rf.InvalidInput, match="finite"):
        nash_conv([[np.nan]], [1], [1])
    with pytest.raises(rf.InvalidInput, match="all=True"):
        _ = solve([[1]]).equilibria
    with pytest.raises(rf.InvalidInput, match=r"\[games, n0, n1\]"):
        values([[1, 2]])
    with pytest.raises(rf.InvalidInput, match="finite"):
        values([[[np.nan]]])
    assert values(np.zeros((0, 2, 2))).shape == (0,)


def test_lists_that_are_too_long_are_refused() -> None:
    with pytest.raises(rf.InvalidInput, match=r'at most 32 outcomes per player, not 33 x 2; .* choose "any"'):
        solve(np.zeros((33, 2)))
    assert solve(np.zeros((33, 2)), choose="any").value[0] == 0
    random = np.random.default_rng(7).normal(size=(2, 16, 16))
    with pytest.raises(rf.InvalidInput, match="too many extreme strategies to list"):
        solve(random)


def test_nash_conv_by_hand() -> None:
    assert nash_conv([[1, -1], [-1, 1]], [1, 0], [1, 0]) == 2
    dilemma = [[[3, 0], [5, 1]], [[3, 5], [0, 1]]]
    assert nash_conv(dilemma, [1, 0], [1, 0]) == 4
    assert nash_conv(dilemma, [0, 1], [0, 1]) == 0
    assert nash_conv(dilemma, np.float32([0.5, 0.5]), [0, 1]) == 0.5 + 0


def test_results_are_frozen() -> None:
    found = solve([[1, 0], [0, 1]], all=True)
    with pytest.raises(ValueError, match="read-only"):
        found.x[0] = 1
    with pytest.raises(AttributeError):
        found.x = None
