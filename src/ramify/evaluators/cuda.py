"""Running a network on CUDA: fixed batch sizes, pinned memory, one CUDA graph per batch size and batch in flight.

Every (batch size, shape) has a few slots. A slot owns its buffers, its graph and its stream, so that one slot copies
while another computes. Weights change on a stream of their own, which waits for every slot and which every slot waits
for: a batch sees the old weights or the new ones, and graphs stay valid because the tensors stay where they are.
Large batches are launched by a thread, so that self-play goes on meanwhile; weights change after those before them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ramify.engine.latents import bits
from ramify.evaluators.backends import in_order
from ramify.evaluators.cpu import by_cells
from ramify.evaluators.outputs import Outputs, check_shapes, joined, padded_size, parts
from ramify.evaluators.run_config import RunConfig

WARM_UP = 3  # runs before a graph is captured: libraries choose their kernels in them
RECOMPILATIONS = 256  # batch sizes and shapes of boards
LAUNCHED_ASIDE = 1024  # rows from which on a thread launches a batch, which takes a third of a millisecond
Forward = Callable[[Tensor], tuple[Tensor, Tensor]]


class Device(nn.Module):
    """The network in its precision; logits stay in it, to be copied in half the bytes."""

    def __init__(self, live: nn.Module, device: torch.device, dtype: torch.dtype, errors: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        live = live.to(device)
        exact = {id(x) for part in live.modules() if getattr(part, "full_precision", False) for x in tensors(part)}
        for x in tensors(live):
            if id(x) not in exact and x.is_floating_point():
                x.data = x.data.to(dtype)
        self.inference = by_cells(live, errors)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.inference(in_order(observations.to(self.dtype)))
        return logits.contiguous(), values.float().contiguous()


def tensors(module: nn.Module) -> list[Tensor]:
    """Every parameter and buffer."""
    return [*module.parameters(), *module.buffers()]


class Slot:
    """Buffers, CUDA graph and stream for one batch of one size."""

    def __init__(self, forward: Forward, device: torch.device, shape: tuple[int, ...], graph: bool) -> None:
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self.pending: Waiting | None = None
        self.lent = False  # its arrays are with a caller of submit_raw
        self.given = torch.zeros(shape, dtype=torch.float32, pin_memory=True)
        self.given_array = self.given.numpy()
        self._forward = forward
        self._input = torch.zeros(shape, dtype=torch.float32, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self.stream.wait_stream(torch.cuda.current_stream(device))
        with torch.no_grad(), torch.cuda.stream(self.stream):
            for _ in range(WARM_UP):
                self._outputs = forward(self._input)
        self.stream.synchronize()
        check_shapes(self._outputs[0].shape, self._outputs[1].shape, shape[0])
        if graph:
            self._capture()
        self._found = tuple(torch.empty(x.shape, dtype=x.dtype, pin_memory=True) for x in self._outputs)
        self._arrays = tuple(map(bits, self._found))  # the same memory

    def _capture(self) -> None:
        self._graph = torch.cuda.CUDAGraph()
        # Other threads may use CUDA meanwhile: only this thread's mistakes are errors.
        with (
            torch.no_grad(),
            torch.cuda.graph(self._graph, stream=self.stream, capture_error_mode="thread_local"),
        ):
            self._outputs = self._forward(self._input)

    def launch(self, rows: int, given: Tensor) -> None:
        """Start copying, computing and copying back.

        Every call of torch takes a few microseconds, which add up where batches follow each other: outputs are copied
        whole, the rows behind too.
        """
        with torch.cuda.stream(self.stream):
            self._input[:rows].copy_(given[:rows], non_blocking=True)
            self._compute()
            for found, output in zip(self._found, self._outputs, strict=True):
                found.copy_(output, non_blocking=True)
            self.done.record(self.stream)

    def compute(self) -> None:
        """Run the network on what the last batch left in device memory, without copies."""
        with torch.cuda.stream(self.stream):
            self._compute()

    def _compute(self) -> None:
        """Run the network on the input in device memory."""
        if self._graph is not None:
            self._graph.replay()
        else:
            with torch.no_grad():
                self._outputs = self._forward(self._input)

    def raw(self, rows: int) -> tuple[Any, Any]:
        """Wait for the launched batch; returns the slot's own arrays."""
        self.done.synchronize()
        logits, values = self._arrays
        return logits[:rows], values[:rows]

    def outputs(self, rows: int) -> Outputs:
        """Wait for the launched batch; returns copies."""
        self.done.synchronize()
        logits, values = (np.array(found[:rows].float().numpy()) for found in self._found)
        return logits, values


class Waiting:
    """A batch in a slot, until its outputs are requested or the slot is needed."""

    def __init__(self, slot: Slot, rows: int) -> None:
        self._slot: Slot | None = slot
        self.slot = slot
        self._rows = rows
        self._lock = threading.Lock()
        self._outputs: Outputs | None = None

    def outputs(self) -> Outputs:
        with self._lock:
            if self._slot is not None:
                self._outputs = self._slot.outputs(self._rows)
                self._slot.pending, self._slot = None, None
            assert self._outputs is not None
            return self._outputs


