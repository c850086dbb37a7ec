"""The latent model that runs a learned torch network (MuZero)."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from ramify._core import EvaluatorError
from ramify.engine.batch import LatentOutput
from ramify.engine.latent_steps import captured
from ramify.evaluators.cuda import compiled, tensors
from ramify.evaluators.onnx import as_array, check_finite
from ramify.evaluators.pending import NETWORK_C_PUCT
from ramify.evaluators.torch_threads import run_calls
from ramify.networks.blocks import folded
from ramify.networks.build import network_id
from ramify.networks.devices import choose_device
from ramify.networks.learned import LearnedModel

LEAST_SHARE = 32  # rows of a batch that are worth a thread of their own
Outputs = tuple[Tensor, ...]  # latents, logits, values, rewards


class LatentNetwork:
    """A learned network as ``Searcher`` and ``SelfPlay`` take one in place of the rules of a game.

    Works on a copy of the module, which may continue training; ``load_weights`` copies new weights between two batches.
    Latent states stay on the device. On CUDA the network runs in bfloat16, with a CUDA graph for each padded batch
    size; on a CPU, ``threads`` threads share a batch.
    """

    c_puct = NETWORK_C_PUCT
    backend = "torch"

    def __init__(
        self, module: nn.Module, device: str | torch.device | None = None, *, threads: int = 1, compile: bool = False
    ) -> None:
        if not isinstance(module, LearnedModel):
            hint = ""
            if isinstance(module, str | os.PathLike):
                hint = f"; load one with ramify.networks.load(ramify.arena.network_file({os.fspath(module)!r}))"
            raise TypeError(f"a latent search needs a learned network (kind muzero), not {type(module).__name__}{hint}")
        self.input_device = choose_device(device)
        if self.input_device.type == "mps":
            raise ValueError("learned models run on cpu or cuda, not on mps")
        self.asynchronous = self.capturable = self.input_device.type == "cuda"
        self.num_actions, self.acting = module.spec.num_actions, module.acting
        self.threads, self.version = threads, 0
        self._swapping = threading.Lock()
        self._master = copy.deepcopy(module).cpu().eval().requires_grad_(False)
        self._live = _Calls(self._placed(folded(self._master)))
        wanted = compile and self.asynchronous
        self._functions: dict[str, Callable[..., Outputs]] = {
            name: cast(Any, compiled(_Function(self._live, name)) if wanted else getattr(self._live, name))
            for name in ("initial", "recurrent")
        }
        self._graphs: dict[tuple[Any, ...], Graph] = {}

    @property
    def num_parameters(self) -> int:
        """Number of parameters and buffers of the network."""
        return sum(tensor.numel() for tensor in self._master.state_dict().values())

    @property
    def network_id(self) -> str:
        """The checksum of the network with its current weights."""
        return network_id(self._master)

    def _placed(self, live: LearnedModel) -> LearnedModel:
        """The network on its device and in its precision."""
        live = live.to(self.input_device)
        if self.asynchronous:
            exact = {id(x) for part in live.modules() if getattr(part, "full_precision", False) for x in tensors(part)}
            for x in tensors(live):
                if id(x) not in exact and x.is_floating_point():
                    x.data = x.data.to(torch.bfloat16)
            live = live.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return live

    def initial(self, observations: Any) -> LatentOutput:
        """Latent states of observations, with policies and values."""
        shape = tuple(observations.shape[1:])
        if shape != self._master.spec.observation_shape:
            raise EvaluatorError(
                f"the network for {self._master.spec.game} needs observations of shape "
                f"{list(self._master.spec.observation_shape)}, not {list(shape)}"
            )
        latents, logits, values = self._run("initial", observations)
        return LatentOutput(cast(Any, latents), logits, values)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        """What actions lead to, with rewards, policies and values."""
        actions = actions.view(len(actions), -1)
        if self.capturable:  # the engine's CUDA graph has the call, and keeps it apart from new weights
            with torch.no_grad():
                latents, logits, values, rewards = self._functions["recurrent"](latents, actions)
        else:
            latents, logits, values, rewards = self._run("recurrent", latents, actions)
        return LatentOutput(cast(Any, latents), logits, values, rewards)

    def _run(self, name: str, *inputs: Tensor) -> Outputs:
        with self._swapping, torch.no_grad():
            if self.asynchronous:
                return self._replay(name, *inputs)
            parts = min(self.threads, max(1, len(inputs[0]) // LEAST_SHARE))
            shares = list(zip(*(x.tensor_split(parts) for x in inputs), strict=True))
            found = run_calls([lambda own=own: self._call(name, *own) for own in shares], self.threads)  # type: ignore[misc]
            return found[0] if len(found) == 1 else tuple(map(torch.cat, zip(*found, strict=True)))

    @torch.no_grad()  # calls run in other threads, which have a mode of their own
    def _call(self, name: str, *inputs: Tensor) -> Outputs:
        return self._functions[name](*inputs)

    def _replay(self, name: str, *inputs: Tensor) -> Outputs:
        rows = len(inputs[0])
        size = 1 << (rows - 1).bit_length()
        key = (name, size)
        with torch.cuda.device(self.input_device):
            if key not in self._graphs:
                self._graphs[key] = Graph(self._functions[name], size, inputs)
            graph = self._graphs[key]
            for given, buffer in zip(inputs, graph.inputs, strict=True):
                buffer[:rows].copy_(given)
            return tuple(output[:rows] for output in graph.replay())

    def load_weights(self, weights: nn.Module | Mapping[str, Any]) -> None:
        """Load weights (a state dict or a module) between two batches.

        If the weights do not fit, an error is raised and nothing is changed.
        """
        given = weights.state_dict() if isinstance(weights, nn.Module) else weights
        check_finite({name: as_array(value) for name, value in given.items()})
        master = copy.deepcopy(self._master)
        try:
            master.load_state_dict(given)
        except RuntimeError as error:
            raise ValueError(f"the weights do not fit the network: {error}") from None
        source = folded(master).state_dict()
        with self._swapping, torch.no_grad():
            for name, weight in self._live.network.state_dict().items():
                weight.copy_(source[name])  # in place: graphs read the same memory
            self._master, self.version = master, self.version + 1


class _Calls(nn.Module):
    """The functions of a latent model. Boards are kept as [B, H, W, channels], as convolutions on a GPU read them."""

    def __init__(self, network: LearnedModel) -> None:
        super().__init__()
        self.network = network
        self._board = len(network.latent_shape) == 3

    def initial(self, observations: Tensor) -> Outputs:
        kind = next(self.network.parameters()).dtype
        observations = observations.to(kind)
        if self._board and observations.is_cuda:
            observations = observations.contiguous(memory_format=torch.channels_last)
        return self._found(self.network.representation(observations))

    def recurrent(self, latents: Tensor, actions: Tensor) -> Outputs:
        latents = latents.permute(0, 3, 1, 2) if self._board else latents
        after, rewards = self.network.dynamics(latents, actions)
        return (*self._found(after), rewards["rewards"].float().contiguous())

    def _found(self, latents: Tensor) -> Outputs:
        found = self.network.prediction(latents)
        kept = latents.permute(0, 2, 3, 1) if self._board else latents
        return kept.contiguous(), found["logits"].contiguous(), found["values"].float().contiguous()


class _Function(nn.Module):
    """One of the two functions, for the compiler."""

    def __init__(self, calls: _Calls, name: str) -> None:
        super().__init__()
        self.calls, self.name = calls, name

    def forward(self, *inputs: Tensor) -> Outputs:
        found: Outputs = getattr(self.calls, self.name)(*inputs)
        return found


class Graph:
    """A CUDA graph of a function at one batch size; inputs and outputs lie where they are."""

    def __init__(self, function: Callable[..., Outputs], size: int, like: tuple[Tensor, ...]) -> None:
        self.inputs = tuple(torch.zeros((size, *x.shape[1:]), dtype=x.dtype, device=x.device) for x in like)
        self._replay, outputs = captured(lambda: function(*self.inputs), like[0].device)
        self.outputs: Outputs = outputs

    def replay(self) -> Outputs:
        self._replay()
        return self.outputs
