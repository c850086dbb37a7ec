"""A queue of rows in memory that is used again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

SPARE = 1.25  # memory, relative to the rows for which it was made


@dataclass(frozen=True)
class Sparse:
    """Rows of one tensor that are zeros, or the numbers of their places, except where something else is said."""

    shape: tuple[int, ...]
    places: Tensor  # in the tensor as a vector, each at most once
    values: Tensor  # what is there
    numbered: bool = False  # elsewhere are the numbers 0, 1, ... along the last dimension, not zeros

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        return self.values.dtype

    def write(self, memory: Tensor) -> None:
        """Write the rows out, to memory that is contiguous."""
        if self.numbered:
            memory[:] = torch.arange(self.shape[-1], dtype=memory.dtype, device=memory.device)
        else:
            memory.zero_()
        memory.view(-1)[self.places] = self.values


class Rows:
    """Rows of several tensors, on one device: appended at the end, dropped at the front.

    They lie side by side, with room for more, so memory is needed rarely and in few sizes. (A new tensor for each
    change would leave holes that a GPU's allocator cannot use again, many times the size of the rows.)
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._memory: dict[str, Tensor] = {}
        self._start = self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, name: str) -> Tensor:
        return self._memory[name][self._start : self._end]

    def columns(self) -> dict[str, Tensor]:
        """All rows, by the name of the tensor; they share the memory."""
        return {name: self[name] for name in self._memory}

    def append(self, columns: Mapping[str, Tensor | Sparse]) -> None:
        """Append rows. Where there are none yet, these decide what tensors there are, and their types and shapes."""
        count = len(next(iter(columns.values())))
        if not len(self) and any(columns[name].shape[1:] != rows.shape[1:] for name, rows in self._memory.items()):
            self._memory = {}
        self._make_room(count, columns)
        for name, memory in self._memory.items():
            rows, room = columns[name], memory[self._end : self._end + count]
            if isinstance(rows, Sparse):
                rows.write(room)
            else:
                room[:] = rows
        self._end += count

    def drop(self, count: int) -> None:
        """Drop the first rows."""
        self._start = min(self._start + max(count, 0), self._end)

    def keep(self, chosen: Tensor) -> None:
        """Keep only the rows that are chosen, a mask."""
        self.replace({name: rows[chosen.to(self.device)] for name, rows in self.columns().items()})

    def replace(self, columns: dict[str, Tensor]) -> None:
        """Have these rows in place of all."""
        self._memory, self._start, self._end = columns, 0, len(next(iter(columns.values())))

    def _make_room(self, count: int, columns: Mapping[str, Tensor | Sparse]) -> None:
        """Make room for ``count`` rows at the end: by moving the rows to the front, or in new memory."""
        there = len(next(iter(self._memory.values()))) if self._memory else 0
        if self._memory and self._end + count <= there:
            return
        live, start = len(self), self._start
        enough = live + count <= there and start * SPARE > there * (SPARE - 1) / 2
        if enough:
            for memory in self._memory.values():
                for at in range(0, live, start):  # a piece and where it goes do not overlap
                    piece = memory[start + at : min(2 * start + at, self._end)]
                    memory[at : at + len(piece)] = piece
        else:
            size = int((live + count) * SPARE)
            fresh = {}
            for name, rows in columns.items():
                fresh[name] = torch.empty((size, *rows.shape[1:]), dtype=rows.dtype, device=self.device)
                if live:
                    fresh[name][:live] = self[name]
            self._memory = fresh
        self._start, self._end = 0, live
