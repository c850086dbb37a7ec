"""The recurrent network from slots to slots: one step that is queued on a GPU as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import EvaluatorError
from ramify.engine.batch import LatentModel
from ramify.engine.latents import Index, Latents, bits, loaded_torch

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


class Step:
    """Reads latent states from their slots, evaluates them and writes the next ones, at one batch size.

    On CUDA this is one graph: a batch costs one copy of slots and actions to the device, one launch and one copy back.
    Rows that pad a batch read slot 0 and write to the last slot, which no search has.
    """

    def __init__(self, model: LatentModel, store: Any, rows: int) -> None:
        torch = loaded_torch()
        self.store, self.rows = store, rows
        self._model = model
        self._inputs = torch.zeros((4, rows), dtype=torch.int32, device=store.device)
        self._inputs[1] = len(store) - 1
        self._forms: list[tuple[Any, tuple[int, ...]]] = []  # type and shape of logits, values and rewards
        self._replay: Callable[[], object] | None = None
        self._packed: Any = None
        if store.device.type == "cuda":
            self._replay, self._packed = captured(self._evaluate, store.device)

    def run(self, inputs: Any) -> Any:
        """The outputs of parents, slots and actions, [4, rows], as bytes on the device."""
        with loaded_torch().no_grad():
            self._inputs.copy_(inputs, non_blocking=True)
            if self._replay is None:
                return self._evaluate()
            self._replay()
            return self._packed

    def unpack(self, packed: NDArray[np.uint8], count: int) -> Outputs:
        """Logits, values and rewards of the first ``count`` rows, from a copy of the bytes of ``run``."""
        found: list[Any] = []
        start = 0
        for kind, shape in self._forms:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            found.append(packed[start : start + size].view(kind).reshape(shape)[:count])
            start += size
        return found[0], found[1], found[2] if len(found) > 2 else None

    def _evaluate(self) -> Any:
        torch, parents, slots = loaded_torch(), self._inputs[0], self._inputs[1]
        actions = self._inputs[2:].T if self._model.acting == "both" else self._inputs[2]
        output = self._model.recurrent(self.store.index_select(0, parents), actions)
        latents: Any = output.latents
        if tuple(latents.shape) != (self.rows, *self.store.shape[1:]):
            raise EvaluatorError(
                f"the model must return latent states of shape {[self.rows, *self.store.shape[1:]]}, "
                f"not {list(latents.shape)}"
            )
        self.store.index_copy_(0, slots.long(), latents.to(self.store.dtype))
        kept = (torch.float32, torch.bfloat16)
        logits = output.logits if output.logits.dtype in kept else output.logits.float()
        parts = [logits, output.values.float()]
        if output.rewards is not None:
            parts.append(output.rewards.float())
        self._forms = [(np.uint16 if x.dtype == torch.bfloat16 else np.float32, tuple(x.shape)) for x in parts]
        flat = [x.flatten().clone(memory_format=torch.contiguous_format) for x in parts]
        return torch.cat([x.view(torch.uint8) for x in flat])


class Steps:
    """Steps of all batch sizes that came up, and the memory of each lane for what goes in and comes out."""

    def __init__(self, model: LatentModel, latents: Latents) -> None:
        self._model, self._latents = model, latents
        self._steps: dict[int, Step] = {}
        self._given: dict[tuple[int, int], Any] = {}
        self._found: dict[tuple[int, int], Any] = {}

    def start(self, lane: int, parents: Index, slots: Index, actions: Index, capacity: int) -> Callable[[], Outputs]:
        """Queue a batch; the function returned waits for its outputs, which the lane's next batch overwrites."""
        torch, count = loaded_torch(), len(parents)
        store = self._latents.reserve(capacity + 1)
        rows = 1 << (count - 1).bit_length()
        step = self._steps.get(rows)
        if step is None or step.store is not store:
            step = self._steps[rows] = Step(self._model, store, rows)
        on_gpu = store.device.type == "cuda"
        given = self._given.get((lane, rows))
        if given is None:
            given = self._given[lane, rows] = torch.zeros((4, rows), dtype=torch.int32, pin_memory=on_gpu)
        numbers = given.numpy()
        numbers[0, :count], numbers[1, :count], numbers[2 : 2 + len(actions), :count] = parents, slots, actions
        numbers[0, count:], numbers[1, count:], numbers[2:, count:] = 0, len(store) - 1, 0
        packed = step.run(given)
        if not on_gpu:
            host = packed.numpy()
            return lambda: step.unpack(host, count)
        found = self._found.get((lane, rows))
        if found is None or found.shape != packed.shape:
            found = self._found[lane, rows] = torch.empty(packed.shape, dtype=torch.uint8, pin_memory=True)
        found.copy_(packed, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record(torch.cuda.current_stream(store.device))

        def wait() -> Outputs:
            copied.synchronize()
            return step.unpack(bits(found), count)

        return wait
