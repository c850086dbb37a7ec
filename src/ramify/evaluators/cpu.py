"""Runs a network on a CPU, in single-threaded calls of a few sizes, each by the library that is fastest for it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.base.hints import did_you_mean
from ramify.evaluators.backends import Backend, check_usable, installed, open_backend
from ramify.evaluators.kept import Shape
from ramify.evaluators.outputs import LEAST_SHARE, Outputs, joined, padded, padded_size, parts, shares
from ramify.evaluators.run_config import RunConfig
from ramify.evaluators.speeds import BACKENDS, Rates, SpeedTable, fastest, speed_table
from ramify.evaluators.torch_threads import call_queue, run_calls, run_plain_calls
from ramify.evaluators.weights import Weights

if TYPE_CHECKING:
    from torch import nn

    from ramify.networks.modules import Inference

logger = logging.getLogger("ramify")

PINNED = "RAMIFY_BACKEND"  # environment variable: the backend where none is given
SIZES = (1, 2, 4, 8, 16, 32, 64)  # rows of a call; larger calls are no faster
MEASURED = (1, 8, 64)  # sizes that are measured, besides those that were asked for; between them little changes
TOLERANCE = 1e-3  # largest difference to torch of a backend that is used
MOST_SECONDS = 0.7  # to measure one batch size: a larger one gets the backend of the size below
CALLS = 3  # of one size and backend at least: the first one, which also compiles, and those whose time counts
MOST_TURNS, SHORT_SECONDS = 20, 0.25  # short calls are repeated that often, or for that long


def resolved(backend: str) -> str:
    """The backend to use: as given, or for "auto" the one that the environment names, if any."""
    if backend != "auto":
        return backend
    chosen = os.environ.get(PINNED) or "auto"
    if chosen not in ("auto", *BACKENDS):
        known = ", ".join(("auto", *BACKENDS))
        raise ValueError(f"{PINNED} must be one of {known}, not {chosen!r}{did_you_mean(chosen, BACKENDS, '; ')}")
    return chosen


class Opened:
    """A network with one set of weights, opened by libraries as needed."""

    def __init__(self, live: nn.Module | Weights, errors: bool = False) -> None:
        self._weights, self._errors = Weights.of(live), errors
        self._live: Inference | None = None
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self._backends: dict[tuple[str, Shape], Backend] = {}
        if self._weights.facts is None:
            self.live()  # raises now if the network cannot be used as wanted

    def backend(self, name: str, shape: Shape) -> Backend:
        """The network for observations of this shape, opened by a library when it is first needed."""
        check_usable(name)
        found = self._backends.get((name, shape))
        if found is None:
            with self._lock:
                kept = self._weights.kept_of(shape)
                found = self._backends.get((name, shape)) or open_backend(name, self.live, shape, kept)
                self._backends[name, shape] = found
        return found

    def live(self) -> Inference:
        """The module, which is loaded when it is first needed."""
        with self._loading:  # a lock of its own: libraries are opened in other threads than the one that waits
            if self._live is None:
                self._live = by_cells(self._weights.module, self._errors)
            return self._live


class CpuRunner:
    """Float32, in single-threaded calls. New weights are a new network: batches in flight keep the old one."""

    def __init__(self, live: nn.Module | Weights, settings: RunConfig) -> None:
        if settings.precision == "bf16":
            raise ValueError("precision must be auto or fp32 on a CPU")
        if settings.compile:
            raise ValueError("compile=True needs CUDA; on a CPU the fastest library is chosen by backend='auto'")
        self._settings = settings
        self.version = 0
        self._opened = Opened(live, settings.errors)
        wanted = resolved(settings.backend)
        self._choice = Choice(live, installed()) if wanted == "auto" else None
        self._pinned = None if self._choice is not None and len(self._choice.candidates) > 1 else wanted
        if self._pinned == "auto":
            self._pinned = "torch"  # the only one
        self._used: set[str] = set()
        self._queues = {plain: call_queue(settings.threads, plain=plain) for plain in (False, True)}

    @property
    def used(self) -> tuple[str, ...]:
        """The backends of all batches so far."""
        return tuple(sorted(self._used))

    def submit(self, observations: NDArray[np.float32]) -> Callable[[], Outputs]:
        opened, settings, rows = self._opened, self._settings, len(observations)
        shape = observations.shape[1:]
        if rows == 0 or (self._pinned == "torch" and settings.buckets is None):
            split = [(part, part.stop - part.start) for part in shares(rows, settings.threads)]
        elif settings.buckets is not None:
            pieces = list(parts(rows, settings.buckets))
            split = [(part, padded_size(part.stop - part.start, settings.buckets)) for part in pieces]
        else:
            split = list(split_rows(rows, settings.threads))
        backends = [self._backend(opened, shape, size) for _, size in split]
        self._used.update(backend.name for backend in backends)
        calls = [
            partial(run_padded, backend, observations[part], size)
            for backend, (part, size) in zip(backends, split, strict=True)
        ]
        plain = all(backend.name != "torch" for backend in backends)  # only torch needs threads prepared for it
        if len(calls) > 1 and settings.threads > 1:
            outputs = joined(self._queues[plain].run(calls))
        else:
            outputs = joined((run_plain_calls if plain else run_calls)(calls, settings.threads))
        return lambda: outputs

    def _backend(self, opened: Opened, shape: Shape, size: int) -> Backend:
        if self._pinned is not None or size == 0:
            return opened.backend(self._pinned or "torch", shape)
        assert self._choice is not None
        return self._choice.backend(opened, shape, size)

    def swap(self, live: nn.Module) -> None:
        self._opened = Opened(live, self._settings.errors)
        self.version += 1


def by_cells(live: nn.Module, errors: bool = False) -> Inference:
    """The module in channels-last memory format, in which convolutions run fastest, on a CPU and on CUDA."""
    import torch

    from ramify.networks.modules import Inference

    return Inference(live.to(memory_format=torch.channels_last), errors)  # type: ignore[call-overload]


def run_padded(backend: Backend, observations: NDArray[np.float32], size: int) -> Outputs:
    """Outputs of these rows, from a call of ``size`` rows."""
    logits, values = backend.run(padded(observations, size))
    return logits[: len(observations)], values[: len(observations)]


def split_rows(rows: int, threads: int) -> Iterator[tuple[slice, int]]:
    """Parts of a batch, and the sizes of their calls, all among ``SIZES``.

    Every thread gets work if there are ``LEAST_SHARE`` rows for each. What is left after the largest calls is padded
    if that adds at most a sixth of the rows, and otherwise split further. Calls that are small for their batch do not
    occur, because each size has to be compiled.
    """
    share = max(LEAST_SHARE, -(-rows // threads))
    most = max(size for size in SIZES if size <= share)
    sizes = [size for size in SIZES if min(most, rows / 16) <= size <= most]
    start = 0
    while start < rows:
        left = rows - start
        above = next((size for size in sizes if size >= left), most)
        below = max((size for size in sizes if size <= left), default=above)
        size = above if left < above <= left + max(1, rows // 6) else below
        taken = min(size, left)
        yield slice(start, start + taken), size
        start += taken


@dataclass(frozen=True)
class Kind:
    """What the speed of a network depends on."""

    key: str
    recipe: dict[str, Any] | None  # from which a network of this kind can be made again


def kind_of(module: nn.Module, shape: Shape) -> Kind:
    """The kind of a network for observations of this shape, whatever its weights are."""
    from ramify.networks.modules import GameNetwork

    weights = {name: list(weight.shape) for name, weight in module.state_dict().items()}
    name, recipe, settings = type(module).__name__, None, {}
    if isinstance(module, GameNetwork):
        settings = module.config.model_dump(mode="json")
        name = f"{module.spec.game} {'x'.join(map(str, shape))} {size_of(settings)}"
        if shape == tuple(module.spec.observation_shape):
            recipe = {"game": module.spec.game, "params": module.spec.params, "config": settings}
    content = json.dumps([settings, sorted(weights.items()), list(shape)], default=str)
    return Kind(f"{name} #{hashlib.sha256(content.encode()).hexdigest()[:8]}", recipe)


def size_of(settings: Mapping[str, Any]) -> str:
    """The size of a network as in its shorthand, such as 6x64 or mlp:2x256."""
    kind = str(settings.get("kind", ""))
    for depth, width in (("blocks", "channels"), ("layers", "width")):
        if {depth, width} <= settings.keys():
            size = f"{settings[depth]}x{settings[width]}"
            return size if kind == "resnet" else f"{kind}:{size}"
    return kind


def measured_for(size: int) -> list[int]:
    """The batch sizes that are measured to choose the backend of this one, in ascending order."""
    return [*(other for other in MEASURED if other <= size), *([] if size in SIZES else [size])]


class Choice:
    """Chooses the fastest backend of a network for each batch size, by measurement on this machine.

    A size is measured once for a kind of network; the result is kept in the file of ``speeds.py``. A size that would
    take too long gets the backend of the largest smaller one.
    """

    def __init__(self, module: nn.Module | Weights, candidates: Sequence[str], table: SpeedTable | None = None) -> None:
        self.candidates = tuple(candidates)
        self._weights, self._table = Weights.of(module), table
        self._kinds: dict[Shape, Kind] = {}
        self._broken: set[str] = set()  # backends that cannot run this network
        self._chosen: dict[tuple[Shape, int], str] = {}
        self._lock = threading.Lock()

    def backend(self, opened: Opened, shape: Shape, size: int) -> Backend:
        """The backend for calls of this size."""
        while True:
            name = self._chosen.get((shape, size)) or self._choose(opened, shape, size)
            backend = self._open(opened, name, shape)
            if backend is not None:
                return backend

    def _choose(self, opened: Opened, shape: Shape, size: int) -> str:
        with self._lock:
            rates = self.rates(opened, shape, size)
            name = fastest({name: rate for name, rate in rates.items() if name in self.candidates and self._fine(name)})
            self._chosen[shape, size] = name
            return name

    def _fine(self, name: str) -> bool:
        return name not in self._broken

    def rates(self, opened: Opened, shape: Shape, size: int) -> Rates:
        """Positions per second by backend, at this size or the largest smaller one that can be measured quickly."""
        table = speed_table() if self._table is None else self._table
        kind, rates = self._kind(shape), Rates()
        for step in measured_for(size):
            known = table.sizes(kind.key)
            if step not in known:
                if rates and CALLS * sum(step / rate for rate in rates.values()) > MOST_SECONDS:
                    break
                table.add(kind.key, kind.recipe, step, self.measure(opened, shape, step))
            rates = table.sizes(kind.key)[step]
        return rates

    def label(self, shape: Shape) -> str:
        """The network in words."""
        return self._kind(shape).key.partition(" #")[0]

    def _kind(self, shape: Shape) -> Kind:
        if shape not in self._kinds:
            facts = self._weights.facts_of(shape)
            kind = kind_of(self._weights.module, shape) if facts is None else Kind(facts.kind, facts.recipe)
            self._kinds[shape] = kind
        return self._kinds[shape]

    def measure(self, opened: Opened, shape: Shape, size: int) -> Rates:
        """Positions per second of CPU time. A backend whose outputs are not those of torch is left out for good."""
        observations = np.random.default_rng(size).random((size, *shape), np.float32)
        reference = opened.backend("torch", shape)
        expected = run_calls([partial(reference.run, observations)], 1)[0]
        right = [backend for name in self.candidates if (backend := self._right(opened, name, observations, expected))]
        times = run_calls([partial(fastest_calls, right, observations)], 1)[0]
        return {backend.name: size / seconds for backend, seconds in zip(right, times, strict=True)}

    def _right(self, opened: Opened, name: str, observations: NDArray[np.float32], expected: Outputs) -> Backend | None:
        """The backend, if its outputs are those that are expected."""
        backend = self._open(opened, name, observations.shape[1:])
        if backend is None:
            return None
        try:
            found = run_calls([partial(backend.run, observations)], 1)[0]
            difference = max(float(np.abs(a - b).max(initial=0)) for a, b in zip(found, expected, strict=True))
        except Exception as error:  # whatever a library raises; ValueError for other shapes
            self._leave(name, error)
            return None
        if not difference <= TOLERANCE:
            self._leave(name, f"its outputs differ from torch's by {difference:.2g}")
            return None
        return backend

    def _open(self, opened: Opened, name: str, shape: Shape) -> Backend | None:
        if name == "torch":
            return opened.backend(name, shape)
        if not self._fine(name):
            return None
        try:
            return opened.backend(name, shape)
        except Exception as error:  # whatever a library raises
            self._leave(name, error)
            return None

    def _leave(self, name: str, reason: object) -> None:
        """Do not use a backend for this network any more."""
        logger.info("%s cannot run this network: %s", name, " ".join(str(reason).split())[:300])
        self._broken.add(name)
        self._chosen = {place: chosen for place, chosen in self._chosen.items() if chosen != name}


def fastest_calls(backends: Sequence[Backend], observations: NDArray[np.float32]) -> list[float]:
    """CPU time in seconds of the fastest call of each backend.

    They take turns, so that what disturbs one disturbs all. A turn has two calls: the first brings the weights back
    into the processor's cache.
    """
    best, start, turn = [float("inf")] * len(backends), time.thread_time(), 0
    while turn == 0 or (turn < MOST_TURNS and time.thread_time() - start < SHORT_SECONDS):
        for number, backend in enumerate(backends):
            for _ in range(CALLS - 1):
                begin = time.thread_time()
                backend.run(observations)
                best[number] = min(best[number], max(time.thread_time() - begin, 1e-9))
        turn += 1
    return best
