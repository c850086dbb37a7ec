"""Random matrix games, degenerate ones included, and what others say of them: scipy's LP and nashpy's polytopes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]


def random_table(rng: np.random.Generator, shape: tuple[int, int], kind: int) -> np.ndarray:
    """Payoffs: normal, few different whole numbers, mostly zero, constant, or with repeated rows and columns."""
    if kind == 0:
        return rng.normal(size=shape) * 10.0 ** rng.integers(-1, 2)
    if kind == 1:
        return rng.integers(-2, 3, shape).astype(float)
    if kind == 2:
        return (rng.random(shape) < 0.2) * rng.integers(-3, 4, shape).astype(float)
    if kind == 3:
        return np.full(shape, rng.normal())
    table = rng.integers(-5, 6, shape).astype(float)
    return table[rng.integers(0, shape[0], shape[0])][:, rng.integers(0, shape[1], shape[1])]


def random_tables(seed: int, count: int, sizes: tuple[int, int] = (1, 6)) -> Iterator[np.ndarray]:
    """Tables up to 6x6; three in five are degenerate, one in twenty is constant."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        shape = tuple(rng.integers(sizes[0], sizes[1] + 1, 2))
        yield random_table(rng, shape, 3 if k % 20 == 19 else (0, 1, 2, 4, 0)[k % 5])


def lp_value(table: np.ndarray) -> float:
    """The value to the row player by scipy: the largest v that some strategy secures against every column."""
    from scipy.optimize import linprog

    n0, n1 = table.shape
    bounds = [(0, None)] * n0 + [(None, None)]
    found = linprog(
        np.r_[np.zeros(n0), -1],
        A_ub=np.c_[-table.T, np.ones(n1)],
        b_ub=np.zeros(n1),
        A_eq=[[1.0] * n0 + [0.0]],
        b_eq=[1.0],
        bounds=bounds,
    )
    assert found.status == 0
    return -float(found.fun)


def nashpy_equilibria(first: np.ndarray, second: np.ndarray, *, whole: bool = True) -> list[Pair]:
    """By nashpy; not ``whole``: from its vertices, each polytope visited once instead of over and over."""
    import nashpy
    from nashpy.polytope import build_halfspaces, non_trivial_vertices

    first, second = first - first.min() + 1, second - second.min() + 1  # what its polytopes need
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if whole:
            return list(nashpy.Game(first, second).vertex_enumeration())
        rows, n0 = list(non_trivial_vertices(build_halfspaces(second.T))), len(first)
        columns = list(non_trivial_vertices(build_halfspaces(first)))
    count = sum(first.shape)
    turned = [(x / sum(x), {(label + n0) % count for label in labels}) for x, labels in rows]
    return [(x, y / sum(y)) for x, one in turned for y, other in columns if len(one | other) == count]


def true_equilibria(first: np.ndarray, second: np.ndarray, pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs from which nobody gains: nashpy takes constraints within 1e-5 as tight, so near ties fool it."""
    good = []
    for x, y in pairs:
        gains = (first @ y).max() - x @ first @ y, (x @ second).max() - x @ second @ y
        if max(gains) <= 1e-9:
            good.append((x, y))
    return good


def same_set(mine: Iterable[Pair], other: Iterable[Pair], tolerance: float = 1e-6) -> bool:
    """Whether two sets of equilibria are the same, each listed without repetition by ``mine``."""
    ours = np.array([np.concatenate(pair) for pair in mine])
    theirs = np.array([np.concatenate(pair) for pair in other])
    near = np.abs(ours[:, None] - theirs[None]).max(axis=2) <= tolerance
    apart = np.abs(ours[:, None] - ours[None]).max(axis=2) > tolerance
    return bool(near.any(axis=0).all() and near.any(axis=1).all() and (apart | np.eye(len(ours), dtype=bool)).all())
