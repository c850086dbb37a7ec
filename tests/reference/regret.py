"""Learning rules of a position where both choose, in plain Python: what regret matching+ and Exp3 do after a visit.

Unlike the other modules this is no whole search: the caller says which pair was visited and what the pairs are worth
by now (nan where never tried). A player's learnt numbers and averages are kept in float32, as the engine keeps them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _known(table: Any, player: int, evaluation: Any) -> Floats:
    """A player's table with its own outcomes down; pairs never tried are worth the evaluation."""
    payoffs = np.asarray(table[player], np.float64)
    filled = np.where(np.isnan(payoffs), float(evaluation[player]), payoffs)
    return filled if player == 0 else filled.T


class Rule:
    """Both players' numbers. ``priors`` and ``evaluation`` are per player."""

    def __init__(self, priors: Any, evaluation: Any) -> None:
        self.priors: list[Floats] = [np.asarray(row, np.float64) / np.asarray(row, np.float64).sum() for row in priors]
        self.evaluation = evaluation
        self.learnt = [np.zeros(len(row), np.float32) for row in self.priors]
        self.sums = [np.zeros(len(row), np.float32) for row in self.priors]
        self.rounds = 0

    def average(self, player: int) -> Floats:
        """The player's average strategy; its priors before the first round."""
        if not self.rounds:
            return self.priors[player]
        sums = self.sums[player].astype(np.float64)
        return np.asarray(sums / sums.sum())

    def value(self, table: Any, player: int) -> float:
        """What the average strategies bring the player against each other."""
        own, other = self.average(player), self.average(1 - player)
        return float(own @ _known(table, player, self.evaluation) @ other)

    def _add(self, player: int, strategy: Floats, weight: float) -> None:
        old = self.sums[player].astype(np.float64)
        self.sums[player] += (weight * (strategy - old)).astype(np.float32)


class RegretMatching(Rule):
    """Regret matching+ on the whole table, the players one after the other, with averages that weigh round t by t."""

    def strategy(self, player: int) -> Floats:
        regrets = self.learnt[player].astype(np.float64)
        return np.asarray(regrets / regrets.sum()) if regrets.sum() > 0 else self.priors[player]

    def learn(self, pair: tuple[int, int], table: Any) -> None:
        """One round; the pair does not matter but for what it changed in the table."""
        self.rounds += 1
        before = self.strategy(0), self.strategy(1)
        for player in (0, 1):
            # Player 1 already meets what player 0 has become.
            opposed = before[1] if player == 0 else self.strategy(0)
            values = _known(table, player, self.evaluation) @ opposed
            regrets = self.learnt[player].astype(np.float64) + values - before[player] @ values
            self.learnt[player] = np.maximum(0.0, regrets).astype(np.float32)
            self._add(player, before[player], 2 / (self.rounds + 1))


class Exp3(Rule):
    """Exponential weights on what the visited pair brought, divided by how likely the player was to choose it."""

    def __init__(self, priors: Any, evaluation: Any, exploration: float) -> None:
        super().__init__(priors, evaluation)
        self.exploration = exploration

    def strategy(self, player: int) -> Floats:
        weights = self.learnt[player].astype(np.float64)
        powers = self.priors[player] * np.exp(weights - weights.max())
        return np.asarray(powers / powers.sum())

    def learn(self, pair: tuple[int, int], table: Any) -> None:
        """One round with the pair that was visited."""
        self.rounds += 1
        for player in (0, 1):
            strategy, chosen = self.strategy(player), pair[player]
            self._add(player, strategy, 1 / self.rounds)
            known = np.append(np.asarray(table[player], np.float64).ravel(), float(self.evaluation[player]))
            low, high = np.nanmin(known), np.nanmax(known)
            gain = (float(table[player][pair]) - low) / (high - low) if high > low else 0.0
            drawn = (1 - self.exploration) * strategy[chosen] + self.exploration / len(strategy)
            self.learnt[player][chosen] += np.float32(self.exploration * gain / (drawn * len(strategy)))
