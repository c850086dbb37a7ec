"""Evaluators without a network: numbers that depend on the position's key and on nothing else.

One evaluator serves both sides of a comparison: called with a state it answers a transcription, and its
``evaluate(batch)`` answers the engine. The first is written over Python integers and the second over numpy
arrays; a test holds them equal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.games.protocol import State

from .numbers import round_prior

_MASK = (1 << 64) - 1
_VALUE = 1 << 32  # stands where the action stands, and is none
_ERROR = 2 << 32  # likewise
_FloatArray = NDArray[np.float32]


def splitmix64(x: int) -> int:
    """The 64-bit mixer of Steele, Lea and Flood."""
    z = (x + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def mix(*words: int) -> int:
    """One 64-bit number out of several."""
    mixed = 0
    for word in words:
        mixed = splitmix64(mixed ^ word)
    return mixed


def unit(bits: int) -> np.float32:
    """Strictly between -1 and 1, from the upper 24 bits: an odd multiple of 2^-24, exact in float32."""
    return np.float32((2 * (bits >> 40) + 1 - (1 << 24)) / (1 << 24))


def _splitmix64_array(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _unit_array(bits: NDArray[np.uint64]) -> _FloatArray:
    odd = 2 * (bits >> np.uint64(40)).astype(np.int64) + 1 - (1 << 24)
    return (odd / (1 << 24)).astype(np.float32)


class Evaluation(NamedTuple):
    """Logits [B, 2, num_actions] and values [B, 2], or one row of each."""

    logits: _FloatArray
    values: _FloatArray


class EvaluationWithErrors(NamedTuple):
    """An evaluation with the expected squared errors of its values."""

    logits: _FloatArray
    values: _FloatArray
    errors: _FloatArray


class HashEvaluator:
    """Values in (-1, 1) and logits in (-2, 2) of legal actions (0 elsewhere), drawn from the key.

    With ``errors``, expected squared errors in (0, 1) as well.
    """

    def __init__(self, seed: int = 0, zero_sum: bool = True, errors: bool = False) -> None:
        self.seed, self.zero_sum, self.errors = seed, zero_sum, errors

    def __call__(self, state: State) -> Any:
        logits = np.zeros((2, state.game.num_actions), dtype=np.float32)
        values = np.zeros(2, dtype=np.float32)
        for player in (0, 1):
            values[player] = unit(mix(self.seed, state.key, player, _VALUE))
            if player in state.acting:
                for action in map(int, state.legal_actions(player)):
                    logits[player, action] = 2 * unit(mix(self.seed, state.key, player, action))
        if self.zero_sum:
            values[1] = -values[0]
        if not self.errors:
            return Evaluation(logits, values)
        errors = [abs(unit(mix(self.seed, state.key, player, _ERROR))) for player in (0, 1)]
        return EvaluationWithErrors(logits, values, np.array(errors, dtype=np.float32))

    def evaluate(self, batch: Any) -> Any:
        """The same numbers for ``batch.keys`` (uint64[B]) and ``batch.legal`` (bool[B, 2, num_actions])."""
        keys = _splitmix64_array(np.asarray(batch.keys, dtype=np.uint64) ^ np.uint64(mix(self.seed)))
        players = _splitmix64_array(keys[:, None] ^ np.arange(2, dtype=np.uint64))
        actions = np.arange(batch.legal.shape[2], dtype=np.uint64)
        logits = 2 * _unit_array(_splitmix64_array(players[:, :, None] ^ actions))
        values = _unit_array(_splitmix64_array(players ^ np.uint64(_VALUE)))
        if self.zero_sum:
            values[:, 1] = -values[:, 0]
        logits = np.where(batch.legal, logits, np.float32(0))
        if not self.errors:
            return Evaluation(logits, values)
        return EvaluationWithErrors(logits, values, np.abs(_unit_array(_splitmix64_array(players ^ np.uint64(_ERROR)))))


def outcome_actions(state: State, player: int) -> list[int]:
    """Outcome -> action; a player who does not act has the one outcome -1."""
    return [int(a) for a in state.outcomes(player)[0]] if player in state.acting else [-1]


def outcome_priors(
    state: State, player: int, logits: _FloatArray, priors_from_logits: Callable[[_FloatArray], _FloatArray]
) -> list[np.float32]:
    """The player's prior over outcomes, rounded: an outcome's actions are summed in float32, ascending."""
    if player not in state.acting:
        return [np.float32(1)]
    legal = state.legal_actions(player)
    probabilities = priors_from_logits(logits[player][legal])
    actions, outcome_of = state.outcomes(player)
    sums = np.zeros(len(actions), dtype=np.float32)
    for action, probability in zip(legal, probabilities, strict=True):
        sums[outcome_of[action]] += probability
    return [round_prior(p) for p in sums]
