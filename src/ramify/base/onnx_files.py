"""Checksums of ONNX models: stored in the metadata, over every byte of the file, to detect damaged files."""

from __future__ import annotations

import hashlib

CHECKSUM = "ramify.checksum"  # in a model's metadata: a SHA-256 in hexadecimal digits
WEIGHTS = "ramify.weights"  # in a model's metadata: {name in the network: name in the graph}, as JSON
DIGITS = 64
BLANK = "0" * DIGITS  # placeholder while the checksum is computed
# An entry of the metadata in protobuf's encoding: field 1, its length, the key, field 2, its length; then the value.
MARK = bytes([0x0A, len(CHECKSUM)]) + CHECKSUM.encode() + bytes([0x12, DIGITS])


def sealed(content: bytes) -> bytes:
    """The model with its checksum filled in, if its metadata has an entry for one."""
    place = _place(content)
    return content if place is None else content[: place.start] + _checksum(content, place) + content[place.stop :]


def check_whole(content: bytes, name: str) -> None:
    """Raise a ValueError if the model has a checksum that does not match its content."""
    place = _place(content)
    if place is not None and content[place] != _checksum(content, place):
        raise ValueError(f"{name} is damaged: its checksum does not match its content")


def _place(content: bytes) -> slice | None:
    found = content.rfind(MARK)
    start = found + len(MARK)
    return slice(start, start + DIGITS) if found >= 0 and len(content) >= start + DIGITS else None


def _checksum(content: bytes, place: slice) -> bytes:
    digest = hashlib.sha256(content[: place.start])
    digest.update(BLANK.encode())
    digest.update(content[place.stop :])
    return digest.hexdigest().encode()
