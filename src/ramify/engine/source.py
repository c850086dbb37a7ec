"""Sources of evaluations: an evaluator for a game with rules. Latent models are in ``latent_source.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.engine.batch import (
    Arrays,
    Batch,
    Evaluation,
    Evaluator,
    as_rows,
    exchanged,
    first_rows,
    new_arrays,
    with_errors,
)
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.games import Game, State
from ramify.games.registry import other_reward

Answer = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]  # logits, values, rewards


class Waiting(Protocol):
    """An evaluation in progress."""

    def result(self) -> Answer: ...


class Source(Protocol):
    """Creates searches, provides the arrays of their batches, and evaluates the batches.

    Batches in flight at the same time are told apart by their lane: 0, 1, ...
    """

    num_actions: int
    name: str
    overlaps: bool  # whether evaluations run in the background, on a device of their own
    concurrent: bool  # whether batches of several lanes may be evaluated at once, each in a thread of its own

    def new_search(self, state: State, config: SearchConfig) -> _core.Search: ...
    def begin(self, states: Sequence[State]) -> None:
        """Prepare for new searches from these root states."""
        ...

    def follow_weights(self) -> None:
        """Forget evaluations by earlier weights; called before leaves are gathered and before they are absorbed."""
        ...

    def arrays(self, lane: int, rows: int) -> Arrays:
        """The arrays of this lane, with at least this many rows."""
        ...

    def start(self, lane: int, rows: int) -> Waiting | None:
        """Start evaluating the first rows in the background; None if that is not possible."""
        ...

    def answer(self, lane: int, counts: Sequence[int]) -> Answer:
        """Evaluate the first rows; ``counts`` says how many belong to each search, in order."""
        ...


class RawAnswer:
    """Rows that are being evaluated on a device; ``handle()`` waits for their logits and values, viewer first."""

    def __init__(self, handle: Callable[[], tuple[NDArray[Any], NDArray[Any]]], batch: Batch, rows: int) -> None:
        self._handle, self._rows = handle, rows
        self._seconds = batch.acting[:rows, 1] & ~batch.acting[:rows, 0]  # rows in which the viewer is player 1

    def result(self) -> Answer:
        logits, values = (array[: self._rows] for array in self._handle())
        if values.ndim >= 2 and self._seconds.any():
            logits, values = exchanged(logits, self._seconds, 3), exchanged(values, self._seconds, values.ndim)
        return logits, values, None


def check_reward(game: Game, evaluator: Evaluator | None) -> None:
    """Raise a ValueError if an evaluator says that its values are of another reward of the game."""
    trained = getattr(evaluator, "reward", None)
    if (given := other_reward(game, trained)) is not None:
        raise ValueError(
            f"the network was trained for {game.name} with reward={trained!r}, not reward={given!r}: its values mean "
            f"something else; make({game.name!r}, reward={trained!r}, ...) is the game that it knows"
        )


class RulesSource:
    """Rows are positions, evaluated by an evaluator.

    ``fixed_rows`` pads every batch to one size, for evaluators whose rounding depends on the size.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | None,
        fixed_rows: int | None = None,
        cache: EvaluationCache | None = None,
    ) -> None:
        check_reward(game, evaluator)
        self.game = game
        self.evaluator = evaluator  # None: the core evaluates
        self.cache = cache
        self.num_actions = game.num_actions
        self.name = game.name
        self.overlaps = bool(getattr(evaluator, "asynchronous", False))
        self.concurrent = bool(getattr(evaluator, "concurrent", False))
        self._fixed = fixed_rows
        self._arrays: dict[int, Arrays] = {}

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        settings = config.model_dump()
        if isinstance(state, _core.State):
            search = _core.make_search(state.copy(), settings)
        else:
            search = _core.make_python_search(state.copy(), settings)
        if self.cache is not None:
            search.use_cache(self.cache.core)
        return search

    def begin(self, states: Sequence[State]) -> None:
        pass  # rows contain all that is needed

    def follow_weights(self) -> None:
        if self.cache is not None:
            self.cache.follow()

    def arrays(self, lane: int, rows: int) -> Arrays:
        arrays = self._arrays.get(lane)
        if arrays is None or len(arrays["keys"]) < rows:
            legal = bool(getattr(self.evaluator, "needs_legal", True))
            arrays = new_arrays(rows, self.game.observation_shape, self.num_actions, legal)
            prepare = getattr(self.evaluator, "prepare_arrays", None)  # memory of its own, such as pinned
            self._arrays[lane] = arrays = prepare(arrays) if prepare is not None else arrays
        return arrays

    def start(self, lane: int, rows: int) -> RawAnswer | None:
        if not self.overlaps:
            return None
        batch = first_rows(self._arrays[lane], self._fixed or rows)
        return RawAnswer(self.evaluator.submit_raw(batch), batch, rows)  # type: ignore[union-attr]

    def answer(self, lane: int, counts: Sequence[int]) -> Answer:
        assert self.evaluator is not None
        rows = sum(counts)
        batch = first_rows(self._arrays[lane], self._fixed or rows)
        answer = self.evaluator.evaluate(batch)
        try:
            logits, values = answer.logits, answer.values
        except AttributeError:
            raise _core.EvaluatorError(
                f"evaluate() must return an Evaluation with logits and values, not {type(answer).__name__}"
            ) from None
        logits, values = as_rows(Evaluation(logits, values), batch, self.num_actions)
        if (errors := getattr(answer, "errors", None)) is not None:
            values = with_errors(values, errors)
        return logits[:rows], values[:rows], None
