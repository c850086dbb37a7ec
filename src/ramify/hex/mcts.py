"""Neural-guided MCTS for Hex, for one position or for many: an interface to ``ramify.Searcher``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.batch import NativeEvaluator
from ramify.hex.config import MCTSConfig
from ramify.hex.model import SimpleModelInference
from ramify.hex.node import MCTSNode
from ramify.hex.state import HexGameState

log = logging.getLogger("ramify")

# Settings of SearchConfig that have another name here, and what they are called.
RENAMED = {
    "simulations": "the argument num_simulations of search",
    "c_puct": "exploration_constant",
    "graph": "enable_transposition_table",
    "canonical": "enable_transposition_table",
    "max_nodes": "max_table_size",
}


class NeuralMCTS:
    """Searches one position at a time with a new tree and unbatched evaluations.

    ``settings`` are further settings of ``SearchConfig``. Roots stay valid as long as they are referenced.
    """

    def __init__(
        self,
        model: Any,
        exploration_constant: float = 1.4,
        *,
        enable_transposition_table: bool = False,
        max_table_size: int | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        for name, instead in RENAMED.items():
            if name in settings:
                raise ValueError(f"{name} cannot be set here: use {instead}")
        self.model = model if isinstance(model, SimpleModelInference) else SimpleModelInference(model)
        self.exploration_constant = exploration_constant
        config = MCTSConfig(
            exploration_constant=exploration_constant,
            enable_transposition_table=enable_transposition_table,
            max_table_size=max_table_size,
        )
        self.config = SearchConfig(**{**config.search().model_dump(), **settings})
        self.seed = seed
        self.statistics: dict[str, Any] = {}

    def search(self, root_state: HexGameState, num_simulations: int) -> MCTSNode:
        """Search this position, which is not changed; returns the root."""
        state = checked(root_state).state
        result = self._searcher(root_state, num_simulations).run(state)
        self.statistics = statistics(result.stats)
        return make_root(result, root_state)

    def _searcher(self, state: HexGameState, num_simulations: int) -> Searcher:
        config = self.config.replace(simulations=num_simulations)
        return Searcher(state.state.game, self.model.evaluator, config, seed=self.seed)


class BatchedNeuralMCTS(NeuralMCTS):
    """NeuralMCTS with ``batch_size`` leaves per batch, and searches of many positions at once."""

    def __init__(self, model: Any, exploration_constant: float = 1.4, *, batch_size: int = 16, **settings: Any) -> None:
        super().__init__(model, exploration_constant, batch=batch_size, **settings)

    def search_many(self, root_states: Sequence[HexGameState], num_simulations: int) -> list[MCTSNode]:
        """Run independent searches of positions of one board size with shared batches; returns their roots."""
        if not root_states:
            return []
        states = [checked(state).state for state in root_states]
        # As each search alone would begin; evaluators of the core count their random games on from search to search.
        seeds = None if isinstance(self.model.evaluator, NativeEvaluator) else [self.seed] * len(states)
        results = self._searcher(root_states[0], num_simulations).run_many(states, seeds)
        total = {name: sum(result.stats[name] for result in results) for name in COUNTED}
        deepest = max(result.stats["max_depth"] for result in results)
        self.statistics = statistics({**results[0].stats, **total, "max_depth": deepest})
        return [make_root(result, state) for result, state in zip(results, root_states, strict=True)]


COUNTED = ("simulations", "evaluations", "nodes", "transpositions", "full", "bytes")


def checked(state: Any) -> HexGameState:
    """Validate a position; raises a TypeError if it is not one."""
    if not isinstance(state, HexGameState):
        raise TypeError(f"state must be a HexGameState, not {type(state).__name__}")
    return state


def make_root(result: SearchResult, state: HexGameState) -> MCTSNode:
    """The root node of a finished search. At DEBUG, children and the simulations of small searches are logged."""
    root = MCTSNode.root(result, state)
    if log.isEnabledFor(logging.DEBUG):
        for move, child in root.children.items():
            log.debug("Node %s: value=%+.4f, visits=%d", move, child.mean_value, child.visits)
    return root


def statistics(stats: dict[str, Any]) -> dict[str, Any]:
    """Statistics of a search. ``hit_rate``: fraction of new edges whose position was already in the table."""
    created, found = stats["nodes"], stats["transpositions"]
    return {
        "simulations": stats["simulations"],
        "evaluations": stats["evaluations"],
        "seconds": stats["seconds"],
        "simulations_per_second": stats["simulations"] / max(stats["seconds"], 1e-9),
        "tree_size": created,
        "max_depth": stats["max_depth"],
        "bytes": stats["bytes"],
        "table_hits": found,
        "hit_rate": found / max(found + created, 1),
        "table_full": stats["full"] > 0,
    }
