"""Chance events: outcomes with their probabilities, which of them a Python game draws, and who must do without."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import InvalidInput
from ramify.games.stable import stable_key

MOST_OUTCOMES = 65_535  # of one event: the search counts them in 16 bits
MOST_EVENTS = 10_000  # in a row, before a game is said not to go on
ROUNDING = 1e-6  # by which a sum of probabilities may differ from 1

Event = tuple[NDArray[np.int32], NDArray[np.float64]]  # outcomes and probabilities
NO_EVENT: Event = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64))


def checked_event(given: Iterable[tuple[Any, Any]]) -> Event:
    """Outcomes and probabilities from pairs, in their order; raises a ValueError that says what is wrong."""
    pairs = list(islice(given, MOST_OUTCOMES + 1))
    if len(pairs) > MOST_OUTCOMES:
        raise ValueError(f"returned more than {MOST_OUTCOMES} outcomes")
    try:
        outcomes = [operator.index(outcome) for outcome, _ in pairs]
        weights = [float(probability) for _, probability in pairs]
    except (TypeError, ValueError):
        raise ValueError(
            f"must return pairs (outcome, probability), the outcome a whole number, not {reprlib.repr(pairs)}"
        ) from None
    for outcome, weight in zip(outcomes, weights, strict=True):
        if not 0 <= outcome < 2**31:
            raise ValueError(f"returned outcome {outcome}, but outcomes must be whole numbers from 0 to 2**31 - 1")
        if not 0.0 < weight <= 1.0 + ROUNDING:
            remedy = "leave out what cannot happen" if weight == 0.0 else "it must be above 0 and at most 1"
            raise ValueError(f"returned probability {weight} for outcome {outcome}: {remedy}")
    if len(set(outcomes)) != len(outcomes):
        raise ValueError(f"returned an outcome twice: {reprlib.repr(outcomes)}")
    total = math.fsum(weights)
    if pairs and abs(total - 1.0) > ROUNDING:
        raise ValueError(f"returned probabilities that sum to {total}, not to 1")
    return np.array(outcomes, dtype=np.int32), np.array(weights, dtype=np.float64) / (total or 1.0)


def drawn(event: Event, seed: int, number: int) -> int:
    """The outcome of a game's chance event with that number: a function of the seed and the number alone."""
    outcomes, probabilities = event
    point = stable_key((seed, number)) * 2.0**-64
    place = int(np.searchsorted(np.cumsum(probabilities), point, side="right"))
    return int(outcomes[min(place, len(outcomes) - 1)])


def checked_chance(owner: str, name: str, given: Any) -> int:
    """A seed of chance events, or the number of events so far."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 0 <= given < 2**63:
        raise InvalidInput(f"{owner}: {name} must be a whole number from 0 to 2**63 - 1, not {reprlib.repr(given)}")
    return int(given)


def refuse_learned_model(game: object) -> None:
    """Raise InvalidInput for a game with chance events: a learned model cannot tell their outcomes apart."""
    if not getattr(game, "has_chance_events", False):
        return
    raise InvalidInput(
        f"{getattr(game, 'name', 'this game')} has chance events such as dice, which a learned model (MuZero) cannot "
        "represent: for an action it knows one next state only. Search the rules instead: train a network of another "
        "kind, such as network.kind=mlp, and play with search:network=RUN in place of muzero:network=RUN"
    )
