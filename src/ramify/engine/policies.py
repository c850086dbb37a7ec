"""Policies computed from a search: visits, pruned visits, equilibrium, average strategy, improved policy.

All are over the outcomes of one player at the root; see ``SearchResult.policy``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ramify._core import InvalidInput
from ramify.base.settings import Settings
from ramify.engine import equilibria
from ramify.engine.config import SearchConfig, c_puct_of

Method = Literal["visits", "pruned", "nash", "average", "improved"]
METHODS: tuple[str, ...] = get_args(Method)
Acting = Literal[Method, "lcb"]  # what an action can be chosen by
MIXED: tuple[str, ...] = ("nash", "average")  # to be sampled from as they are: their best reply is not themselves

Floats = NDArray[np.float64]


class NashConfig(Settings):
    """Settings of the policy ``nash``: an equilibrium of the payoffs that a search found."""

    what = "nash"

    choose: equilibria.Choose = Field(
        "centroid",
        description=(
            "Choice among several equilibria: the centroid of the extreme ones, the one of maximum entropy, or any."
        ),
    )
    min_visits: float = Field(
        5.0, ge=0, le=1e9, description="Minimum number of visits of an outcome; others are left out of the matrix."
    )
    pruned: bool = Field(
        False,
        description=(
            "Count visits without those caused by noise and forced playouts; all visits where too few would be left."
        ),
    )


DEFAULT_NASH = NashConfig.model_construct()  # NashConfig(), but its validator is not built at import


@dataclass(frozen=True)
class Root:
    """The root statistics from which policies are computed, as in SearchResult."""

    visits: NDArray[np.int64]  # [n0, n1]
    priors: tuple[NDArray[np.float32], NDArray[np.float32]]
    q: tuple[NDArray[np.float32], NDArray[np.float32]]
    payoffs: NDArray[np.float32]
    evaluation: NDArray[np.float32]
    average: tuple[NDArray[np.float32], NDArray[np.float32]] | None
    scores: tuple[Any, Any]
    config: SearchConfig


def marginal(visits: NDArray[Any], player: int) -> Floats:
    """A player's visits per outcome, summed over the other player's outcomes."""
    return np.asarray(visits.sum(axis=1 - player), np.float64)


def exploration(config: SearchConfig, visits: float) -> float:
    """c(N) * sqrt(N) as in the search's selection, for a root whose edges have this many visits."""
    n = visits + 1 if config.parent_visits == "node" else visits
    c = c_puct_of(None) if config.c_puct is None else config.c_puct
    if config.c_base is not None:
        c += math.log((n + config.c_base + 1) / config.c_base)
    return c * math.sqrt(n)


def excess(root: Root, player: int) -> Floats:
    """Visits of each outcome that selection would not have made without noise and forced playouts.

    KataGo's inverse form: with the score S of the most visited outcome, another outcome of value q and prior P would
    have scored S at u * P / (S - q) - 1 visits; what it has beyond that is excess. The most visited outcome, and any
    whose value alone reaches S, have none.
    """
    visits = marginal(root.visits, player)
    total = visits.sum()
    if total == 0:
        return np.zeros_like(visits)
    priors = root.priors[player].astype(np.float64)
    u = exploration(root.config, float(total))
    q = root.q[player].astype(np.float64)
    if root.config.normalize != "none":  # on the scale on which the search compared them
        q = np.asarray(root.scores[player], np.float64) - u * priors / (1 + visits)
    tried = max(1, int((visits > 0).sum()))
    best = int(np.argmax(np.where(visits > 0, visits * (tried - 1) / tried + 2 * priors, -np.inf)))
    score = q[best] + u * priors[best] / (1 + visits[best])
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(score > q, u * priors / (score - q) - 1, np.inf)
    surplus = np.maximum(0.0, visits - np.maximum(0.0, needed))
    surplus[best] = 0.0
    return np.where(visits > 0, surplus, 0.0)


def forced_minimum(config: SearchConfig, priors: Floats, total: float) -> Floats:
    """The least visits that forced playouts grant to outcomes, or pairs, with these priors; total: visits of all."""
    if config.forced_form == "sqrt":
        return np.sqrt(config.forced_playouts * priors * total)
    return np.asarray(config.forced_playouts * priors * math.sqrt(total))


def _excess_of_pairs(root: Root) -> Floats:
    """The excess of both players, taken from pairs.

    Forced by player, the other player chose freely, about by its priors: a visit is in the excess of one of them, and
    the two parts are added. Forced by pair, a visit is in the excess of both: each player's is spread over its pairs in
    proportion to the visits that force may have made, and the larger part is taken.
    """
    first, second = excess(root, 0), excess(root, 1)
    config, visits = root.config, root.visits.astype(np.float64)
    if config.forced_by == "player" or not config.forced_playouts:
        return np.outer(first, root.priors[1]) + np.outer(root.priors[0], second)
    priors = np.outer(root.priors[0].astype(np.float64), root.priors[1].astype(np.float64))
    forced = np.minimum(visits, forced_minimum(config, priors, visits.sum()))
    rows, columns = (np.maximum(forced.sum(axis=axis, keepdims=True), 1e-300) for axis in (1, 0))
    return np.asarray(np.maximum(first[:, None] * (forced / rows), second * (forced / columns)))


