"""Rows in memory that is used again, against a plain list."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from ramify.training.rows import SPARE, Rows

CPU = torch.device("cpu")
STEP = st.tuples(st.sampled_from(["append", "append", "drop", "keep"]), st.integers(1, 40))


def rows_from(first: int, count: int) -> dict[str, torch.Tensor]:
    numbers = torch.arange(first, first + count)
    return {"number": numbers, "pair": torch.stack([numbers, -numbers], 1).float()}


@given(st.lists(STEP, max_size=60))
def test_rows_are_those_of_a_list(steps):
    rows, expected, added = Rows(CPU), list[int](), 0
    rows.append(rows_from(0, 0))
    for step, count in steps:
        if step == "append":
            rows.append(rows_from(added, count))
            expected += range(added, added + count)
            added += count
        elif step == "drop":
            rows.drop(count)
            expected = expected[count:]
        else:
            rows.keep(rows["number"] % 3 != count % 3)
            expected = [number for number in expected if number % 3 != count % 3]
        assert rows["number"].tolist() == expected
        assert rows["pair"].tolist() == [[number, -number] for number in expected]
        assert len(rows) == len(expected)


def test_rows_of_another_shape_may_follow_when_there_are_none():
    rows = Rows(CPU)
    rows.append({"number": torch.zeros(5, 0)})
    rows.drop(5)
    rows.append({"number": torch.ones(3, 2)})
    assert rows["number"].tolist() == [[1, 1]] * 3


def test_a_window_that_moves_on_stays_in_its_memory():
    """Otherwise memory of a GPU would be full of holes after some minutes."""
    rows, places = Rows(CPU), set[int]()
    for start in range(0, 100_000, 50):
        rows.append(rows_from(start, 50))
        rows.drop(len(rows) - 1000)
        if start >= 2000:
            places.add(rows.columns()["number"].untyped_storage().data_ptr())
            assert rows["number"].untyped_storage().nbytes() <= 8 * 1050 * SPARE
    assert len(places) == 1
    assert rows["number"].tolist() == list(range(99_000, 100_000))
