"""A board network as a latent model: representation, dynamics and prediction, each a stack of residual blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ramify.engine import LatentOutput
from ramify.evaluators.latent import Graph

Outputs = tuple[Tensor, ...]  # latents, logits, values, rewards


class Block(nn.Module):
    """Two convolutions around a skip connection, without the batch norm that inference folds away."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class BoardNetwork(nn.Module):
    """Latent states are [B, height, width, channels]: rows of memory in the order in which convolutions read them."""

    def __init__(self, planes: int, cells: int, blocks: int, channels: int) -> None:
        super().__init__()
        self.cells = cells
        self.stem = nn.Conv2d(planes, channels, 3, padding=1)
        self.representation = nn.Sequential(*(Block(channels) for _ in range(blocks)))
        self.action = nn.Parameter(torch.randn(channels) / 8)
        self.dynamics = nn.Sequential(*(Block(channels) for _ in range(blocks)))
        self.policy = nn.Conv2d(channels, 1, 1)
        self.scalars = nn.Linear(channels, 2)  # value and reward

    def initial(self, observations: Tensor) -> Outputs:
        board = observations.to(self.action.dtype).contiguous(memory_format=torch.channels_last)
        return self._outputs(self.representation(torch.relu(self.stem(board))))

    def recurrent(self, latents: Tensor, actions: Tensor) -> Outputs:
        chosen = latents.new_zeros(len(latents), self.cells).scatter_(1, actions.long()[:, None], 1.0)
        placed = latents + chosen.view(*latents.shape[:3], 1) * self.action
        return self._outputs(self.dynamics(placed.permute(0, 3, 1, 2)))

    def _outputs(self, board: Tensor) -> Outputs:
        value, reward = torch.tanh(self.scalars(board.mean((2, 3))).float()).unbind(1)
        logits = self.policy(board).flatten(1)
        return board.permute(0, 2, 3, 1).contiguous(), logits.contiguous(), value.contiguous(), reward.contiguous()


class BoardModel:
    """The network as ``SelfPlay`` and ``Searcher`` take it. On CUDA every call is part of a graph of a padded batch."""

    acting = "alternating"
    capturable = True

    def __init__(self, game: Any, device: str, blocks: int = 4, channels: int = 64, compiled: bool = False) -> None:
        planes, *board = game.observation_shape
        self.num_actions = game.num_actions
        if board[0] * board[1] != self.num_actions:
            raise ValueError(f"the network needs one action per cell, which {game.name} does not have")
        self.input_device = torch.device(device)
        self.asynchronous = self.input_device.type == "cuda"
        torch.backends.cudnn.benchmark = self.asynchronous
        torch.manual_seed(0)
        network = BoardNetwork(planes, self.num_actions, blocks, channels)
        dtype = torch.bfloat16 if self.asynchronous else torch.float32
        self.network = (
            network.eval().requires_grad_(False).to(self.input_device, dtype, memory_format=torch.channels_last)
        )
        self._calls: dict[str, Callable[..., Outputs]] = {
            "initial": torch.compile(network.initial) if compiled else network.initial,
            "recurrent": torch.compile(network.recurrent) if compiled else network.recurrent,
        }
        self._graphs: dict[tuple[str, int], Graph] = {}

    def initial(self, observations: Tensor) -> LatentOutput:
        latents, logits, values, _ = self._run("initial", observations)
        return LatentOutput(latents, logits, values)

    def recurrent(self, latents: Tensor, actions: Tensor) -> LatentOutput:
        return LatentOutput(*self._calls["recurrent"](latents, actions))

    @torch.no_grad()
    def _run(self, name: str, *inputs: Tensor) -> Outputs:
        if not self.asynchronous:
            return self._calls[name](*inputs)
        rows = len(inputs[0])
        graph = self.graph(name, 1 << (rows - 1).bit_length(), *inputs)
        for given, buffer in zip(inputs, graph.inputs, strict=True):
            buffer[:rows].copy_(given)
        return tuple(output[:rows] for output in graph.replay())

    def graph(self, name: str, rows: int, *like: Tensor) -> Graph:
        """The graph of a function at this batch size."""
        if (name, rows) not in self._graphs:
            self._graphs[name, rows] = Graph(self._calls[name], rows, like)
        return self._graphs[name, rows]

    def ceiling(self, rows: int, shape: tuple[int, ...]) -> Callable[[], object]:
        """One call of the recurrent network on inputs that lie there already, in the same precision and batch size."""
        dtype, device = next(self.network.parameters()).dtype, self.input_device
        latents = torch.zeros((rows, *shape), dtype=dtype, device=device)
        actions = torch.zeros(rows, dtype=torch.int32, device=device)
        if self.asynchronous:
            return self.graph("recurrent", 1 << (rows - 1).bit_length(), latents, actions).replay
        return torch.no_grad()(lambda: self._calls["recurrent"](latents, actions))

    def synchronize(self) -> None:
        if self.asynchronous:
            torch.cuda.synchronize(self.input_device)
