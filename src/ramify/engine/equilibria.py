"""Nash equilibria, available as ``rf.equilibria``: of matrix games, and of whole games that are small enough.

``solve``, ``nash_conv`` and ``values`` take payoffs. ``solve_game``, ``nash_conv``, ``best_response``,
``strategy_value`` and ``mccfr`` take a state, and compute on everything that can follow it (``game_graph.py``).

>>> import ramify as rf
>>> found = rf.equilibria.solve([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])  # rock, paper, scissors
>>> found.x.round(3).tolist(), found.unique
([0.333, 0.333, 0.333], True)

docs/methods/equilibria.md describes the algorithms for matrices, docs/methods/game-graphs.md those for games.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify._core import InvalidInput, matrix_rounding, matrix_tie, solve_matrix, zero_sum_values
from ramify._core import nash_conv as _nash_conv
from ramify.engine.game_graph import (
    MAX_POSITIONS,
    BestResponse,
    GameGraph,
    GameSolution,
    MccfrResult,
    Objective,
    Strategy,
    TabularStrategy,
    best_response,
    game_nash_conv,
    mccfr,
    solve_game,
    strategy_value,
)
from ramify.games import State

__all__ = [
    "BestResponse",
    "Equilibrium",
    "GameGraph",
    "GameSolution",
    "MccfrResult",
    "Strategy",
    "TabularStrategy",
    "best_response",
    "constant",
    "mccfr",
    "nash_conv",
    "solve",
    "solve_game",
    "strategy_value",
    "values",
]

Choose = Literal["centroid", "entropy", "any"]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

TIE = matrix_tie  # payoffs closer than this part of their span are equal
ROUNDING = matrix_rounding  # and so are payoffs closer than this many units in the last place of the largest one
_EPS = {np.dtype(kind): float(np.finfo(kind).eps) for kind in (np.float16, np.float32, np.float64)}
LARGEST = 1e150  # of payoffs: sums and differences stay far from overflow


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium of a matrix game. Arrays are indexed by outcome."""

    x: Floats  # [n0], the first player's probabilities
    y: Floats  # [n1], the second's
    value: Floats  # [2], what each player gets
    nash_conv: float  # over the outcomes kept; 0 up to rounding
    constant_sum: bool  # whether the players' payoffs sum to a constant
    unique: bool  # whether this is the only equilibrium
    informative: (
        bool  # False: the payoffs are constant, rarely visited or imputed where it matters; do not learn from it
    )
    kept: tuple[Mask, Mask]  # outcomes with enough visits
    enough_visits: bool = True  # False: a player has no outcome with ``min_visits``, and all were kept
    extreme: tuple[Floats, Floats] | None = None  # with all=True: extreme strategies [k0, n0] and [k1, n1] ...
    pairs: NDArray[np.int32] | None = None  # ... and which of them are equilibria together, [k, 2]

    @property
    def equilibria(self) -> list[tuple[Floats, Floats]]:
        """Every extreme equilibrium, as (x, y); needs ``solve(…, all=True)``."""
        if self.extreme is None or self.pairs is None:
            raise InvalidInput("this result has no list of extreme equilibria: call solve(…, all=True)")
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
    """Find a Nash equilibrium of a matrix game.

    ``payoffs`` is [n0, n1] for a zero-sum game (payoffs of the first player) or [2, n0, n1] (payoffs of each player).
    Outcomes with fewer than ``min_visits`` of the ``visits`` [n0, n1] are left out and get probability 0; if a player
    has no outcome with enough visits, all are kept. Unknown payoffs are nan and are imputed by the mean of what the two
    outcomes earned elsewhere. ``informative`` is False if the result depends on either.

    If several strategies of a constant-sum game are optimal, ``choose`` selects one: the ``"centroid"`` of the extreme
    ones, the one of maximum ``"entropy"``, or ``"any"``, which is the fastest. In a general-sum game the mean of
    equilibria need not be an equilibrium: it is returned if it is, otherwise the extreme equilibrium with the largest
    sum of payoffs (``"entropy"``: with the largest entropy). ``all`` also lists every extreme equilibrium.

    Payoffs that differ by less than ``tolerance`` times their span count as equal; by default 1e-11, or the rounding
    error of their type.

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
    enough = known is None or not known.sparse
    return Equilibrium(x, y, value, gap, constant_sum, unique, not constant, kept, enough, extreme, pairs)


def constant(payoffs: ArrayLike) -> bool:
    """Whether each player's known payoffs are all equal, up to the rounding error of their type: nothing to choose.

    >>> constant([[0.5, float("nan")], [0.5, 0.5]])
    True
    """
    tables, rounding = _tables(payoffs, unknown=True)
    known = [table[~np.isnan(table)] for table in tables]
    return all(np.ptp(table) <= rounding * np.abs(table).max() for table in known if table.size)


@overload
def nash_conv(payoffs: ArrayLike, x: ArrayLike, y: ArrayLike) -> float: ...
@overload
def nash_conv(
    game: State | GameGraph,
    strategy: Strategy,
    /,
    *,
    objective: Objective = "difference",
    max_positions: int = MAX_POSITIONS,
    max_seconds: float | None = None,
) -> float: ...
def nash_conv(payoffs: Any, x: Any, y: Any = None, **settings: Any) -> float:
    """NashConv: the sum over players of the gain from changing to a best reply; 0 exactly in an equilibrium.

    ``nash_conv(payoffs, x, y)`` is that of two strategies in a matrix game. ``nash_conv(state, strategy)`` is that of a
    strategy of both players in the whole game from a state on; it takes what ``best_response`` takes.

    >>> nash_conv([[1, -1], [-1, 1]], [1, 0], [0.5, 0.5])  # the second player would win 1 instead of 0
    1.0
    >>> import ramify as rf
    >>> state = rf.make("matrix", payoffs=[[1, -1], [-1, 1]]).initial_state()
    >>> nash_conv(state, lambda state: ([1, 0], [0.5, 0.5]))
    1.0
    """
    if isinstance(payoffs, GameGraph) or hasattr(type(payoffs), "legal_actions"):
        if y is not None:
            raise TypeError("nash_conv(state, strategy) takes one strategy of both players; x and y are for payoffs")
        return game_nash_conv(payoffs, x, **settings)
    if y is None or settings:
        raise TypeError("nash_conv takes payoffs, x and y, or a state and a strategy with its settings")
    tables, _ = _tables(payoffs, unknown=False)
    return _nash_conv(tables, _strategy(x, tables.shape[1], "x"), _strategy(y, tables.shape[2], "y"))


def values(payoffs: ArrayLike) -> Floats:
    """The values, for the first player, of many zero-sum games of one size: [games, n0, n1].

    >>> values([[[1, -1], [-1, 1]], [[2, 3], [0, 1]]]).tolist()
    [0.0, 2.0]
    """
    tables = np.ascontiguousarray(_numbers(payoffs, "payoffs"), np.float64)
    if tables.ndim != 3 or 0 in tables.shape[1:]:
        raise InvalidInput(f"payoffs must have shape [games, n0, n1] with n0, n1 >= 1, not {list(tables.shape)}")
    _check_sizes(tables, unknown=False)
    return zero_sum_values(tables)


def _numbers(given: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise InvalidInput(f"{name} must be an array of numbers: {error}") from None
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
        raise InvalidInput(f"payoffs must be finite numbers from -{LARGEST:g} to {LARGEST:g}{allowed}, not {bad[0]}")


def _tables(payoffs: ArrayLike, *, unknown: bool) -> tuple[Floats, float]:
    """Payoffs as [1 or 2, n0, n1], and the rounding error of their type relative to the largest payoff."""
    tables = _numbers(payoffs, "payoffs")
    eps = _EPS.get(tables.dtype, _EPS[np.dtype(np.float64)])
    if tables.ndim == 2:
        tables = tables[None]
    elif tables.ndim != 3 or len(tables) != 2:
        raise InvalidInput(f"payoffs must have shape [n0, n1] or [2, n0, n1], not {list(tables.shape)}")
    if 0 in tables.shape:
        raise InvalidInput(f"payoffs must have at least one outcome per player, not shape {list(tables.shape)}")
    tables = np.ascontiguousarray(tables, np.float64)
    _check_sizes(tables, unknown=unknown)
    return tables, ROUNDING * eps


class _Known:
    """The outcomes of a game with enough visits, and their payoffs, imputed where they are unknown."""

    def __init__(self, tables: Floats, visits: ArrayLike | None, min_visits: float) -> None:
        self.known: Mask = ~np.asarray(np.isnan(tables).any(axis=0))
        if not self.known.any():
            raise InvalidInput("payoffs are all nan: at least one must be known")
        self.weights = self.known.astype(np.float64)
        self.sparse = False
        self.kept = self._linked(np.ones(len(self.known), np.bool_), np.ones(self.known.shape[1], np.bool_))
        if visits is not None:
            self._leave_out(visits, min_visits)
        self.known, self.weights = self._part(self.known), self._part(self.weights)
        self.tables = np.stack([self._filled(self._part(table)) for table in tables])

    def supports(self, x: Floats, y: Floats) -> bool:
        """Whether visits sufficed and the payoffs of these strategies, and of every deviation, are not imputed."""
        return not self.sparse and bool(self.known[x > 0].all() and self.known[:, y > 0].all())

    def _leave_out(self, given: ArrayLike, min_visits: float) -> None:
        visits = _numbers(given, "visits")
        if visits.shape != self.known.shape:
            wanted = list(self.known.shape)
            raise InvalidInput(f"visits must have shape {wanted}, one per pair of outcomes, not {list(visits.shape)}")
        if not (visits >= 0).all() or not np.isfinite(visits).all():
            raise InvalidInput("visits must be 0 or more")
        counts = np.where(self.known, visits, 0)
        rows, columns = self._linked(counts.sum(axis=1) >= min_visits, counts.sum(axis=0) >= min_visits)
        self.weights = np.where(self.known, np.maximum(counts, 1.0), 0.0)
        self.sparse = not rows.any()
        if not self.sparse:
            self.kept = (rows, columns)

    def _linked(self, rows: Mask, columns: Mask) -> tuple[Mask, Mask]:
        """Outcomes with at least one known payoff against the outcomes kept."""
        while True:
            inside = self.known & np.outer(rows, columns)
            next_rows, next_columns = np.asarray(inside.any(axis=1)), np.asarray(inside.any(axis=0))
            if np.array_equal(next_rows, rows) and np.array_equal(next_columns, columns):
                return rows, columns
            rows, columns = next_rows, next_columns

    def _part(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(table[self.kept[0]][:, self.kept[1]])

    def _filled(self, table: Floats) -> Floats:
        """Impute unknown payoffs by the mean of the average payoffs of the two outcomes."""
        if self.known.all():
            return table
        earned = np.where(self.known, table, 0.0) * self.weights
        row_means = earned.sum(axis=1) / self.weights.sum(axis=1)
        column_means = earned.sum(axis=0) / self.weights.sum(axis=0)
        return np.where(self.known, table, 0.5 * (row_means[:, None] + column_means))


def _spread(strategies: Floats, kept: Mask) -> Floats:
    """Extend strategies over the outcomes kept to all outcomes."""
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
        raise InvalidInput(f"tolerance must be a fraction of the payoffs' span, from 0 to 1, not {given}")
    return float(given)
