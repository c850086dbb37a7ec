"""Stable bytes and 64-bit keys of Python values: the same in every process, unlike ``hash()``."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import numbers
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Parts = list[bytes]


def stable_key(value: Any, salt: bytes = b"") -> int:
    """A 64-bit key of a value: equal values have equal keys; different ones collide with probability 2^-64."""
    digest = hashlib.blake2b(salt, digest_size=8)
    digest.update(stable_bytes(value))
    return int.from_bytes(digest.digest(), "little")


def stable_bytes(value: Any) -> bytes:
    """A value as bytes: different values have different bytes, but equal numbers (1, 1.0, True) have the same.

    Supports None, numbers, strings, bytes, enumerations, tuples, lists, sets, dictionaries, numpy arrays and
    dataclasses, nested to any depth.
    """
    parts: Parts = []
    _write(value, parts)
    return b"".join(parts)


def _write(value: Any, parts: Parts) -> None:
    if type(value) is int:  # by far the most frequent
        parts.append(b"I%d;" % value)
    elif value is None:
        parts.append(b"N")
    elif isinstance(value, enum.Enum):  # before numbers and texts, which an enumeration may also be
        _write_tagged(b"E", [_type_name(value), value.name], parts)
    elif isinstance(value, numbers.Real | np.bool_):
        parts.append(_number(value))
    elif isinstance(value, str):
        _write_blob(b"S", value.encode("utf-8", "surrogatepass"), parts)
    elif isinstance(value, bytes | bytearray):
        _write_blob(b"B", bytes(value), parts)
    elif isinstance(value, np.ndarray):
        _write_array(value, parts)
    elif isinstance(value, tuple | list):
        _write_tagged(b"T", value, parts)
    elif isinstance(value, set | frozenset):
        _write_unordered(b"F", map(stable_bytes, value), parts)
    elif isinstance(value, Mapping):
        _write_unordered(b"M", (stable_bytes(item) for item in value.items()), parts)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
        _write_tagged(b"D", [_type_name(value), *members], parts)
    else:
        raise TypeError(
            f"no stable key for a value of type {_type_name(value)}: build positions from numbers, strings, "
            "tuples, frozensets, numpy arrays and dataclasses, or define key(position)"
        )


def _number(value: Any) -> bytes:
    """The same form for numbers that compare equal."""
    if isinstance(value, numbers.Integral | np.bool_):
        return b"I%d;" % int(value)
    if value != value:
        return b"Rnan"
    real = float(value)
    if real != value:
        return b"Q%s;" % str(value).encode()  # a fraction between the floats
    return b"I%d;" % int(real) if real.is_integer() else b"R" + struct.pack("<d", real)


def _write_blob(tag: bytes, blob: bytes, parts: Parts) -> None:
    parts += (tag, b"%d:" % len(blob), blob)


def _write_tagged(tag: bytes, items: Any, parts: Parts) -> None:
    parts += (tag, b"%d:" % len(items))
    for item in items:
        _write(item, parts)


def _write_unordered(tag: bytes, items: Iterable[bytes], parts: Parts) -> None:
    ordered = sorted(items)
    parts += (tag, b"%d:" % len(ordered))
    for item in ordered:
        _write_blob(b"", item, parts)


def _write_array(array: np.ndarray[Any, Any], parts: Parts) -> None:
    if array.dtype.hasobject:
        raise TypeError("no stable key for a numpy array of Python objects: use tuples")
    _write_tagged(b"A", [array.dtype.newbyteorder("<").str, array.shape], parts)
    _write_blob(b"", array.astype(array.dtype.newbyteorder("<")).tobytes(), parts)


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
