"""Self-play with a latent model in place of an evaluator."""

from __future__ import annotations

from typing import cast

from ramify.engine.batch import LatentModel
from ramify.engine.latent_source import LatentSource
from ramify.games import Game
from ramify.selfplay.config import PlayConfig


def latent_source(game: Game, model: object, play: PlayConfig, fixed_batches: int | None) -> LatentSource:
    """The source for games with ``model``; raises a ValueError for settings that need the rules in the tree."""
    source = LatentSource(cast(LatentModel, model), game.observation_shape)
    source.check_game(game)
    if source.num_actions < game.num_actions:
        raise ValueError(
            f"the model's num_actions is {source.num_actions}, but {game.name} has {game.num_actions} actions"
        )
    if play.reuse:
        raise ValueError("reuse must be False with a latent model: every move starts from its own observation")
    if fixed_batches is not None:
        raise ValueError("fixed_batches is not available with a latent model, whose batches have roots and other rows")
    return source
