"""Evaluation under the game's symmetries."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.engine.batch import Batch, Evaluation, PerPlayer, split
from ramify.engine.batching import backend_of
from ramify.engine.config import c_puct_of
from ramify.evaluators.pending import (
    Later,
    Pending,
    Submitting,
    as_logits,
    checked,
    policies,
    submit,
    version_of,
)
from ramify.games import Game
from ramify.games.registry import checked_game

Rows = NDArray[np.intp]


class Symmetries(Submitting):
    """Evaluates images of a position under the game's symmetries with ``inner`` and maps the results back.

    ``mode="average"`` averages probabilities and values over all images, at the cost of one row per image.
    ``mode="random"`` evaluates one image, chosen by the position's key and ``seed``, so that the result of a position
    does not depend on the batch.

    Where a symmetry exchanges the players and one of them acts, the image is seen by the other one and acted on by the
    other one. Where both act, an evaluator is shown player 0's view; the image of that view is player 1's, and stands
    for the same position with the seats exchanged, so the viewer stays first.
    """

    def __init__(self, inner: Any, game: Game, mode: Literal["average", "random"] = "average", seed: int = 0) -> None:
        if mode not in ("average", "random"):
            raise ValueError(f"mode must be 'average' or 'random', not {mode!r}")
        self.inner = checked(inner)
        self.game, self.mode, self.seed = checked_game(game, "Symmetries"), mode, seed
        maps = distinct(game)
        self._observation = np.stack([symmetry.observation for symmetry in maps]).astype(np.intp)
        self._actions = np.stack([symmetry.actions for symmetry in maps]).astype(np.intp)
        self._inverse = np.argsort(self._actions, axis=1)
        self._swaps = np.array([symmetry.swaps_players for symmetry in maps])

    def __len__(self) -> int:
        """Number of distinct images."""
        return len(self._swaps)

    @property
    def version(self) -> Hashable:
        """The version of the inner evaluator."""
        return version_of(self.inner)

    @property
    def backend(self) -> str | None:
        """The ``backend`` of the inner evaluator."""
        return backend_of(self.inner)

    @property
    def c_puct(self) -> float:
        """The ``c_puct`` of the inner evaluator."""
        return c_puct_of(self.inner)

    def submit(self, batch: Batch) -> Pending:
        rows, shape = len(batch), batch.observations.shape[1:]
        if shape != tuple(self.game.observation_shape) or batch.legal.shape[2] != self.game.num_actions:
            raise EvaluatorError(
                f"these are the symmetries of {self.game!r}, with {self.game.num_actions} actions and observations of "
                f"shape {list(self.game.observation_shape)}, not {batch.legal.shape[2]} and {list(shape)}"
            )
        if self.mode == "random":
            drawn = mixed(batch.keys, self.seed & 0xFFFFFFFFFFFFFFFF)
            source, which = np.arange(rows), (drawn % np.uint64(len(self))).astype(np.intp)
        else:
            source, which = np.repeat(np.arange(rows), len(self)), np.tile(np.arange(len(self)), rows)
        swapped: NDArray[np.bool_] = self._swaps[which] & ~(batch.acting[source, 0] & batch.acting[source, 1])
        images = self._images(batch, source, which, swapped)
        legal = batch.legal.copy()
        pending = submit(self.inner, images)

        def finish() -> Evaluation:
            logits, values = self._turned_back(split(pending.result(), images), which, swapped)
            if self.mode == "random":
                return Evaluation(logits, values)
            shares = policies(logits, legal[source]).reshape(rows, len(self), *legal.shape[1:])
            means = values.astype(np.float64).reshape(rows, len(self), 2).mean(axis=1)
            return Evaluation(as_logits(shares.mean(axis=1), legal), means.astype(np.float32))

        return Later(finish)

    def _images(self, batch: Batch, source: Rows, which: Rows, swapped: NDArray[np.bool_]) -> Batch:
        flat = batch.observations.reshape(len(batch), -1)[source]
        observations = np.take_along_axis(flat, self._observation[which], axis=1)
        legal = np.take_along_axis(batch.legal[source], self._inverse[which][:, None], axis=2)
        acting = batch.acting[source]
        legal[swapped], acting[swapped] = legal[swapped, ::-1], acting[swapped, ::-1]
        return Batch(
            observations.reshape(len(source), *batch.observations.shape[1:]),
            legal,
            acting,
            # The key of the image is unknown here. For a cache it is enough that different images have different keys.
            np.where(which == 0, batch.keys[source], mixed(batch.keys[source], which.astype(np.uint64))),
        )

    def _turned_back(self, answer: PerPlayer, which: Rows, swapped: NDArray[np.bool_]) -> PerPlayer:
        logits = np.take_along_axis(answer[0], self._actions[which][:, None], axis=2)
        values = answer[1].copy()
        logits[swapped], values[swapped] = logits[swapped, ::-1], values[swapped, ::-1]
        return logits, values


def distinct(game: Game) -> list[Any]:
    """The symmetries with distinct images for an evaluator, the identity first.

    Where both act, the viewer stays first, so an exchange of the players alone shows nothing new. If it is a symmetry,
    every other one occurs with and without it: equally often, so that the mean over fewer is the same.
    """
    seen: dict[tuple[bytes, bytes, bool], Any] = {}
    for symmetry in game.symmetries:
        swaps = symmetry.swaps_players and not game.simultaneous
        seen.setdefault((symmetry.observation.tobytes(), symmetry.actions.tobytes(), swaps), symmetry)
    return list(seen.values())


def mixed(keys: NDArray[np.uint64], salt: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys mixed with a salt (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        z = keys + np.uint64(0x9E3779B97F4A7C15) * (np.asarray(salt, np.uint64) + np.uint64(1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        made: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
        return made
