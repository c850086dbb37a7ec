"""Policies from visits and payoffs where both players choose: marginal visits, pruned visits, equilibria.

The formulas are those of ``ramify.engine.policies`` and ``ramify.equilibria``, here for plain arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.engine import SearchConfig, equilibria, policies

Floats = NDArray[np.float64]
Pair = tuple[ArrayLike, ArrayLike]  # of player 1 and of player 2


def visits_to_marginal_policy(visits: ArrayLike, axis: int) -> Floats:
    """The share of visits of each outcome, summed over ``axis``: 1 for player 1's policy, 0 for player 2's."""
    counts = np.asarray(visits, np.float64)
    if counts.ndim != 2 or axis not in (0, 1):
        raise ValueError(f"visits must be [n1, n2] and axis 0 or 1, not {list(counts.shape)} and {axis}")
    if not counts.sum() > 0:
        raise ValueError("there are no visits from which to make a policy")
    return policies.tempered(policies.marginal(counts, 1 - axis), 1.0)


def compute_pruning_adjustment(q: ArrayLike, prior: ArrayLike, visits: ArrayLike, c_puct: float) -> Floats:
    """Visits of a player's outcomes, all [n], that PUCT alone would not have made.

    Every outcome but the most visited one loses visits until its PUCT score would reach the score of that one; an
    outcome whose value alone reaches it loses none.
    """
    counts = np.asarray(visits).reshape(-1, 1)
    return policies.excess(_root(counts, (q, [0.0]), (prior, [1.0]), c_puct), 0)


def prune_visit_counts(visits: ArrayLike, q: Pair, priors: Pair, c_puct: float) -> Floats:
    """Visits of pairs, [n1, n2], without the adjustments of both players; fractional.

    A player's adjustment is taken from the pairs of its outcome in proportion to the other player's prior. If nothing
    would be left, the visits are returned as they are.
    """
    return policies.pruned_visits(_root(np.asarray(visits), q, priors, c_puct))


def reduce_and_expand_nash(
    payout: ArrayLike, p1_effective: ArrayLike, p2_effective: ArrayLike, visits: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Both players' equilibrium strategies over all actions.

    ``payout`` is [a1, a2] (player 1's, zero-sum) or [2, a1, a2]; nan where unknown. ``p1_effective`` and
    ``p2_effective`` give for each action the one that it amounts to, as ``PyRatGame.effective_actions_p1()``. Actions
    that amount to the same are one outcome: the mean of their payoffs, the sum of their visits. Its probability stands
    on that action, and the others have none. ``visits`` [a1, a2] leave out what was hardly tried.
    """
    rows, columns = _members(p1_effective), _members(p2_effective)
    matrix = np.asarray(payout, np.float64)
    if matrix.shape[-2:] != (rows.shape[1], columns.shape[1]) or matrix.shape not in (
        matrix.shape[-2:],
        (2, *matrix.shape[-2:]),
    ):
        wanted = f"[{rows.shape[1]}, {columns.shape[1]}]"
        raise ValueError(f"payout must have shape {wanted} or two of these, not {list(matrix.shape)}")
    known = rows @ np.isfinite(matrix) @ columns.T
    with np.errstate(invalid="ignore"):
        reduced = (rows @ np.nan_to_num(matrix) @ columns.T) / known
    counts = None if visits is None else rows @ np.asarray(visits, np.float64) @ columns.T
    solved = equilibria.solve(reduced, visits=counts)
    return _expand(solved.x, p1_effective), _expand(solved.y, p2_effective)


def _members(effective: ArrayLike) -> Floats:
    """Which actions belong to each outcome, [outcomes, actions], of zeros and ones."""
    targets = np.asarray(effective)
    return np.asarray(np.unique(targets)[:, None] == targets[None, :], np.float64)


def _expand(strategy: Floats, effective: ArrayLike) -> Floats:
    targets = np.asarray(effective)
    policy = np.zeros(len(targets))
    policy[np.unique(targets)] = strategy
    return policy


def _root(visits: NDArray[np.int64], q: Pair, priors: Pair, c_puct: float) -> policies.Root:
    """Statistics as the engine's formulas take them, with N the visits of all pairs."""
    first, second = (np.asarray(array, np.float32) for array in q)
    prior1, prior2 = (np.asarray(array, np.float32) for array in priors)
    shape = (len(first), len(second))
    if visits.shape != shape or (len(prior1), len(prior2)) != shape:
        raise ValueError(
            f"visits, values and priors must fit together: visits {list(visits.shape)}, values {list(shape)}, "
            f"priors {[len(prior1), len(prior2)]}"
        )
    return policies.Root(
        visits=visits,
        priors=(prior1, prior2),
        q=(first, second),
        payoffs=np.full((2, *shape), np.nan, np.float32),
        evaluation=np.zeros(2, np.float32),
        average=None,
        scores=((), ()),
        config=SearchConfig(c_puct=c_puct, parent_visits="edges"),
    )