def pruned_visits(root: Root) -> Floats:
    """Edge visits without the excess of either player; [n0, n1], fractional where both players choose.

    Where one player chooses, visits are rounded up as KataGo does.
    """
    visits = root.visits.astype(np.float64)
    if visits.size == 1:
        return visits
    if 1 in visits.shape:
        player = int(visits.shape[0] == 1)
        left = np.ceil(marginal(root.visits, player) - excess(root, player) - 1e-9)
        return np.asarray(left.reshape(visits.shape))
    left = np.maximum(0.0, visits - _excess_of_pairs(root))
    return left if left.sum() > 0 else visits


def weighed_values(root: Root, player: int) -> Floats:
    """The transformed completed values of Gumbel search, which are added to the logits of the improved policy."""
    config = root.config
    visits = marginal(root.visits, player)
    known = visits > 0
    priors = root.priors[player].astype(np.float64)
    values = root.q[player].astype(np.float64)
    raw = float(root.evaluation[player])
    mixed = raw
    if known.any():
        mean = float((priors * values)[known].sum() / priors[known].sum())
        mixed = (raw + visits.sum() * mean) / (1 + visits.sum())
    completed = np.where(known, values, mixed)
    if config.gumbel_rescale:
        completed = (completed - completed.min()) / max(float(np.ptp(completed)), 1e-8)
    return np.asarray((config.gumbel_visit + visits.max()) * config.gumbel_value * completed)


def improved(root: Root, player: int) -> Floats:
    """The improved policy of Gumbel search: softmax of the logits plus the transformed completed values."""
    logits = np.log(np.maximum(root.priors[player].astype(np.float64), 1e-30)) + weighed_values(root, player)
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def equilibrium(root: Root, config: NashConfig = DEFAULT_NASH) -> equilibria.Equilibrium | None:
    """An equilibrium of the payoffs found, over outcomes with enough visits; None if there were no visits."""
    if not root.visits.any():
        return None
    if config.pruned:
        solved = _solve(root, pruned_visits(root), config)
        if solved.enough_visits:
            return solved
    return _solve(root, root.visits, config)


def _solve(root: Root, visits: NDArray[Any], config: NashConfig) -> equilibria.Equilibrium:
    def solve(choose: equilibria.Choose) -> equilibria.Equilibrium:
        return equilibria.solve(root.payoffs, visits=visits, min_visits=config.min_visits, choose=choose)

    try:
        return solve(config.choose)
    except InvalidInput:  # too many outcomes to list all equilibria of: any one is one
        return solve("any")


def nash(root: Root, player: int, config: NashConfig = DEFAULT_NASH) -> Floats:
    """The player's strategy in an equilibrium of the payoffs found; zeros if there were no visits."""
    solved = equilibrium(root, config)
    if solved is None:
        return np.zeros(root.visits.shape[player])
    return np.asarray(solved.x if player == 0 else solved.y)


def is_informative(root: Root, method: str = "nash", config: NashConfig = DEFAULT_NASH) -> bool:
    """Whether there is something to learn from a search by this policy.

    There is not if the search found no difference between the payoffs of any pairs, for either player; for ``nash``
    also if no outcome of some player has enough visits.
    """
    if not root.visits.any() or equilibria.constant(root.payoffs):
        return False
    if method != "nash":
        return True
    solved = equilibrium(root, config)
    return solved is not None and solved.enough_visits


def check_method(method: str, known: Sequence[str] = METHODS) -> None:
    """Raise a ValueError that lists the known methods unless ``method`` is one of them."""
    if method not in known:
        raise ValueError(f"unknown policy method {method!r}; the methods are {', '.join(known)}")


def outcome_weights(root: Root, player: int, method: str, config: NashConfig = DEFAULT_NASH) -> Floats:
    """Unnormalised weights of a player's outcomes by a policy method."""
    check_method(method)
    if method == "visits":
        return marginal(root.visits, player)
    if method == "pruned":
        return marginal(pruned_visits(root), player)
    if method == "improved":
        return improved(root, player)
    if method == "nash":
        return nash(root, player, config)
    if root.average is not None:
        return root.average[player].astype(np.float64)
    if root.config.selection in ("regret", "exp3"):
        return marginal(root.visits, player)  # one player chooses here: nothing to mix
    raise ValueError('policy method "average" needs the search setting selection="regret" or "exp3"')


def tempered(weights: Floats, temperature: float) -> Floats:
    """Normalise weights ** (1 / temperature) to probabilities; temperature must be above 0."""
    if temperature != 1:
        positive = weights > 0
        logs = np.log(weights[positive] / weights.max())
        weights = np.zeros_like(weights)
        with np.errstate(over="ignore"):  # of a tiny temperature: the largest weight alone is left
            weights[positive] = np.exp(logs / temperature)
    return np.asarray(weights / weights.sum())
