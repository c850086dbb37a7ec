"""Training positions on their way from the process that makes them to the one that trains.

Nearly all of a row is zeros where a game has many actions: of chess it has 29 KB, and less than 1 KB of it says
something. Only that goes through the pipe. The rows are written out in the memory of the replay window, on its device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.training.rows import Sparse
from ramify.training.samples import Samples

LISTED = ("policies", "legal", "groups")  # columns [n, players, num_actions]
WORTH = 0.5  # at most this part of the bytes, or samples stay as they are


@dataclass(frozen=True)
class CompactSamples:
    """Samples without what follows from the rest; see ``compacted``."""

    plain: dict[str, NDArray[Any]]  # columns as samples have them
    shape: tuple[int, ...]  # of policies
    places: NDArray[np.signedinteger[Any]]  # where in policies, flattened, there is anything to say
    listed: dict[str, NDArray[Any]]  # policies, legal and groups at these places
    bits: NDArray[np.uint8]  # observations as ``pack_planes`` has them, unless they are among the plain columns
    scales: NDArray[np.float32]
    seen: tuple[int, ...]  # the shape of observations

    def __len__(self) -> int:
        return len(self.games)

    @property
    def games(self) -> NDArray[np.int64]:
        return self.plain["games"]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (*self.plain.values(), self.places, *self.listed.values(), self.bits, self.scales)
        return sum(array.nbytes for array in arrays)

    def columns(self, device: torch.device) -> dict[str, Tensor | Sparse]:
        """The columns of the samples. Those that are not written out yet are on the device."""
        found: dict[str, Tensor | Sparse] = {name: torch.from_numpy(array) for name, array in self.plain.items()}
        places = torch.from_numpy(self.places).to(device).long()
        for name, values in self.listed.items():
            there = torch.from_numpy(values).to(device)
            found[name] = Sparse(self.shape, places, there, numbered=name == "groups")
        if "observations" not in self.plain:
            bits, scales = torch.from_numpy(self.bits).to(device), torch.from_numpy(self.scales).to(device)
            found["observations"] = unpacked_planes(bits, scales, self.seen[1:])
        return found


AnySamples = Samples | CompactSamples


def compacted(samples: Samples) -> AnySamples:
    """The samples in less memory, or as they are if that is not worth it. Nothing is rounded."""
    if not len(samples):
        return samples
    shape = samples.policies.shape
    said = samples.legal | (samples.policies != 0)
    if grouped := samples.groups.shape == shape:
        said |= samples.groups != np.arange(shape[2])
    places = np.flatnonzero(said)
    listed = {name: getattr(samples, name).reshape(-1)[places] for name in (LISTED if grouped else LISTED[:2])}
    plain = {name: array for name, array in vars(samples).items() if name not in listed}
    bits, scales, dense = pack_planes(samples.observations)
    if len(dense) or bits.nbytes + scales.nbytes > samples.observations.nbytes:
        bits, scales = bits[:0], scales[:0]
    else:
        del plain["observations"]
    kind = np.int32 if said.size < 2**31 else np.int64
    made = CompactSamples(plain, shape, places.astype(kind), listed, bits, scales, samples.observations.shape)
    return made if made.nbytes <= WORTH * sum(array.nbytes for array in vars(samples).values()) else samples


def pack_planes(
    observations: NDArray[np.float32],
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Bits and scales of observations [n, planes, ...], and no dense ones; or the other way round."""
    cells = observations.reshape(*observations.shape[:2], -1)
    present = cells != 0
    scales = np.where(cells.min(axis=2) < 0, cells.min(axis=2), cells.max(axis=2))
    if np.array_equal(present * scales[:, :, None], cells):
        return np.packbits(present, axis=2), scales, observations[:0]
    return np.zeros((0, cells.shape[1], 0), np.uint8), np.zeros((0, cells.shape[1]), np.float32), observations


def unpacked_planes(bits: Tensor, scales: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Observations [n, *shape] from what ``pack_planes`` made of them."""
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.uint8, device=bits.device)
    present = ((bits.unsqueeze(3) & weights) != 0).flatten(2)[:, :, : int(np.prod(shape[1:]))]
    return torch.where(present, scales.unsqueeze(2), 0.0).view(len(bits), *shape)
