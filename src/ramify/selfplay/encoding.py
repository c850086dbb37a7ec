"""Game records written from Python: games and positions that were not played by the compiled pool.

The bytes are those of ``cpp/search/record.cpp``; ``ramify.selfplay.records`` reads them. A recorded position has a
policy, written as visits of its actions, and a value, as if a search had found them.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ramify.selfplay.records import CUT, DRAWS, FULL, GAME, OPENING, RECORDED, RESIGNED, STARTED

VISITS = 1000  # over which a policy is spread: an action of probability 0.001 is still kept
MOVE = struct.calcsize("<BH")  # bytes of a move without what a search found
_PRIOR_BASE = 3 << 28


@dataclass(frozen=True)
class Label:
    """What is known of a position in which one player acts: a policy, a value, and maybe the chance of a draw.

    ``policy`` has probabilities of actions, in any proportion; of those that are left out, they are 0. ``value`` is
    that of player 0.
    """

    policy: Mapping[int, float]
    value: float
    draw: float | None = None


class RecordWriter:
    """One game of a game played in turn, move by move, as the bytes of a record."""

    def __init__(self, number: int, seed: int, *, start: str | None = None, draws: bool = False) -> None:
        self.number, self.seed, self.start, self.draws = number, seed, start, draws
        self.moves = self.labels = 0
        self._body: list[bytes] = []

    def add(self, player: int, action: int, legal: Sequence[int] = (), label: Label | None = None) -> None:
        """Add a move of a player; with the legal actions, ascending, and a label where the position is recorded."""
        self.moves += 1
        flags = 1 << player | (0 if label is None else RECORDED | FULL)
        self._body.append(struct.pack("<BH", flags, action))
        if label is not None:
            self.labels += 1
            self._body.append(self._found(player, list(legal), label))

    def add_opening(self, player: int, action: int) -> None:
        """Add a move that nobody chose, such as a random one at the start."""
        self.moves += 1
        self._body.append(struct.pack("<BH", 1 << player | OPENING, action))

    def _found(self, player: int, legal: list[int], label: Label) -> bytes:
        # Plain struct: most policies have a few actions, and arrays of that size take several times as long.
        count, value = len(legal), label.value
        places, visits = spread(legal, label.policy)
        own = struct.pack(f"<{count + 1}H", count, *legal) + _uniform(count)
        other = b"\1\0"
        number = len(places)
        payoffs = struct.pack("<f", value) * number + struct.pack("<f", -value) * number  # only the root's is known
        parts = [
            struct.pack("<4f", value, -value, value, -value),
            *((own, other) if player == 0 else (other, own)),
            struct.pack(f"<{1 + 2 * number}I", number, *places, *visits),
            payoffs,
            b"\0",
        ]
        if self.draws:
            parts.append(struct.pack("<f", label.draw if label.draw is not None else 1 - abs(value)))
        return b"".join(parts)

    def finish(self, returns: Sequence[float], *, cut: bool = False, resigned: bool = False) -> bytes:
        """The record of the game with these returns of the players."""
        flags = RESIGNED * resigned | CUT * cut | STARTED * (self.start is not None) | DRAWS * self.draws
        head = struct.pack(GAME, self.number, self.seed, returns[0], returns[1], flags, self.moves)
        if self.start is not None:
            text = self.start.encode()
            head += struct.pack("<I", len(text)) + text
        return head + b"".join(self._body)


def spread(legal: list[int], policy: Mapping[int, float]) -> tuple[list[int], list[int]]:
    """Places among the legal actions that get some of VISITS visits, and how many: in proportion to the policy,
    rounded; at least one place."""
    share = VISITS / sum(policy.values())
    found = sorted((bisect_left(legal, action), round(share * weight)) for action, weight in policy.items())
    kept = [(place, visits) for place, visits in found if visits]
    if not kept:  # many actions, all unlikely
        kept = [(bisect_left(legal, max(policy, key=lambda action: policy[action])), 1)]
    return [place for place, _ in kept], [visits for _, visits in kept]


_uniform_codes: dict[int, bytes] = {}


def _uniform(count: int) -> bytes:
    """Equal priors in the engine's 16 bits, and selection scores of zero: no network was asked."""
    if count not in _uniform_codes:
        bits = int(np.float32(1 / count).view(np.uint32)) + (1 << 11)
        code = min(max(bits - _PRIOR_BASE, 0) >> 12, 0xFFFF)
        _uniform_codes[count] = np.full(count, code, "<u2").tobytes() + bytes(4 * count)
    return _uniform_codes[count]


def count_recorded(record: bytes) -> int:
    """The number of recorded positions of a game played in turn, without decoding them."""
    return sum(record[start] & RECORDED > 0 for start, _ in _moves(record))


def without_labels(record: bytes, dropped: Collection[int]) -> bytes:
    """The record without some of its recorded positions, given by their numbers among them; their moves stay."""
    parts, at, label = list[bytes](), 0, -1
    for start, end in _moves(record):
        if not record[start] & RECORDED:
            continue
        label += 1
        if label in dropped:
            parts += [record[at:start], bytes([record[start] & ~(RECORDED | FULL)]), record[start + 1 : start + MOVE]]
            at = end
    return b"".join([*parts, record[at:]])


def with_number(record: bytes, number: int) -> bytes:
    """The record of the same game under another number."""
    return struct.pack("<Q", number) + record[8:]


def _moves(record: bytes) -> Iterator[tuple[int, int]]:
    """Where each move of a game played in turn begins and ends in its record."""
    *_, flags, moves = struct.unpack_from(GAME, record)
    at = struct.calcsize(GAME)
    if flags & STARTED:
        at += 4 + struct.unpack_from("<I", record, at)[0]
    for _ in range(moves):
        start, kind = at, record[at]
        at += MOVE
        if kind & RECORDED:
            at += 16
            for player in (0, 1):
                (outcomes,) = struct.unpack_from("<H", record, at)
                at += 2 + (8 * outcomes if kind >> player & 1 else 0)
            (visited,) = struct.unpack_from("<I", record, at)
            at += 4 + 16 * visited + 1 + (4 if flags & DRAWS else 0)
        yield start, at
