"""The promises of a game, each as a check of one position. ``check.py`` plays the games that these look at.

A check yields a sentence for what it sees that breaks its promise. Checks come in stages: what a later stage
finds may follow from what an earlier one found, so the earlier one counts. Importing a stage adds its checks.
"""

from ramify.games.promises import form, handling, meaning
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
    "difference",
    "facts",
    "form",
    "handling",
    "meaning",
    "play",
    "some_turn",
]
