"""Sources of evaluations: an evaluator for a game with rules, or a latent model in place of both."""

from __future__ import annotations

import sys
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
    LatentModel,
    LatentOutput,
    as_rows,
    exchanged,
    first_rows,
    new_arrays,
    per_player,
)
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.games import Game, State

Answer = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]  # logits, values, rewards


class Source(Protocol):
    """Creates searches, provides the arrays of their batches, and evaluates the batches.

    Batches in flight at the same time are told apart by their lane: 0, 1, ...
    """

    num_actions: int
    name: str
    overlaps: bool  # whether evaluations run in the background, on a device of their own

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

    def start(self, lane: int, rows: int) -> RawAnswer | None:
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
        if values.ndim == 2 and self._seconds.any():
            logits, values = exchanged(logits, self._seconds, 3), exchanged(values, self._seconds, 2)
        return logits, values, None


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
        self.game = game
        self.evaluator = evaluator  # None: the core evaluates
        self.cache = cache
        self.num_actions = game.num_actions
        self.name = game.name
        self.overlaps = bool(getattr(evaluator, "asynchronous", False))
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
        return logits[:rows], values[:rows], None


class LatentSource:
    """Rows are (latent state, action) pairs, evaluated by the model; latent states are stored here by slot."""

    overlaps = False

    def __init__(self, model: LatentModel) -> None:
        if model.acting not in ("alternating", "single", "both"):
            raise ValueError(
                f"a latent model's attribute acting must be 'alternating', 'single' or 'both', not {model.acting!r}"
            )
        self.model = model
        self.num_actions = int(model.num_actions)
        self.name = type(model).__name__
        self._arrays: dict[int, Arrays] = {}
        self._roots: list[State] = []
        self._latents: list[list[Any]] = []

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        legal = [state.legal_actions(player).tolist() if player in state.acting else [] for player in (0, 1)]
        acting = sum(1 << player for player in state.acting)
        return _core.make_latent_search(
            self.num_actions, self.model.acting, acting, legal[0], legal[1], config.model_dump()
        )

    def begin(self, states: Sequence[State]) -> None:
        self._roots = list(states)
        self._latents = [[] for _ in states]

    def follow_weights(self) -> None:
        pass  # latent states have no keys: nothing is kept

    def arrays(self, lane: int, rows: int) -> Arrays:
        arrays = self._arrays.get(lane)
        if arrays is None or len(arrays["slots"]) < rows:
            self._arrays[lane] = arrays = {
                "legal": np.zeros((rows, 2, self.num_actions), np.uint8),
                "acting": np.zeros((rows, 2), np.uint8),
                "parents": np.zeros(rows, np.int32),
                "actions": np.zeros((rows, 2), np.int32),
                "slots": np.zeros(rows, np.int32),
            }
        return arrays

    def start(self, lane: int, rows: int) -> None:
        del lane, rows  # models are called in the caller's thread

    def answer(self, lane: int, counts: Sequence[int]) -> Answer:
        n, arrays = sum(counts), self._arrays[lane]
        owner = np.repeat(np.arange(len(counts)), counts)
        parents, actions = arrays["parents"][:n], arrays["actions"][:n]
        output = self._initial(owner) if n and parents[0] < 0 else self._recurrent(owner, parents, actions)
        if not all(hasattr(output, name) for name in ("latents", "logits", "values", "rewards")):
            raise _core.EvaluatorError(f"the model must return a LatentOutput, not {type(output).__name__}")
        if not hasattr(output.latents, "__len__") or len(output.latents) != n:
            given = len(output.latents) if hasattr(output.latents, "__len__") else type(output.latents).__name__
            raise _core.EvaluatorError(f"the model must return {n} latent states, not {given}")
        for i, (search, slot) in enumerate(zip(owner, arrays["slots"][:n], strict=True)):
            store = self._latents[search]
            store.extend([None] * (int(slot) + 1 - len(store)))
            store[slot] = output.latents[i]
        return self._per_player(output, arrays["acting"][:n].view(np.bool_), actions)

    def _initial(self, owner: NDArray[np.int64]) -> LatentOutput:
        return self.model.initial(np.stack([self._roots[search].observation(self._viewer(search)) for search in owner]))

    def _viewer(self, search: int) -> int:
        return 0 if 0 in self._roots[search].acting else 1

    def _recurrent(
        self, owner: NDArray[np.int64], parents: NDArray[np.int32], actions: NDArray[np.int32]
    ) -> LatentOutput:
        latents = stack([self._latents[search][slot] for search, slot in zip(owner, parents, strict=True)])
        return self.model.recurrent(latents, actions if self.model.acting == "both" else actions.max(axis=1))

    def _per_player(self, output: LatentOutput, acting: NDArray[np.bool_], actions: NDArray[np.int32]) -> Answer:
        n, zero_sum = len(acting), self.model.acting != "single"
        logits = per_player(output.logits, n, acting, what="logits", actions=self.num_actions, zero_sum=zero_sum)
        values = per_player(output.values, n, acting, what="values", actions=None, zero_sum=zero_sum)
        if output.rewards is None:
            return logits, values, np.zeros((n, 2), np.float32)
        moved = actions >= 0  # the reward belongs to whoever acted on the way here
        rewards = per_player(output.rewards, n, moved, what="rewards", actions=None, zero_sum=zero_sum)
        return logits, values, rewards


def stack(latents: list[Any]) -> Any:
    """Stack latent states to one array of their own type (torch tensors stay torch tensors)."""
    torch = sys.modules.get("torch")  # not imported here: there are torch latents only if the model has imported it
    if torch is not None and isinstance(latents[0], torch.Tensor):
        return torch.stack(latents)
    return np.stack(latents)
