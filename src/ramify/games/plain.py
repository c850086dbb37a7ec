"""Positions read back from plain data, such as JSON, which has only lists."""

from __future__ import annotations

from typing import Any

import numpy as np


def like(value: Any, example: Any) -> Any:
    """A position from plain data, in the form of an example: its lists become what the example has there.

    That is a list, an array, a set or a named tuple. Where the example has nothing of the kind, lists become tuples,
    because positions are immutable.
    """
    if isinstance(value, list | tuple):
        return _sequence(value, example)
    if isinstance(value, dict):
        inner = example if isinstance(example, dict) else {}
        return {key: like(item, inner.get(key)) for key, item in value.items()}
    return value


def _sequence(value: list[Any] | tuple[Any, ...], example: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    paired = isinstance(example, list | tuple) and len(example) == len(value)
    items = [like(item, example[place] if paired else None) for place, item in enumerate(value)]
    if isinstance(value, list):
        if isinstance(example, np.ndarray):
            array = np.array(value, dtype=example.dtype)
            array.setflags(write=False)
            return array
        if isinstance(example, list | set | frozenset):
            return type(example)(items)
        if paired and hasattr(example, "_make"):
            return type(example)._make(items)
    return tuple(items)
