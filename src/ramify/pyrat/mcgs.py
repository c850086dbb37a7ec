"""Monte-Carlo graph search for PyRat: ``search(root, game, num_simulations)`` over ``ramify.Searcher``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ramify.engine import SearchConfig, Searcher
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.pyrat.game import PyRatGame
from ramify.pyrat.node import Graph, Node
from ramify.pyrat.predict import Predictor, evaluator_of

FPU_OFFSET = 0.1  # how far an outcome that was never tried counts below its node's value


def new_root(
    game: PyRatGame,
    nn: Predictor | Evaluator | NativeEvaluator | None = None,
    *,
    c_puct: float = 1.0,
    fpu_offset: float = FPU_OFFSET,
) -> Node:
    """The root of a new search from the game's position, not evaluated yet.

    ``nn``: any object with ``predict(game)``, or an evaluator; None is a uniform policy and values of 0.
    """
    config = SearchConfig(
        c_puct=c_puct,
        fpu_offset=fpu_offset,
        fpu="parent",
        parent_visits="edges",
        opponent_weights="conditional",
        graph=True,
        batch=1,
        in_flight=1,
    )
    state = PyRatGame.state_of(game)
    searcher = Searcher(state.game, evaluator_of(nn, state), config)
    return Graph(searcher, state).view(state, [])


def search(root: Node, game: PyRatGame, num_simulations: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Run simulations from ``root``, whose position ``game`` must have; returns the visit distributions of the players.

    The first simulation of a root only evaluates it. A second call continues where the first one ended. ``game`` is
    not changed.
    """
    if not isinstance(root, Node):
        raise TypeError(f"root must be a Node, made by new_root(game); it is a {type(root).__name__}")
    graph = root._graph
    if root._path:
        raise ValueError("search begins at the root of a graph: make one for this position with new_root(game)")
    if game.key != root._state.key:
        raise ValueError("game has another position than root: make a root for it with new_root(game)")
    graph.run(num_simulations)
    return get_visit_distribution(root)


def get_visit_distribution(node: Node) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of visits of each player's outcomes, [n1] and [n2]; the priors of a node without visits."""
    total = node.total_visits
    if total:
        return node.marginal_visits_p1 / total, node.marginal_visits_p2 / total
    prior1, prior2 = node.prior_p1, node.prior_p2
    if prior1 is None or prior2 is None:
        raise ValueError("the node has no policy: it is not evaluated yet, or the game is over there")
    return prior1.astype(np.float64), prior2.astype(np.float64)
