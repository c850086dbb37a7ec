"""The checks of ``check_game``, each on one position. ``check.py`` plays the games.

A check yields a sentence for each violation. Checks are grouped in stages: a finding of a later stage may follow
from one of an earlier stage, which is then reported. Importing a stage registers its checks.
"""

from ramify.games.promises import chance, form, handling, meaning
from ramify.games.promises.base import (
    CHECKS,
    CallFailedError,
    Memory,
    Stage,
    Visit,
    ask,
    difference,
    facts,
    play,
    some_turn,
)

__all__ = [
    "CHECKS",
    "CallFailedError",
    "Memory",
    "Stage",
    "Visit",
    "ask",
    "chance",
    "difference",
    "facts",
    "form",
    "handling",
    "meaning",
    "play",
    "some_turn",
]
