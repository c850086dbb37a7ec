"""Evaluators without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramify.engine.batch import Batch, Evaluation
from ramify.engine.native import GreedyRollout, Rollout, Uniform
from ramify.games import Game

__all__ = ["Function", "GreedyRollout", "Rollout", "Uniform", "rollouts_of"]


def rollouts_of(game: Game) -> Rollout:
    """The rollouts that suit a game: games of the greedy player that it knows, otherwise random games."""
    state = game.initial_state()
    greedy = getattr(state, "greedy_actions", None)  # games written in Python have none
    known = greedy is not None and greedy(0 if game.simultaneous else state.current_player) is not None
    return GreedyRollout() if known else Rollout()


class Function:
    """An evaluator from a function that maps a batch to (logits, values) or to an Evaluation."""

    def __init__(self, function: Callable[[Batch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable with a batch, not {type(function).__name__}")
        self.function = function

    def evaluate(self, batch: Batch) -> Evaluation:
        """What the function returns for the batch."""
        answer = self.function(batch)
        return answer if isinstance(answer, Evaluation) else Evaluation(*answer)
