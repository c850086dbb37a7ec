"""Evaluators without a network."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, TypeVar

from ramify._core import EvaluatorError
from ramify.engine.batch import Batch, Evaluation
from ramify.engine.config import SearchConfig
from ramify.engine.native import GreedyRollout, Planner, Rollout, Uniform
from ramify.games import Game

__all__ = ["Function", "GreedyRollout", "Planner", "Rollout", "Uniform", "best_native", "rollouts_of", "suited"]

C = TypeVar("C", bound=SearchConfig)


def rollouts_of(game: Game) -> Rollout:
    """The rollouts that suit a game: games of the greedy player that it knows, otherwise random games."""
    return GreedyRollout() if _knows(game, "greedy_actions") else Rollout()


def best_native(game: Game) -> Rollout:
    """The strongest evaluator of a game without a network: its planner if it has one, else rollouts that suit it."""
    return Planner() if _knows(game, "planned_actions") else rollouts_of(game)


def suited(config: C, evaluator: Any) -> C:
    """The settings of a search, with those that suit its evaluator where none were given."""
    # What is best: docs/decisions/0053-greedy-rollouts.md
    if isinstance(evaluator, GreedyRollout | Planner) and "normalize" not in config.model_fields_set:
        return config.replace(normalize="remaining")
    return config


def _knows(game: Game, method: str) -> bool:
    state = game.initial_state()
    actions = getattr(state, method, None)  # games written in Python have none
    return actions is not None and actions(0 if game.simultaneous else state.current_player) is not None


class Function:
    """An evaluator from a function that maps a batch to (logits, values) or to an Evaluation."""

    def __init__(self, function: Callable[[Batch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable with a batch, not {type(function).__name__}")
        self.function = function

    def evaluate(self, batch: Batch) -> Evaluation:
        """What the function returns for the batch."""
        answer = self.function(batch)
        if isinstance(answer, Evaluation):
            return answer
        if not isinstance(answer, tuple | list) or len(answer) not in (2, 3):  # the third are errors of the values
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise EvaluatorError(f"{name} has to return (logits, values), not {reprlib.repr(answer)}")
        return Evaluation(*answer)