class Lent:
    """A batch in a slot that no other batch gets until this object is gone. Calling it waits for the outputs."""

    def __init__(self, slot: Slot, rows: int) -> None:
        slot.lent = True
        self._slot, self._rows = slot, rows
        self.launched: Future[None] | None = None  # None: at once

    def __call__(self) -> tuple[Any, Any]:
        if self.launched is not None:
            self.launched.result()
        return self._slot.raw(self._rows)

    def __del__(self) -> None:
        if self.launched is not None:
            self.launched.exception()  # it waits
        self._slot.lent = False


def compiled(network: nn.Module) -> Forward:
    """The network compiled for every batch size; beyond a limit torch would silently stop compiling."""
    import torch._dynamo

    torch._dynamo.config.recompile_limit = max(RECOMPILATIONS, torch._dynamo.config.recompile_limit)
    return torch.compile(network, dynamic=False)


class CudaRunner:
    """Runs a network on one GPU."""

    used = ("torch",)

    def __init__(self, live: nn.Module, device: torch.device, settings: RunConfig) -> None:
        assert settings.buckets is not None
        self.version = 0
        self._settings, self._buckets = settings, settings.buckets
        # A device without a number means the present one: keep that, whatever the caller's thread selects later.
        self._device = device if device.index is not None else torch.device("cuda", torch.cuda.current_device())
        dtype = torch.float32 if settings.precision == "fp32" else torch.bfloat16
        self._network = Device(live, self._device, dtype, settings.errors)
        self._network.eval().requires_grad_(False)
        self._forward: Forward = compiled(self._network) if settings.compile else self._network
        torch.cuda.synchronize(self._device)  # the weights are there before any slot's stream reads them
        self._lock = threading.Lock()
        self._launcher = ThreadPoolExecutor(1, "ramify-cuda")  # its thread starts with the first large batch
        self._slots: dict[tuple[int, ...], list[Slot]] = {}
        self._turn: dict[tuple[int, ...], int] = {}
        self._swap_stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._swapped = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def slot(self, shape: tuple[int, ...]) -> Slot:
        """The next slot for batches of this shape that nobody has borrowed; pending outputs in it are copied first."""
        slots = self._slots.setdefault(shape, [])
        turn = self._turn.get(shape, -1)
        for _ in slots:
            turn = (turn + 1) % len(slots)
            if not slots[turn].lent and (slots[turn].pending is None or len(slots) >= self._settings.in_flight):
                break
        else:
            turn = len(slots)
            slots.append(Slot(self._forward, self._device, shape, self._settings.graphs))
        self._turn[shape], slot = turn, slots[turn]
        if slot.pending is not None:
            slot.pending.outputs()
        return slot

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        with self._lock, torch.cuda.device(self._device):
            waiting = [self._launch(observations[part]) for part in parts(len(observations), self._buckets)]
        return lambda: joined([one.outputs() for one in waiting])

    def _launch(self, observations: NDArray[np.float32]) -> Waiting:
        rows, slot = len(observations), self._slot_for(observations)
        slot.given_array[:rows] = observations  # rows behind keep what was there: nobody reads their outputs
        self._start(slot, rows, slot.given)
        slot.pending = Waiting(slot, rows)
        return slot.pending

    def _slot_for(self, observations: NDArray[np.float32]) -> Slot:
        return self.slot((padded_size(len(observations), self._buckets), *observations.shape[1:]))

    def _start(self, slot: Slot, rows: int, given: Tensor) -> None:
        slot.stream.wait_event(self._swapped)
        slot.launch(rows, given)

    def _start_aside(self, slot: Slot, rows: int, given: Tensor) -> None:
        with self._lock, torch.cuda.device(self._device):
            self._start(slot, rows, given)

    def submit_raw(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        """As ``submit``, without copies on this side: the observations must not change until the outputs are there, and
        the outputs, bfloat16 as uint16, are valid as long as the returned object exists. Those of more rows than the
        largest bucket has are copied."""
        lent = [self._lend(observations[part]) for part in parts(len(observations), self._buckets)]
        return lent[0] if len(lent) == 1 else lambda: joined([one() for one in lent])

    def _lend(self, observations: NDArray[np.float32]) -> Lent:
        rows, given = len(observations), torch.from_numpy(observations)
        with self._lock, torch.cuda.device(self._device):
            lent = Lent(slot := self._slot_for(observations), rows)
            if rows < LAUNCHED_ASIDE:
                self._start(slot, rows, given)
        if rows >= LAUNCHED_ASIDE:
            lent.launched = self._launcher.submit(self._start_aside, slot, rows, given)
        return lent

    def swap(self, live: nn.Module) -> None:
        """Change the weights, for every batch that is submitted from now on."""
        self._launcher.submit(self._swap, live).result()  # behind the batches before it

    def _swap(self, live: nn.Module) -> None:
        source: dict[str, Any] = live.state_dict()
        with self._lock, torch.cuda.device(self._device), torch.no_grad():
            for slots in self._slots.values():
                for slot in slots:
                    self._swap_stream.wait_event(slot.done)
            with torch.cuda.stream(self._swap_stream):
                for name, weight in self._network.inference.network.state_dict().items():
                    weight.copy_(source[name])
                self._swapped.record(self._swap_stream)
            self.version += 1
