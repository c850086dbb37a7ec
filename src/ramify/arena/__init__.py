"""The arena: players, matches, tournaments, ratings."""

from ramify.arena.player import Player, PlayerConfig, Turn, player_config, player_kinds, register_player

__all__ = ["Player", "PlayerConfig", "Turn", "player_config", "player_kinds", "register_player"]
