"""Whole percentages that add up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ramify.games.percent import percentages


def test_the_largest_remainders_are_rounded_up():
    assert percentages([1, 1, 1]) == [34, 33, 33]
    assert percentages([0.335, 0.335, 0.33]) == [34, 33, 33]
    assert percentages([1, 0]) == [100, 0]
    assert percentages([0, 0]) == [0, 0]
    assert percentages([]) == []


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_they_add_up_and_are_near(shares):
    found, total = percentages(shares), sum(shares)
    assert sum(found) == (100 if total > 0 else 0)
    if total > 0:
        assert all(abs(percent - 100 * share / total) < 1 for percent, share in zip(found, shares, strict=True))
