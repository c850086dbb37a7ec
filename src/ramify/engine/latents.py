"""Latent states of all trees in one array of the model's own type, and torch tensors on their way to the core."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError

Index = NDArray[np.int32]


def loaded_torch() -> Any:
    """The module torch; None if nobody has imported it, so that there are no tensors either."""
    return sys.modules.get("torch")


def is_tensor(given: object) -> bool:
    """Whether this is a torch tensor."""
    torch = loaded_torch()
    return torch is not None and isinstance(given, torch.Tensor)


def to_device(array: NDArray[Any], device: Any) -> Any:
    """A tensor on ``device``; the copy to a GPU is only queued if the array lies in pinned memory."""
    tensor = loaded_torch().from_numpy(array)
    return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)


class Latents:
    """Latent states by slot: a torch tensor on the device of the model's own, or a numpy array.

    What is neither becomes a numpy array, of objects if need be. The first latent states decide; the array grows with
    the greatest slot.
    """

    def __init__(self) -> None:
        self._store: Any = None

    @property
    def device(self) -> Any:
        """The torch device of the latent states; None for numpy arrays, or if there are none yet."""
        return self._store.device if is_tensor(self._store) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Slots, and the shape of one latent state."""
        return () if self._store is None else tuple(self._store.shape)

    def take(self, slots: Index) -> Any:
        """The latent states in these slots, one row each."""
        if self.device is None:
            return np.take(self._store, slots, axis=0)
        return self._store.index_select(0, to_device(slots, self.device))

    def put(self, slots: Index, latents: Any, capacity: int) -> None:
        """Keep one row per slot; ``capacity`` is more than the greatest slot in use anywhere."""
        rows = as_array(latents, len(slots))
        self._grow(rows, capacity)
        if self.device is None:
            self._store[slots] = rows
        else:
            rows = rows.to(self.device, self._store.dtype)
            self._store.index_copy_(0, to_device(slots, self.device).long(), rows)

    def reserve(self, capacity: int) -> Any:
        """The tensor of all latent states, with room for this many; some must have been kept before."""
        self._grow(self._store[:0], capacity)
        return self._store

    def _grow(self, rows: Any, capacity: int) -> None:
        old = self._store
        if old is not None and tuple(rows.shape[1:]) != tuple(old.shape[1:]):
            raise EvaluatorError(
                f"latent states must have one shape: {list(rows.shape[1:])} after {list(old.shape[1:])} before"
            )
        if old is not None and is_tensor(old) != is_tensor(rows):
            raise EvaluatorError("latent states must always be torch tensors, or never")
        kind = rows.dtype if old is None else promoted(old.dtype, rows.dtype)
        if old is not None and len(old) >= capacity and kind == old.dtype:
            return
        size = capacity if old is None else max(capacity, 2 * len(old) if capacity > len(old) else len(old))
        shape = (size, *rows.shape[1:])
        if is_tensor(rows):
            self._store = loaded_torch().empty(shape, dtype=kind, device=rows.device if old is None else old.device)
        else:
            self._store = np.empty(shape, kind)
        if old is not None:
            self._store[: len(old)] = old


def promoted(first: Any, second: Any) -> Any:
    """The type that holds the numbers of both."""
    if first == second:
        return first
    return (
        np.promote_types(first, second) if isinstance(first, np.dtype) else loaded_torch().promote_types(first, second)
    )


def as_array(latents: Any, rows: int) -> Any:
    """A model's latent states as one array; raises an EvaluatorError unless there is one per row."""
    try:
        given: Any = len(latents)
    except TypeError:
        given = type(latents).__name__
    if given != rows:
        raise EvaluatorError(f"the model must return {rows} latent states, not {given}")
    if is_tensor(latents):
        return latents.detach()
    if isinstance(latents, np.ndarray):
        return latents
    if isinstance(latents, list | tuple):
        return loaded_torch().stack(list(latents)).detach() if is_tensor(latents[0]) else np.stack(latents)
    return np.asarray(latents)


def to_host(given: Any, what: str, *, half: bool = False) -> Callable[[], Any]:
    """A function that returns ``given`` as a numpy array; of a tensor on a GPU the copy is under way when this returns.

    Tensors become float32; with ``half``, those of bfloat16 become uint16 with the same bits, and nothing else does.
    What is no tensor is returned as it is.
    """
    if not is_tensor(given):
        number = given.astype(np.float32) if half and getattr(given, "dtype", None) == np.uint16 else given
        return lambda: number
    torch, tensor = loaded_torch(), given.detach()
    if tensor.is_complex():
        raise EvaluatorError(f"{what} cannot be converted to numbers: complex numbers are not supported")
    if not (half and tensor.dtype == torch.bfloat16):
        tensor = tensor.float()
    tensor = tensor.contiguous()
    if tensor.device.type != "cuda":
        return lambda: bits(tensor.cpu())
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record(torch.cuda.current_stream(tensor.device))

    def wait() -> Any:
        copied.synchronize()
        return bits(host)

    return wait


def bits(tensor: Any) -> NDArray[Any]:
    """A tensor in this machine's memory as a numpy array, bfloat16 as uint16."""
    torch = loaded_torch()
    if tensor.dtype == torch.bfloat16:
        found: NDArray[Any] = tensor.view(torch.int16).numpy().view(np.uint16)
        return found
    array: NDArray[Any] = tensor.numpy()
    return array


def from_bits(array: Any) -> Any:
    """The numbers of ``bits``, as float32; anything but uint16 is returned as it is."""
    if not isinstance(array, np.ndarray) or array.dtype != np.uint16:
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)
