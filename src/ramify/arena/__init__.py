"""The arena: players, matches, tournaments, ratings."""

from ramify.arena import simple as _simple  # noqa: F401  # registers its players
from ramify.arena.player import Player, PlayerConfig, Turn, player_config, player_kinds, register_player

__all__ = ["Player", "PlayerConfig", "Turn", "player_config", "player_kinds", "register_player"]
