"""Validation of seeds."""

from __future__ import annotations

import operator
import reprlib
from typing import Any

from ramify._core import InvalidInput


def checked_seed(seed: Any, otherwise: str = "") -> int:
    """Validate a seed and return it as an int; ``otherwise`` names alternatives for the error message."""
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**64:
        raise InvalidInput(f"seed must be a whole number from 0 to 2**64 - 1{otherwise}, not {_shown(seed)}")
    return number


def _shown(seed: Any) -> str:
    try:
        return reprlib.repr(seed)
    except ValueError:  # a number of more digits than Python writes
        return f"a value of type {type(seed).__name__}"
