"""Sources of evaluations: an evaluator for a game with rules. Latent models are in ``latent_source.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.engine.batch import Arrays, Evaluation, Evaluator, first_rows, new_arrays, split
from ramify.engine.config import SearchConfig
from ramify.games import Game, State

Answer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]  # logits, values, rewards


class Source(Protocol):
    """Creates searches, provides the arrays of their batches, and evaluates the batches."""

    num_actions: int
    name: str

    def new_search(self, state: State, config: SearchConfig) -> _core.Search: ...
    def begin(self, states: Sequence[State]) -> None:
        """Prepare for new searches from these root states."""
        ...

    def arrays(self, rows: int) -> Arrays:
        """Arrays with at least this many rows."""
        ...

    def answer(self, rows: Sequence[int]) -> Answer:
        """Evaluate the first rows; ``counts`` says how many belong to each search, in order."""
        ...


class RulesSource:
    """Rows are positions, evaluated by an evaluator."""

    def __init__(self, game: Game, evaluator: Evaluator | None) -> None:
        self.game = game
        self.evaluator = evaluator  # None: the core answers itself
        self.num_actions = game.num_actions
        self.name = game.name
        self._arrays: Arrays = {}
        self._rows = 0

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        settings = config.model_dump()
        if isinstance(state, _core.State):
            return _core.make_search(state.copy(), settings)
        return _core.make_python_search(state.copy(), settings)

    def begin(self, states: Sequence[State]) -> None:
        pass  # positions speak for themselves

    def arrays(self, rows: int) -> Arrays:
        if rows > self._rows:
            self._rows = rows
            self._arrays = new_arrays(rows, self.game.observation_shape, self.num_actions)
        return self._arrays

    def answer(self, rows: Sequence[int]) -> Answer:
        assert self.evaluator is not None
        batch = first_rows(self._arrays, sum(rows))
        answer = self.evaluator.evaluate(batch)
        try:
            logits, values = answer.logits, answer.values
        except AttributeError:
            raise _core.EvaluatorError(
                f"evaluate() must return an Evaluation with logits and values, not {type(answer).__name__}"
            ) from None
        return *split(Evaluation(logits, values), batch), None
