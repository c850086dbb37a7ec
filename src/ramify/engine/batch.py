"""Inputs and outputs of evaluators, in batches with one row per position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.games import State


@dataclass(frozen=True)
class Batch:
    """Positions to evaluate. Observations are from the view of the acting player (player 0 where both act)."""

    observations: NDArray[np.float32]  # [B, *game.observation_shape]
    legal: NDArray[np.bool_]  # [B, 2, num_actions]
    acting: NDArray[np.bool_]  # [B, 2]
    keys: NDArray[np.uint64]  # [B]

    def __len__(self) -> int:
        return len(self.acting)


Arrays = dict[str, NDArray[Any]]  # of a batch by name, as the compiled core writes them


def new_arrays(rows: int, observation_shape: Sequence[int], num_actions: int, legal: bool = True) -> Arrays:
    """Allocate the arrays of a batch with ``rows`` rows; ``legal`` is omitted for evaluators that do not need it."""
    arrays: Arrays = {
        "observations": np.zeros((rows, *observation_shape), np.float32),
        "acting": np.zeros((rows, 2), np.uint8),
        "keys": np.zeros(rows, np.uint64),
    }
    if legal:
        arrays["legal"] = np.zeros((rows, 2, num_actions), np.uint8)
    return arrays


def first_rows(arrays: Arrays, rows: int) -> Batch:
    """A Batch with views of the first rows of ``arrays``."""
    legal = arrays["legal"][:rows].view(np.bool_) if "legal" in arrays else np.zeros((rows, 2, 0), np.bool_)
    acting = arrays["acting"][:rows].view(np.bool_)
    return Batch(arrays["observations"][:rows], legal, acting, arrays["keys"][:rows])


def batch_of(states: Sequence[State]) -> Batch:
    """A Batch of positions of one game; none of them may be over."""
    viewers = [0 if 0 in state.acting else 1 for state in states]
    shape = (len(states), 2, states[0].game.num_actions)
    legal, acting = np.zeros(shape, np.bool_), np.zeros(shape[:2], np.bool_)
    for row, state in enumerate(states):
        for player in state.acting:
            acting[row, player] = True
            legal[row, player, state.legal_actions(player)] = True
    observations = np.stack([state.observation(viewer) for state, viewer in zip(states, viewers, strict=True)])
    keys = np.array([state.key for state in states], np.uint64)
    return Batch(observations.astype(np.float32, copy=False), legal, acting, keys)


@dataclass(frozen=True)
class Evaluation:
    """Policy logits and values per player. In turn-based games, one row per position is read as the acting player's."""

    logits: Any  # [B, 2, num_actions] or [B, num_actions]
    values: Any  # [B, 2] or [B]
    errors: Any = None  # expected squares of the errors of the values, [B, 2] or [B]; None: not predicted


@runtime_checkable
class Evaluator(Protocol):
    """Anything that evaluates a batch of positions.

    Optional attribute: ``concurrent = True`` says that several threads may call ``evaluate`` at once; then self-play
    evaluates the batches of both halves of its games at once.
    """

    def evaluate(self, batch: Batch) -> Evaluation:
        """Logits and values for every position of the batch."""
        ...


class NativeEvaluator:
    """An evaluator built into the compiled core: ``rollouts`` games per leaf, or value 0 without rollouts.

    The games are played at random, or by the greedy player that the game knows; or no games are played, and the value
    is what the game's planner expects.
    """

    rollouts: int = 0
    greedy: bool = False
    prior: float = 0.0  # the share of the prior that the actions of these players have
    planner: bool = False


@dataclass(frozen=True)
class LatentOutput:
    """Output of a latent model: one row per latent state."""

    latents: Sequence[Any]  # [B, ...], any array type
    logits: Any  # as in Evaluation
    values: Any
    rewards: Any = None  # [B, 2], or [B] for the player who acted; None from ``initial``


@runtime_checkable
class LatentModel(Protocol):
    """A learned model of a game (MuZero), searched in place of its rules.

    The latent states that it returns are kept in one array of the same type: torch tensors stay on their device. What
    is no array becomes a numpy array of objects.

    Optional attributes: ``input_device`` is a torch device on which observations and actions are given as tensors
    (logits, values and rewards may be tensors as well, logits also in bfloat16). ``asynchronous=True`` says that calls
    only queue work on a GPU, so that self-play makes them in its own thread and searches on meanwhile.
    ``capturable=True`` says that ``recurrent`` takes and returns torch tensors and does nothing but queue operations
    whose shapes follow from those of its inputs: it is then called with padded batches, as a part of a CUDA graph.
    """

    num_actions: int
    acting: str  # "alternating", "single" or "both"

    def initial(self, observations: NDArray[np.float32]) -> LatentOutput:
        """Latent states, policies and values of observed positions."""
        ...

    def recurrent(self, latents: Any, actions: NDArray[np.int32]) -> LatentOutput:
        """Actions are [B], or [B, 2] where both act."""
        ...


