"""Nash equilibria of matrix games: ``solve``, ``nash_conv``, ``values``. Usable on its own, as ``rf.equilibria``.

>>> import ramify as rf
>>> found = rf.equilibria.solve([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])  # rock, paper, scissors
>>> found.x.round(3).tolist(), found.unique
([0.333, 0.333, 0.333], True)

docs/methods/equilibria.md derives what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify._core import InvalidInput, matrix_rounding, matrix_tie, solve_matrix, zero_sum_values
from ramify._core import nash_conv as _nash_conv

Choose = Literal["centroid", "entropy", "any"]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

TIE = matrix_tie  # payoffs closer than this part of their span are equal
ROUNDING = matrix_rounding  # and so are payoffs closer than this many units in the last place of the largest one
_EPS = {np.dtype(kind): float(np.finfo(kind).eps) for kind in (np.float16, np.float32, np.float64)}
LARGEST = 1e150  # of payoffs: sums and differences stay far from overflow


@dataclass(frozen=True)
class Equilibrium:
    """One equilibrium of a matrix game, and what is known about the others. Arrays are over outcomes."""

    x: Floats  # [n0], the first player's probabilities
    y: Floats  # [n1], the second's
    value: Floats  # [2], what each player gets
    nash_conv: float  # 0 up to rounding, on the outcomes kept
    constant_sum: bool  # whether what one player wins the other loses
    unique: bool  # whether this is the only equilibrium
    informative: bool  # False: payoffs are constant, rarely visited or guessed where it matters; nothing to learn from
    kept: tuple[Mask, Mask]  # outcomes that were not left out for lack of visits
    extreme: tuple[Floats, Floats] | None = None  # with all=True: extreme strategies [k0, n0] and [k1, n1] ...
    pairs: NDArray[np.int32] | None = None  # ... and which of them are equilibria together, [k, 2]

    @property
    def equilibria(self) -> list[tuple[Floats, Floats]]:
        """Every extreme equilibrium, as (x, y); needs ``solve(…, all=True)``."""
        if self.extreme is None or self.pairs is None:
            raise InvalidInput("extreme equilibria were not asked for: solve(…, all=True)")
        return [(self.extreme[0][i], self.extreme[1][j]) for i, j in self.pairs]


def solve(
    payoffs: ArrayLike,
    visits: ArrayLike | None = None,
    *,
    min_visits: float = 5,
    choose: Choose = "centroid",
    all: bool = False,
    tolerance: float | None = None,
) -> Equilibrium:
    """An equilibrium of a matrix game.

    ``payoffs`` is [n0, n1] (to the first player; the second gets minus that) or [2, n0, n1] (to each player).
    Outcomes with fewer than ``min_visits`` of the ``visits`` [n0, n1] are left out and get probability 0; if a player
    has none with that many, all stay. Payoffs may be nan where unknown: the mean of what the two outcomes earned
    elsewhere takes their place. ``informative`` is False where the result rests on either.

    Where several strategies are optimal in a constant-sum game, ``choose`` says which: the ``"centroid"`` of the
    extreme ones, the one of maximum ``"entropy"``, or ``"any"``, the quickest. Where payoffs do not sum to a constant,
    the mean of equilibria is in general not one: it is taken where it is, else the extreme equilibrium of the largest
    sum of payoffs (``"entropy"``: of the largest entropy). ``all`` lists every extreme equilibrium too.

    Payoffs closer than ``tolerance`` of their span are equal; by default 1e-11, or the rounding of their type.

    >>> solve([[3, 0], [5, 1]]).value.tolist()
    [1.0, -1.0]
    """
    tables, rounding = _tables(payoffs, unknown=True)
    known = None if visits is None and not np.isnan(tables).any() else _Known(tables, visits, min_visits)
    played = tables if known is None else known.tables
    tie = TIE if tolerance is None else _tolerance(tolerance)
    x, y, value, gap, constant_sum, unique, constant, listed = solve_matrix(played, choose, all, tie, rounding)
    kept = (np.ones(len(x), np.bool_), np.ones(len(y), np.bool_)) if known is None else known.kept
    if known is not None:
        constant = constant or not known.supports(x, y)
        x, y = _spread(x, kept[0]), _spread(y, kept[1])
        if listed is not None:
            listed = (_spread(listed[0], kept[0]), _spread(listed[1], kept[1]), listed[2])
    for array in (x, y, value, *kept, *(listed or ())):
        array.setflags(write=False)
    extreme, pairs = (None, None) if listed is None else (listed[:2], listed[2])
    return Equilibrium(x, y, value, gap, constant_sum, unique, not constant, kept, extreme, pairs)


def nash_conv(payoffs: ArrayLike, x: ArrayLike, y: ArrayLike) -> float:
    """What the players could gain if each alone changed to a best reply, added up: 0 exactly in an equilibrium.

    >>> nash_conv([[1, -1], [-1, 1]], [1, 0], [0.5, 0.5])  # the second player would win 1 instead of 0
    1.0
    """
    tables, _ = _tables(payoffs, unknown=False)
    return _nash_conv(tables, _strategy(x, tables.shape[1], "x"), _strategy(y, tables.shape[2], "y"))


def values(payoffs: ArrayLike) -> Floats:
    """The values to the first player of many zero-sum games of one size, [games, n0, n1].

    >>> values([[[1, -1], [-1, 1]], [[2, 3], [0, 1]]]).tolist()
    [0.0, 2.0]
    """
    tables = np.ascontiguousarray(_numbers(payoffs, "payoffs"), np.float64)
    if tables.ndim != 3 or 0 in tables.shape[1:]:
        raise InvalidInput(f"payoffs of many games are [games, n0, n1] with n0, n1 >= 1, not {list(tables.shape)}")
    _check_sizes(tables, unknown=False)
    return zero_sum_values(tables)


def _numbers(given: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a table of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InvalidInput(f"{name} must be real numbers, not {array.dtype}")
    return array


def _check_sizes(tables: Floats, *, unknown: bool) -> None:
    sizes = np.abs(tables)
    if sizes.max(initial=0.0) <= LARGEST:  # False for nan
        return
    bad = tables[~(sizes <= LARGEST) & ~(unknown & np.isnan(tables))]
    if bad.size:
        allowed = ", or nan where unknown" if unknown else ""
        raise InvalidInput(f"payoffs must be finite and at most {LARGEST:g}{allowed}, not {bad[0]}")


def _tables(payoffs: ArrayLike, *, unknown: bool) -> tuple[Floats, float]:
    """Payoffs as [1 or 2, n0, n1], and how far their type rounds, relative to the largest."""
    tables = _numbers(payoffs, "payoffs")
    eps = _EPS.get(tables.dtype, _EPS[np.dtype(np.float64)])
    if tables.ndim == 2:
        tables = tables[None]
    elif tables.ndim != 3 or len(tables) != 2:
        raise InvalidInput(f"payoffs are [n0, n1] or [2, n0, n1], not {list(tables.shape)}")
    if 0 in tables.shape:
        raise InvalidInput(f"payoffs need at least one outcome a player, not {list(tables.shape)}")
    tables = np.ascontiguousarray(tables, np.float64)
    _check_sizes(tables, unknown=unknown)
    return tables, ROUNDING * eps


class _Known:
    """What is known well enough of a game: the outcomes kept, and their payoffs, guessed where nobody has seen them."""

    def __init__(self, tables: Floats, visits: ArrayLike | None, min_visits: float) -> None:
        self.known: Mask = ~np.asarray(np.isnan(tables).any(axis=0))
        if not self.known.any():
            raise InvalidInput("every payoff is nan: there is nothing to solve")
        self.weights = self.known.astype(np.float64)
        self.sparse = False
        self.kept = self._linked(np.ones(len(self.known), np.bool_), np.ones(self.known.shape[1], np.bool_))
        if visits is not None:
            self._leave_out(visits, min_visits)
        self.known, self.weights = self._part(self.known), self._part(self.weights)
        self.tables = np.stack([self._filled(self._part(table)) for table in tables])

    def supports(self, x: Floats, y: Floats) -> bool:
        """Whether visits were enough, and no guess says what the strategies or a deviation from one of them earn."""
        return not self.sparse and bool(self.known[x > 0].all() and self.known[:, y > 0].all())

    def _leave_out(self, given: ArrayLike, min_visits: float) -> None:
        visits = _numbers(given, "visits")
        if visits.shape != self.known.shape:
            wanted = list(self.known.shape)
            raise InvalidInput(f"visits must be {wanted}, one per pair of outcomes, not {list(visits.shape)}")
        if not (visits >= 0).all() or not np.isfinite(visits).all():
            raise InvalidInput("visits must be 0 or more")
        counts = np.where(self.known, visits, 0)
        rows, columns = self._linked(counts.sum(axis=1) >= min_visits, counts.sum(axis=0) >= min_visits)
        self.weights = np.where(self.known, np.maximum(counts, 1.0), 0.0)
        self.sparse = not rows.any()
        if not self.sparse:
            self.kept = (rows, columns)

    def _linked(self, rows: Mask, columns: Mask) -> tuple[Mask, Mask]:
        """Those outcomes of which at least one payoff against the others is known."""
        while True:
            inside = self.known & np.outer(rows, columns)
            next_rows, next_columns = np.asarray(inside.any(axis=1)), np.asarray(inside.any(axis=0))
            if np.array_equal(next_rows, rows) and np.array_equal(next_columns, columns):
                return rows, columns
            rows, columns = next_rows, next_columns

    def _part(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(table[self.kept[0]][:, self.kept[1]])

    def _filled(self, table: Floats) -> Floats:
        """Unknown payoffs become the mean of what the two outcomes earned on average where they were tried."""
        if self.known.all():
            return table
        earned = np.where(self.known, table, 0.0) * self.weights
        row_means = earned.sum(axis=1) / self.weights.sum(axis=1)
        column_means = earned.sum(axis=0) / self.weights.sum(axis=0)
        return np.where(self.known, table, 0.5 * (row_means[:, None] + column_means))


def _spread(strategies: Floats, kept: Mask) -> Floats:
    """Strategies over the outcomes kept, as strategies over all of them."""
    whole = np.zeros((*strategies.shape[:-1], len(kept)))
    whole[..., kept] = strategies
    return whole


def _strategy(given: ArrayLike, size: int, name: str) -> Floats:
    strategy = _numbers(given, name).astype(np.float64)
    if strategy.shape != (size,):
        raise InvalidInput(f"{name} must have one probability for each of {size} outcomes, not {list(strategy.shape)}")
    if not (strategy >= 0).all() or not abs(strategy.sum() - 1) <= 1e-6:
        raise InvalidInput(f"{name} must be probabilities that sum to 1, not {strategy.tolist()}")
    return np.ascontiguousarray(strategy)


def _tolerance(given: float) -> float:
    if not 0 <= given < 1:
        raise InvalidInput(f"tolerance is a part of the payoffs' span, from 0 to 1, not {given}")
    return float(given)
