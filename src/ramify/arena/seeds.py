"""Seeds of games and turns: each is drawn from the one above it, the same in every process."""

from __future__ import annotations

import hashlib
import json


def derive(seed: int, *place: int | str) -> int:
    """A seed of its own for a place below ``seed``: 63 bits, as a database's whole numbers hold them."""
    digest = hashlib.blake2b(json.dumps([seed, *place]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