PerPlayer = tuple[NDArray[np.float32], NDArray[np.float32]]  # logits [B, 2, num_actions], values [B, 2]


def split(evaluation: Evaluation, batch: Batch, actions: int | None = None) -> PerPlayer:
    """Logits and values of both players, from an Evaluation in any of its accepted shapes.

    ``actions`` is the game's number of actions, needed where the batch has no ``legal``.
    """
    rows, actions = len(batch), batch.legal.shape[2] if actions is None else actions
    return (
        per_player(evaluation.logits, rows, batch.acting, what="logits", actions=actions, zero_sum=True),
        per_player(evaluation.values, rows, batch.acting, what="values", actions=None, zero_sum=True),
    )


def as_rows(answer: Evaluation, batch: Batch, actions: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Logits and values in the form the core takes: one row per position where one player acts, else one per player."""
    n = len(batch)
    logits, values = _as_array(answer.logits, "logits"), _as_array(answer.values, "values")
    one_each = logits.shape == (n, actions) and values.shape == (n,) and not batch.acting.all(axis=1).any()
    if one_each and logits.dtype == values.dtype == np.float32:
        return np.ascontiguousarray(logits), np.ascontiguousarray(values)
    return split(answer, batch, actions)


def with_errors(values: NDArray[np.float32], errors: Any) -> NDArray[np.float32]:
    """Values with their expected squared errors, in the form the core takes: [B, 2, 2], or [B, 1, 2] for one player."""
    array = _as_numbers(errors, "errors")
    if array.shape not in (values.shape, values.shape[:1]):
        wanted = " or ".join(str(list(shape)) for shape in dict.fromkeys((values.shape, values.shape[:1])))
        raise EvaluatorError(f"errors must have shape {wanted}, not {list(array.shape)}")
    if values.ndim == 1:
        values, array = values[:, None], array[:, None]
    elif array.ndim == 1:
        array = np.repeat(array[:, None], 2, axis=1)
    return np.ascontiguousarray(np.stack([values, array], axis=2), np.float32)


def exchanged(array: NDArray[Any], rows: NDArray[np.bool_], dimensions: int) -> NDArray[Any]:
    """The array with both players exchanged in these rows; unchanged if it has one row per position."""
    if array.ndim != dimensions or array.shape[1] != 2:
        return array
    array = array.copy()
    array[rows] = array[rows, ::-1]
    return array


def per_player(
    given: Any, rows: int, acting: NDArray[np.bool_], *, what: str, actions: int | None, zero_sum: bool
) -> NDArray[np.float32]:
    """Convert evaluator output to float32 [rows, 2] or [rows, 2, actions]; other shapes raise EvaluatorError.

    One row per position is the acting player's; the other player's value is its negative if ``zero_sum``, else 0.
    """
    array = _as_numbers(given, what)
    tail = () if actions is None else (actions,)
    if array.shape == (rows, 2, *tail):
        return np.ascontiguousarray(array)
    if array.shape != (rows, *tail):
        wanted = f"[{rows}, 2{', ' + str(actions) if actions else ''}]"
        short = f"[{rows}{', ' + str(actions) if actions else ''}]"
        raise EvaluatorError(f"{what} must have shape {wanted} or {short}, not {list(array.shape)}")
    if acting.all(axis=1).any():
        raise EvaluatorError(f"{what} must be given per player where both players act: shape [{rows}, 2, ...]")
    if actions is not None:
        return np.ascontiguousarray(np.repeat(array[:, None], 2, axis=1))
    other = -array if zero_sum else np.zeros_like(array)
    return np.ascontiguousarray(np.where(acting, array[:, None], other[:, None]), dtype=np.float32)


def _as_array(given: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: torch, of a tensor with a gradient
        raise EvaluatorError(f"{what} cannot be converted to numbers: {error}") from error


def _as_numbers(given: Any, what: str) -> NDArray[np.float32]:
    array = _as_array(given, what)
    if np.iscomplexobj(array):
        raise EvaluatorError(f"{what} cannot be converted to numbers: complex numbers are not supported")
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which is refused with its row
            return array.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise EvaluatorError(f"{what} cannot be converted to numbers: {error}") from error
