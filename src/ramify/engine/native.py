"""Evaluators built into the compiled core, and the one that a search without an evaluator uses."""

from __future__ import annotations

import re

import numpy as np

from ramify.base.hints import did_you_mean
from ramify.engine.batch import Batch, Evaluation, NativeEvaluator

DEFAULT_EVALUATOR = "rollout"  # in Python, on the command line and for players alike


class Uniform(NativeEvaluator):
    """Uniform priors and value 0. Runs inside the core."""

    rollouts = 0

    def evaluate(self, batch: Batch) -> Evaluation:
        """Equal logits and values of 0."""
        return Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))

    def __repr__(self) -> str:
        return "Uniform()"


class Rollout(NativeEvaluator):
    """Uniform priors; the value is the mean return of ``games`` random games. Runs inside the core."""

    c_puct = 3.0  # measured: docs/decisions/0031-exploration-by-evaluator.md
    knowledge = "random games"  # what a search goes by, for people

    def __init__(self, games: int = 1) -> None:
        if isinstance(games, bool) or not isinstance(games, int) or not 1 <= games < 2**31:
            raise ValueError(f"games must be a whole number of at least 1, not {games!r}")
        self.rollouts = games

    def __repr__(self) -> str:
        return f"Rollout({self.rollouts})"


class GreedyRollout(Rollout):
    """The value is the mean return of ``games`` games between greedy players. Runs inside the core.

    A share of the prior, ``prior``, goes to the actions of the greedy player; the rest is uniform. For games that know
    such a player (``state.greedy_actions``): in PyRat it goes to the nearest cheese.
    """

    c_puct = 0.8  # measured: docs/decisions/0053-greedy-rollouts.md
    greedy = True
    knowledge = "games of greedy players"

    def __init__(self, games: int = 1, prior: float = 0.5) -> None:
        super().__init__(games)
        self.prior = _checked_share(prior)

    def __repr__(self) -> str:
        return f"GreedyRollout({self.rollouts}, prior={self.prior:g})"


class Planner(Rollout):
    """The value is what players expect who choose well where to go first. Runs inside the core, without chance.

    In PyRat each player has up to four goals: the nearest pieces of cheese, those first that the other player does not
    reach before. The rest of the game is played for every pair of goals; after these, both go for the nearest piece.
    Each player chooses the goal whose worst result is the best. Half of the share ``prior`` of the prior goes to the
    steps that lead to such goals (``state.planned_actions``), half to those of the greedy player; the rest is uniform.
    """

    c_puct = 0.8
    knowledge = "plans"
    planner = True

    def __init__(self, prior: float = 0.5) -> None:
        super().__init__(1)
        self.prior = _checked_share(prior)

    def __repr__(self) -> str:
        return f"Planner(prior={self.prior:g})"


def _checked_share(prior: float) -> float:
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0 <= prior < 1:
        raise ValueError(f"prior must be a number from 0 to less than 1, not {prior!r}")
    return float(prior)


ROLLOUTS: dict[str, type[Rollout]] = {"rollout": Rollout, "greedy": GreedyRollout, "planner": Planner}  # by name
NAMES = ("uniform", *ROLLOUTS)
EVALUATORS = re.compile(r"uniform|planner|(?P<name>rollout|greedy)(:(?P<games>[1-9][0-9]{0,8}))?")


def named_evaluator(text: str = DEFAULT_EVALUATOR) -> NativeEvaluator:
    """The evaluator named uniform, rollout, rollout:N, greedy, greedy:N or planner; a ValueError for any other name."""
    if (match := EVALUATORS.fullmatch(text)) is None:
        name = text.partition(":")[0]
        hint = "" if name in NAMES else did_you_mean(name, NAMES, before="; ")
        raise ValueError(
            f"the evaluator must be uniform, rollout, rollout:N, greedy, greedy:N or planner, not {text!r}{hint}"
        )
    if text in ("uniform", "planner"):
        return Uniform() if text == "uniform" else Planner()
    return ROLLOUTS[match["name"]](int(match["games"] or 1))
