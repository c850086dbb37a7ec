"""Evaluators from objects with ``predict(game)``, which evaluate one position at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.engine.batch import Batch, Evaluator, NativeEvaluator
from ramify.evaluators import Function, Uniform
from ramify.games import Game, State
from ramify.pyrat.game import PyRatGame

IMPOSSIBLE = -1e9  # logit of an action whose outcome another action stands for


class Predictor(Protocol):
    """What a search asks about a position.

    A policy has one probability per outcome of the player (``game.effective_outcomes_p1()``), or one per action; the
    probabilities of actions with the same effect are added. Values are the cheese that each player still expects.
    """

    def predict(self, game: PyRatGame) -> tuple[ArrayLike, ArrayLike, float, float]:
        """Policies of both players over their outcomes, and the values of both."""
        ...


def evaluator_of(nn: Predictor | Evaluator | NativeEvaluator | None, root: State) -> Evaluator | NativeEvaluator:
    """The evaluator of searches from ``root``: ``nn`` itself if it is one, else its ``predict``.

    None is the uniform policy over outcomes with values 0.
    """
    if nn is None:
        return Uniform()
    if isinstance(nn, NativeEvaluator) or hasattr(nn, "evaluate"):
        evaluator: Evaluator | NativeEvaluator = nn  # type: ignore[assignment]
        return evaluator
    if not hasattr(nn, "predict"):
        raise TypeError(f"nn must have a method predict(game) or evaluate(batch); {type(nn).__name__} has neither")
    game, fields = root.game, root.fields  # type: ignore[attr-defined]  # of a native state
    return Function(lambda batch: _predict_batch(nn, game, fields, batch))


def game_of(observation: NDArray[np.float32], game: Game, start: Mapping[str, Any]) -> PyRatGame:
    """The position that player 0 observes so, given the ``fields`` of an earlier one of the same game."""
    fields = dict(start)
    total, max_turns = fields["total"], fields["max_turns"]
    own, other, cheese = observation[:3]
    muds, scores = observation[11:13, 0, 0], observation[13:15, 0, 0]
    fields.update(
        p1=_cells(own)[0],
        p2=_cells(other)[0],
        cheese=_cells(cheese),
        mud1=round(4 * float(muds[0])),
        mud2=round(4 * float(muds[1])),
        score1=round(2 * total * float(scores[0])) / 2,
        score2=round(2 * total * float(scores[1])) / 2,
        turn=max_turns - round(64 * float(observation[17, 0, 0])),
        misses1=0,  # a statistic of the way here, which observations do not have
        misses2=0,
    )
    state: State = game.state(**fields)  # type: ignore[attr-defined]
    return PyRatGame(state)


def _cells(plane: NDArray[np.float32]) -> list[list[int]]:
    return [[int(x), int(y)] for y, x in np.argwhere(plane > 0)]


def _predict_batch(
    nn: Predictor, rules: Game, start: Mapping[str, Any], batch: Batch
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    logits = np.full(batch.legal.shape, IMPOSSIBLE, np.float32)
    values = np.zeros((len(batch), 2), np.float32)
    for row, observation in enumerate(batch.observations):
        game = game_of(observation, rules, start)
        policy1, policy2, *answer = nn.predict(game)
        values[row] = answer
        for player, policy in enumerate((policy1, policy2)):
            actions, index = game.state.outcomes(player)
            logits[row, player, actions] = _logits(np.asarray(policy, np.float64), actions, index, player)
    return logits, values


def _logits(
    policy: NDArray[np.float64], actions: NDArray[np.int32], index: NDArray[np.int32], player: int
) -> NDArray[np.float64]:
    """Logarithms of the probabilities of a player's outcomes."""
    if policy.shape not in ((len(actions),), (len(index),)):
        raise ValueError(
            f"predict must give player {player + 1} one probability per outcome ({len(actions)}) or per action "
            f"({len(index)}), not an array of shape {list(policy.shape)}"
        )
    if not (policy >= 0).all() or not policy.sum() > 0:
        raise ValueError(f"predict must give player {player + 1} probabilities, not {policy.tolist()}")
    sums = policy if len(policy) == len(actions) else np.bincount(index, policy, len(actions))
    return np.asarray(np.log(np.maximum(sums / sums.sum(), 1e-30)))
