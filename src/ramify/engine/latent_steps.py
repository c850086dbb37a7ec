"""The recurrent network from slots to slots: one step that is queued on a GPU as a whole."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.engine.batch import LatentModel
from ramify.engine.latents import Latents, loaded_torch

WARM_UP = 3  # calls before a CUDA graph is captured
Outputs = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32] | None]  # logits, values, rewards


def captured(function: Callable[[], Any], device: Any) -> tuple[Callable[[], object], Any]:
    """A CUDA graph of a function: what replays it, and the outputs, which lie where they are at every replay."""
    torch = loaded_torch()
    with torch.no_grad(), torch.cuda.device(device):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                function()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            outputs = function()
    return graph.replay, outputs


def padded(rows: int) -> int:
    """Rows of the padded batch for so many: a power of two."""
    return 1 << (rows - 1).bit_length()


class Inputs:
    """Slots and actions of a batch as the core writes them, in one block that is copied to the device as a whole."""

    def __init__(self, rows: int, pinned: bool) -> None:
        self.rows = padded(rows)
        self.block = loaded_torch().zeros(4 * self.rows, dtype=loaded_torch().int32, pin_memory=pinned)
        numbers: NDArray[np.int32] = self.block.numpy()
        self.parents, self.slots = numbers[: self.rows], numbers[self.rows : 2 * self.rows]
        self.actions = numbers[2 * self.rows :].reshape(self.rows, 2)

    def pad(self, count: int, slot: int) -> None:
        """Let all rows but the first ``count`` read slot 0 and write to ``slot``."""
        if count < self.rows:
            self.parents[count:], self.slots[count:], self.actions[count:] = 0, slot, 0


class Found:
    """A copy of the outputs of a step in this machine's memory, and the arrays in it."""

    def __init__(self, step: Step) -> None:
        torch = loaded_torch()
        on_gpu = step.store.device.type == "cuda"
        self.forms = step.forms
        self.packed = torch.empty(step.packed.shape, dtype=torch.uint8, pin_memory=on_gpu)
        self.copied = torch.cuda.Event() if on_gpu else None
        host = self.packed.numpy()
        values, rewards, logits = (
            host[at : at + size].view(kind).reshape(shape) for kind, shape, at, size in self.forms
        )
        self.outputs: Outputs = logits, values, rewards if rewards.size else None

    def wait(self, count: int) -> Outputs:
        """The first ``count`` rows, when they are there."""
        if self.copied is not None:
            self.copied.synchronize()
        logits, values, rewards = self.outputs
        if count == len(values):
            return self.outputs
        return logits[:count], values[:count], None if rewards is None else rewards[:count]


