"""Davidson's model of draws. It predicts how often two players draw; ratings do not use it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from ramify.arena.bradley_terry import ELO, Counts, Problem, estimate, probabilities
from ramify.arena.groups import anchor_of, check_counts, groups_of, named


@dataclass(frozen=True)
class DrawModel:
    """Strengths in Davidson's model of wins, draws and losses. With many draws they differ much more than ratings."""

    strengths: Mapping[Hashable, float]  # in units of 400 / ln 10, relative to the anchor of the player's group
    nu: float  # 0 without draws; between equals nu / (2 + nu) of the games are drawn
    advantage: float  # of moving first, in the same units; 0 if it was not estimated
    log_likelihood: float

    def chances(self, first: Hashable, second: Hashable) -> tuple[float, float, float]:
        """Probabilities of a win of the first player, a draw, and a win of the second."""
        apart = (self.strengths[first] - self.strengths[second] + self.advantage) / ELO
        win, draw, loss = probabilities(np.array([apart]), self.nu)
        return float(win[0]), float(draw[0]), float(loss[0])


def draw_model(
    counts: Counts, *, anchor: Hashable | None = None, prior: float = 1.0, advantage: bool = False
) -> DrawModel:
    """Fit the model to these games; settings are those of ``rate``."""
    check_counts(counts, prior)
    players = sorted(named(counts), key=str)
    anchor = anchor_of(counts, anchor)
    groups = groups_of(counts, anchor)
    problem = Problem.of(players, counts, prior, advantage=advantage)
    x, _ = estimate(problem, () if prior else [players.index(group[0]) for group in groups])
    strengths = dict(zip(players, x[: len(players)] * ELO, strict=True))
    above = {player: float(strengths[player] - strengths[group[0]]) for group in groups for player in group}
    moving_first = float(x[len(players)]) * ELO if advantage else 0.0
    return DrawModel(above, problem.split(x)[1], moving_first, problem.value(x))
