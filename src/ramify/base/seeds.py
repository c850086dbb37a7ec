"""Validation and derivation of seeds."""

from __future__ import annotations

import hashlib
import json
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
    except ValueError:  # an integer with more digits than Python converts to text
        return f"a value of type {type(seed).__name__}"


def derive(seed: int, *place: int | str) -> int:
    """Derive a 63-bit seed from ``seed`` and a place, such as a game or a turn; the same in every process."""
    digest = hashlib.blake2b(json.dumps([seed, *place]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # signed 64-bit integers of a database hold 63 bits