class Step:
    """Reads latent states from their slots, evaluates them and writes the next ones, at one batch size.

    On CUDA this is one graph: a batch costs one copy of slots and actions to the device, one launch and one copy back.
    Rows that pad a batch read slot 0 and write to the last slot, which no search has.
    """

    def __init__(self, model: LatentModel, store: Any, rows: int) -> None:
        torch = loaded_torch()
        self.store, self.rows = store, rows
        self.forms: list[tuple[Any, tuple[int, ...], int, int]] = []  # of values, rewards, logits: see _arrange
        self.packed: Any = None  # these outputs as bytes on the device, where they lie at every call
        self._parts: list[Any] = []  # the tensors in them
        self._model = model
        self._inputs = torch.zeros(4 * rows, dtype=torch.int32, device=store.device)
        self._parents, self._slots = self._inputs[:rows], self._inputs[rows : 2 * rows]
        self._actions = self._inputs[2 * rows :].view(rows, 2)
        self._slots.fill_(len(store) - 1)
        on_gpu = store.device.type == "cuda"
        self._replay = captured(self._evaluate, store.device)[0] if on_gpu else torch.no_grad()(self._evaluate)

    def run(self, inputs: Inputs) -> None:
        """Evaluate a batch; the outputs are in ``packed`` until the next call."""
        self._inputs.copy_(inputs.block, non_blocking=True)
        self._replay()

    def _evaluate(self) -> None:
        torch, actions = loaded_torch(), self._actions
        taken = actions if self._model.acting == "both" else torch.maximum(actions[:, 0], actions[:, 1])
        output = self._model.recurrent(self.store.index_select(0, self._parents), taken)
        latents: Any = output.latents
        if tuple(latents.shape) != (self.rows, *self.store.shape[1:]):
            raise EvaluatorError(
                f"the model must return latent states of shape {[self.rows, *self.store.shape[1:]]}, "
                f"not {list(latents.shape)}"
            )
        self.store.index_copy_(0, self._slots.long(), latents.to(self.store.dtype))
        rewards = output.values.new_empty(0) if output.rewards is None else output.rewards
        outputs = (output.values, rewards, output.logits)
        self._arrange(*outputs)
        for part, found in zip(self._parts, outputs, strict=True):
            part.copy_(found)

    def _arrange(self, values: Any, rewards: Any, logits: Any) -> None:
        """Room for outputs of these shapes. What is 4 bytes wide comes first, so that all of it is aligned."""
        torch = loaded_torch()
        half = logits.dtype == torch.bfloat16
        wanted = (
            (values, np.float32, 4),
            (rewards, np.float32, 4),
            (logits, *((np.uint16, 2) if half else (np.float32, 4))),
        )
        forms, at = [], 0
        for found, kind, width in wanted:
            size = found.numel() * width
            forms.append((kind, tuple(found.shape), at, size))
            at += size
        if forms == self.forms:
            return
        self.forms, self.packed = forms, torch.empty(at, dtype=torch.uint8, device=self.store.device)
        kinds = (torch.float32, torch.float32, torch.bfloat16 if half else torch.float32)
        self._parts = [
            self.packed[at : at + size].view(kind).view(shape)
            for kind, (_, shape, at, size) in zip(kinds, forms, strict=True)
        ]


class Steps:
    """Steps of all batch sizes that came up, and the memory of each lane for what goes in and comes out."""

    def __init__(self, model: LatentModel, latents: Latents) -> None:
        self._model, self._latents = model, latents
        self._steps: dict[int, Step] = {}
        self._given: dict[tuple[int, int], Inputs] = {}
        self._found: dict[tuple[int, int], Found] = {}

    def start(self, lane: int, inputs: Inputs, rows: Any, count: int, capacity: int) -> Callable[[], Outputs]:
        """Queue the ``count`` rows of a batch that ``rows`` selects, a slice from 0 on or their numbers.

        The function returned waits for their outputs, which the lane's next batch overwrites.
        """
        store = self._latents.reserve(capacity + 1)
        size = padded(count)
        step = self._steps.get(size)
        if step is None or step.store is not store:
            step = self._steps[size] = Step(self._model, store, size)
        if not isinstance(rows, slice) or size != inputs.rows:
            inputs = self._selected(lane, inputs, rows, count)
        inputs.pad(count, len(store) - 1)
        step.run(inputs)
        found = self._found.get((lane, size))
        if found is None or found.forms != step.forms:
            found = self._found[lane, size] = Found(step)
        found.packed.copy_(step.packed, non_blocking=True)
        if found.copied is not None:
            found.copied.record(loaded_torch().cuda.current_stream(store.device))
        return functools.partial(found.wait, count)

    def _selected(self, lane: int, inputs: Inputs, rows: Any, count: int) -> Inputs:
        """These rows in a block of their own."""
        key = lane, padded(count)
        if key not in self._given:
            self._given[key] = Inputs(count, inputs.block.is_pinned())
        given = self._given[key]
        given.parents[:count], given.slots[:count] = inputs.parents[rows], inputs.slots[rows]
        given.actions[:count] = inputs.actions[rows]
        return given
