"""What depends on the kind of network: its learner, its training data and their window. A learned model (MuZero) is
trained along whole games, other networks on single positions."""

from __future__ import annotations

import torch

from ramify._core import EvaluatorError
from ramify.engine.config import SearchConfig
from ramify.games import Game
from ramify.networks import GameNetwork, LearnedModel
from ramify.selfplay.records import GameRecord
from ramify.training.config import TrainConfig, WindowConfig
from ramify.training.learner import Learner, ParallelLearner
from ramify.training.replay import Replay
from ramify.training.samples import Samples, make_samples
from ramify.training.trajectories import make_trajectories
from ramify.training.unroll import UnrollReplay
from ramify.training.unroll_learner import UnrollLearner


def make_learner(module: GameNetwork, config: TrainConfig, device: torch.device) -> Learner:
    """The learner of a network; raises a ValueError for settings that a learned model cannot have."""
    if not isinstance(module, LearnedModel):
        if config.loop.learners > 1:
            return ParallelLearner(module, config.optimizer, config.losses, device, config.loop.learners)
        compiled = bool(config.records) and config.loop.compile
        return Learner(module, config.optimizer, config.losses, device, compiled=compiled)
    if config.records:
        raise ValueError("a learned model is trained along whole games: give folders of games as sources, not records")
    if config.play.reuse:
        raise ValueError("play.reuse must be false for a learned model: its searches begin anew with every move")
    if config.loop.exact:
        raise ValueError("loop.exact must be false for a learned model: its batches have roots and other rows")
    if config.loop.learners > 1:
        raise ValueError("loop.learners must be 1 for a learned model")
    if config.loop.evaluator not in ("auto", "torch"):
        raise ValueError(f"loop.evaluator must be auto or torch for a learned model, not {config.loop.evaluator}")
    return UnrollLearner(module, config.optimizer, config.losses, config.unroll, device)


def check_board(module: GameNetwork, game: Game, name: str) -> None:
    """Raise a ValueError that begins with ``name`` if the network cannot evaluate the positions of a game."""
    try:
        module.check_shape(tuple(game.observation_shape))
    except EvaluatorError as error:
        raise ValueError(f"{name}: {error}; use a network that fits any size of board") from None


def training_samples(
    game: Game,
    records: list[GameRecord],
    search: SearchConfig,
    config: TrainConfig,
    players: int,
    heads: tuple[str, ...] | None,
) -> Samples:
    """The training data of games: positions with the targets of these heads, or for a learned model (None) games."""
    if heads is None:
        return make_trajectories(game, records, search, config.targets, players)
    return make_samples(game, records, search, config.targets, players, heads)


def make_replay(
    module: GameNetwork, game: Game, config: TrainConfig, device: torch.device, window: WindowConfig | None = None
) -> Replay:
    """An empty replay window for one board; ``window``: another size than that of the config."""
    window = config.window if window is None else window
    if not isinstance(module, LearnedModel):
        return Replay(game, window, config.targets, device)
    observe = module.config.projection > 0
    return UnrollReplay(game, window, config.targets, device, config.unroll, config.search.discount, observe)
