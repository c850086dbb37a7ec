"""Training positions in little memory: what a run learns from that has millions of labelled positions.

A dense row of chess (observation, policy, legal actions) takes 29 KB, a packed one about 0.4 KB. Planes are stored as
bits and one number each, policies as lists of legal actions; batches are unpacked on the device that trains.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.games import Game, make
from ramify.games.files.openings import read_position
from ramify.selfplay.records import (
    CUT,
    DRAWS,
    GAME,
    RECORDED,
    STARTED,
    DamagedShard,
    Header,
    read_records,
)
from ramify.training.compact import pack_planes, unpacked_planes
from ramify.training.config import TargetConfig
from ramify.training.replay import Symmetries, TrainingBatch
from ramify.training.samples import draw_target, mixed_values

HEAD = struct.calcsize(GAME)
TRAINABLE = ("value_error", "wdl")  # heads


@dataclass(frozen=True)
class PackedRows:
    """Positions in which one player acts, from its view.

    An observation is ``bits * scales`` where every plane has one value besides 0, and ``dense`` in other games.
    """

    bits: NDArray[np.uint8]  # [n, planes, bytes]: the cells of a plane that are not 0, most significant bit first
    scales: NDArray[np.float32]  # [n, planes]: what is there
    dense: NDArray[np.float32]  # [n, *observation_shape], or [0, *observation_shape]
    counts: NDArray[np.int32]  # [n]: legal actions
    actions: NDArray[np.int16]  # [sum of counts], or int32: the legal actions of all positions, one after another
    policies: NDArray[np.float16]  # their probabilities
    values: NDArray[np.float32]  # [n]
    draws: NDArray[np.float32]  # [n]: chance of a draw; -1 where it is not known
    games: NDArray[np.int64]  # [n]: number of the game

    def __len__(self) -> int:
        return len(self.games)


def joined_rows(parts: Sequence[PackedRows]) -> PackedRows:
    """The rows of all parts; a part whose observations are dense makes all of them dense."""
    if len({len(part.bits) == len(part) for part in parts if len(part)}) > 1:
        raise ValueError("some of the positions can be packed and others cannot: they are of different games")
    return PackedRows(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(PackedRows)))


def shard_rows(path: Path, game: str, targets: TargetConfig) -> tuple[PackedRows, int] | None:
    """The recorded positions of a shard and its number of games; None without any. Raises DamagedShard."""
    header, records = read_records(path)
    board = checked(header, game)
    discount = float(header["search"].get("discount", 1.0))
    parts = [game_rows(board, record, targets, discount) for record in records]
    found = [part for part in parts if part is not None]
    return (joined_rows(found), len(records)) if found else None


def checked(header: Header, game: str) -> Game:
    """The game of a shard; a ValueError if it is another one, or both players act at once."""
    if header["game"] != game:
        raise ValueError(f"records: {header.path} has games of {header['game']}, not of {game}")
    board = make(header["game"], **header["params"])
    if board.simultaneous:
        raise ValueError("records: only games in which the players act in turn can be learnt from a folder of records")
    return board


def game_rows(game: Game, record: bytes, targets: TargetConfig, discount: float) -> PackedRows | None:
    """The recorded positions of one game, as ``make_samples`` has them with the policy of the visits; None if none."""
    number, seed, first, second, flags, moves = struct.unpack_from(GAME, record)
    at, start = HEAD, None
    try:
        if flags & STARTED:
            (size,) = struct.unpack_from("<I", record, at)
            start, at = record[at + 4 : at + 4 + size].decode(), at + 4 + size
        walk = _Walk(game, seed, start, bool(flags & DRAWS))
        for _ in range(moves):
            at = walk.read_move(record, at)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise DamagedShard("a record is not a game") from None
    if not walk.rows:
        return None
    rewards = np.array(walk.rewards, np.float64)
    rewards[-1] += np.array([first, second]) - rewards.sum(axis=0)
    drawn = float(first == second)
    values = mixed_values(walk.found, rewards, bool(flags & CUT), targets, discount, drawn)
    return walk.packed(values, number)


class _Walk:
    """Replays a record and collects its positions. It reads bytes itself: objects for every move would take longer
    than everything else."""

    def __init__(self, game: Game, seed: int, start: str | None, draws: bool) -> None:
        self.game, self.draws = game, draws
        self.state = game.initial_state(seed=seed) if start is None else read_position(game, start)
        self.rewards: list[NDArray[np.float32]] = []
        self.found: list[NDArray[np.float64] | None] = []  # value of both players and the chance of a draw
        self.rows: list[tuple[int, int]] = []  # number of the move and player
        self.observations: list[NDArray[np.float32]] = []
        # Of each recorded position: its legal actions, the places of those that were visited, and their visits.
        self.actions: list[NDArray[np.uint16]] = []
        self.places: list[NDArray[np.uint32]] = []
        self.visits: list[NDArray[np.uint32]] = []

    def read_move(self, data: bytes, at: int) -> int:
        """Read a move and play it; returns where the next one begins."""
        flags, action = struct.unpack_from("<BH", data, at)
        if flags & 3 == 3:
            raise DamagedShard("both players act at once in a game in turn")
        found = None
        if flags & RECORDED:
            at, found = self._read_search(data, at + 3, 1 if flags & 2 else 0)
        else:
            at += 3
        self.found.append(found)
        self.rewards.append(self.state.apply(action))
        return at

    def _read_search(self, data: bytes, at: int, player: int) -> tuple[int, NDArray[np.float64]]:
        first, second = struct.unpack_from("<ff", data, at)
        at += 16
        legal = np.zeros(0, np.uint16)
        for who in (0, 1):
            (count,) = struct.unpack_from("<H", data, at)
            at += 2
            if who == player:
                legal = np.frombuffer(data, "<u2", count, at)
                at += 8 * count  # actions, priors and scores
        (visited,) = struct.unpack_from("<I", data, at)
        places = np.frombuffer(data, "<u4", visited, at + 4)
        visits = np.frombuffer(data, "<u4", visited, at + 4 + 4 * visited)
        at += 4 + 16 * visited
        if data[at]:
            raise DamagedShard("average strategies are for games in which both players act at once")
        at += 1
        draw = np.nan
        if self.draws:
            (draw,) = struct.unpack_from("<f", data, at)
            at += 4
        self.rows.append((len(self.found), player))
        self.observations.append(self.state.observation(player))
        self.actions.append(legal)
        self.places.append(places)
        self.visits.append(visits)
        return at, np.array([first, second, draw])

    def packed(self, values: NDArray[np.float64], number: int) -> PackedRows:
        moves, players = (np.array(column) for column in zip(*self.rows, strict=True))
        bits, scales, dense = pack_planes(np.stack(self.observations))
        kind = np.int16 if self.game.num_actions <= 1 << 15 else np.int32
        counts = np.array([len(legal) for legal in self.actions], np.int32)
        return PackedRows(
            bits,
            scales,
            dense,
            counts,
            np.concatenate(self.actions).astype(kind),
            self._policies(counts),
            values[moves, players].astype(np.float32),
            draw_target(values[moves, 2]).astype(np.float32),
            np.full(len(moves), number, np.int64),
        )

    def _policies(self, counts: NDArray[np.int32]) -> NDArray[np.float16]:
        """Shares of the visits at the legal actions of all positions."""
        visited = np.array([len(places) for places in self.places])
        row = np.repeat(np.arange(len(counts)), visited)
        visits = np.concatenate(self.visits).astype(np.float64)
        totals = np.bincount(row, visits, len(counts))
        policies = np.zeros(int(counts.sum()), np.float16)
        first = np.cumsum(counts) - counts
        policies[first[row] + np.concatenate(self.places)] = visits / totals[row]
        return policies


class PackedReplay:
    """Packed rows on the device that trains; batches are drawn in a new order in every epoch.

    Everything is a function of the seed and the number of the step: a run that is resumed sees the same batches.
    """

    def __init__(self, game: Game, rows: PackedRows, held_out: int, augment: bool, device: torch.device) -> None:
        self.game, self.device = game, device
        self.tensors = {
            field.name: torch.from_numpy(getattr(rows, field.name)).to(device)
            for field in fields(PackedRows)
            if field.name != "games"
        }
        counts = torch.from_numpy(rows.counts).long()
        self.offsets = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)]).to(device)
        self.train_rows = training_part(rows.games, held_out)
        self.held_out = len(rows) - self.train_rows
        self.symmetries = Symmetries(game, device) if augment else None
        self._order: tuple[tuple[int, int], Tensor] | None = None  # of the epoch in use

    def __len__(self) -> int:
        return len(self.tensors["values"])

    def draw(self, rows: int, seed: int, step: int) -> TrainingBatch:
        """The batch of a step: the next rows of the epoch's order, from one epoch into the next where it ends."""
        count = self.train_rows
        places = torch.arange(step * rows, (step + 1) * rows)
        epochs = range(step * rows // count, ((step + 1) * rows - 1) // count + 1)
        index = torch.cat([self._epoch(seed, epoch)[(places[places // count == epoch] % count)] for epoch in epochs])
        batch = self.batch(index)
        if self.symmetries is None or len(self.symmetries) == 1:
            return batch
        chosen = np.random.default_rng((seed, step, 3)).integers(len(self.symmetries), size=rows)
        return TrainingBatch(**self.symmetries.turned(vars(batch), torch.from_numpy(chosen).to(self.device)))

    def unseen(self, rows: int) -> TrainingBatch:
        """Rows that are held out of training, at most so many; the last rows of training if none are."""
        last = len(self)
        return self.batch(torch.arange(max(0, last - min(rows, self.held_out or rows)), last))

    def _epoch(self, seed: int, epoch: int) -> Tensor:
        """The order of the rows in an epoch, on the CPU: it is the same on every device."""
        if self._order is None or self._order[0] != (seed, epoch):
            generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**63)
            self._order = ((seed, epoch), torch.randperm(self.train_rows, generator=generator))
        return self._order[1]

    def batch(self, index: Tensor) -> TrainingBatch:
        """The rows with these numbers, unpacked."""
        index = index.to(self.device)
        found, count = self.tensors, len(index)
        counts = found["counts"][index].long()
        row = torch.repeat_interleave(torch.arange(count, device=self.device), counts)
        before = counts.cumsum(0) - counts
        place = torch.arange(len(row), device=self.device) - before[row] + self.offsets[index][row]
        actions = found["actions"][place].long()
        policies = torch.zeros(count, self.game.num_actions, device=self.device)
        policies[row, actions] = found["policies"][place].float()
        policies /= policies.sum(dim=1, keepdim=True).clamp(min=1e-9)
        legal = torch.zeros(count, self.game.num_actions, dtype=torch.bool, device=self.device)
        legal[row, actions] = True
        return training_batch(self._observations(index), policies, legal, found["values"][index], found["draws"][index])

    def _observations(self, index: Tensor) -> Tensor:
        if len(self.tensors["dense"]):
            return self.tensors["dense"][index]
        bits, scales = (self.tensors[name][index] for name in ("bits", "scales"))
        return unpacked_planes(bits, scales, tuple(self.game.observation_shape))


def training_part(games: NDArray[np.int64], held_out: int) -> int:
    """The number of rows that are trained on: all but about the last ``held_out``, from the start of a game on."""
    cut = len(games) - held_out
    while 0 < cut < len(games) and games[cut] == games[cut - 1]:
        cut -= 1
    return cut if cut > 0 else len(games)


def training_batch(
    observations: Tensor, policies: Tensor, legal: Tensor, values: Tensor, draws: Tensor
) -> TrainingBatch:
    """A batch of positions in which one player acts, without targets of auxiliary heads."""
    count, device = len(values), values.device
    none = torch.zeros(count, 0, device=device)
    return TrainingBatch(
        observations=observations,
        policies=policies.unsqueeze(1),
        legal=legal.unsqueeze(1),
        values=values.unsqueeze(1),
        draws=draws,
        scores=torch.zeros(count, device=device),
        owners=none.to(torch.int8),
        groups=torch.zeros(count, 1, 0, dtype=torch.int16, device=device),
        cheese=none.to(torch.int8),
        final_scores=none.to(torch.int16),
        payoffs=torch.zeros(count, 2, 0, 0, device=device),
        pair_visits=torch.zeros(count, 0, 0, device=device),
        collected=torch.zeros(count, device=device),
    )


def check_packed_heads(heads: Collection[str]) -> None:
    """Raise a ValueError for heads whose targets are not in packed rows."""
    for head in heads:
        if head not in TRAINABLE:
            raise ValueError(f"a {head} head cannot be trained on records; only {' and '.join(TRAINABLE)} can")
