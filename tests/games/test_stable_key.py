"""Keys of Python values: equal for equal values, different for different ones, the same in every process."""

import ast
import dataclasses
import enum
import fractions
import subprocess
import sys

import numpy as np
import pytest

from ramify.games import stable_key


class Piece(enum.IntEnum):
    ROOK = 1


@dataclasses.dataclass(frozen=True)
class Board:
    cells: tuple
    note: str = dataclasses.field(default="", compare=False)


DIFFERENT = [
    *(None, 0, 1, -1, 10, 2**70, 0.5, float("inf"), float("nan"), 1 / 3, fractions.Fraction(1, 3)),
    *("", "0", "a", "ab", b"", b"a", (), (0,), (0, 0), ((), ()), (((),),), ("a", "b"), ("ab",)),
    *((1, (2, 3)), ((1, 2), 3), frozenset(), frozenset({1, 2}), {"a": 1}, {"a": 2}, (("a", 1),)),
    *(np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.int8), np.ones(2)),
    *(Piece.ROOK, Board((1, 2)), Board((1, 3))),
]
EQUAL = [
    (1, True, 1.0, np.int64(1), np.float32(1), np.True_, fractions.Fraction(1)),
    (0.5, np.float32(0.5), fractions.Fraction(1, 2)),
    (0, -0.0, np.uint8(0), False),
    ((1, 2), [1, 2], (np.int8(1), 2.0)),
    (frozenset({1, 2, "x"}), {"x", 2, 1}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T)),
    (np.arange(3, dtype="<i4"), np.arange(3, dtype=">i4")),
    (Board((1, 2)), Board((1, 2), note="other")),
]


def test_different_values_have_different_keys():
    keys = [stable_key(value) for value in DIFFERENT]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**64 for key in keys)


@pytest.mark.parametrize("values", EQUAL, ids=range(len(EQUAL)))
def test_equal_values_have_equal_keys(values):
    assert len({stable_key(value) for value in values}) == 1
    assert len({stable_key((value, "x")) for value in values}) == 1


def test_keys_are_the_same_in_every_process():
    value = "(1, 'a', frozenset({'x', 'y', 'zz'}), {'k': (b'1', None)})"
    code = f"from ramify.games import stable_key; print(stable_key({value}, b'salt'))"
    here = stable_key(ast.literal_eval(value.replace("frozenset", "")), b"salt")
    for seed in ("1", "2"):
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert int(run.stdout) == here


@pytest.mark.parametrize(
    "value", [object(), lambda: 0, (1, object()), np.array([None])], ids=["object", "function", "inside", "array"]
)
def test_values_without_a_stable_form_are_refused(value):
    with pytest.raises(TypeError, match="no stable key"):
        stable_key(value)
