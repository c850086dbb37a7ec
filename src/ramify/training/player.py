"""What every self-play process of a run does: play with the newest weights, and look around now and then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import torch

from ramify.networks import load, network_id
from ramify.selfplay.play import SelfPlay
from ramify.selfplay.run import Progress
from ramify.selfplay.run import run as play_games
from ramify.training.config import TrainConfig
from ramify.training.playing import make_evaluator

SHARD_SECONDS = 2.0  # maximum time until a finished game can be trained on


class Stop(BaseException):
    """Raised inside a self-play process to end it."""


class Player(ABC):
    """Plays games into a directory; ``look`` is called several times a second meanwhile."""

    def __init__(self, config: TrainConfig, device: torch.device, network: Path) -> None:
        self.config, self.boards = config, config.make_games()
        self.module = load(network, self.boards[-1])
        self.evaluator = make_evaluator(config, self.module, device)

    def renew(self, network: Path) -> None:
        """Go on with the weights of another network file, also in games that have begun."""
        self.module = load(network, self.boards[-1])
        self.evaluator.load_weights(self.module)

    def play(self, games: SelfPlay, folder: Path) -> None:
        """Play these games; their shards name the network that evaluates their positions."""
        name: Callable[[], str] | None = None
        if games.evaluator is self.evaluator:
            name = lambda: network_id(self.module)  # noqa: E731
        play_games(
            games,
            folder,
            games_per_shard=self.config.loop.games_per_shard,
            shard_seconds=SHARD_SECONDS,
            network=name,
            progress=self.look,
            others=self.boards,
        )

    @abstractmethod
    def look(self, progress: Progress) -> None:
        """Look for messages and new weights, and report the progress; raises Stop to end the games."""
