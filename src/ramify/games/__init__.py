"""Games: the protocol, the registry, games written in Python, and the checker for game authors."""

from ramify._core import IllegalAction, InvalidInput
from ramify.games import chess as _chess  # noqa: F401  # adds state.board
from ramify.games.native import restore_game, restore_state, state_attribute
from ramify.games.protocol import Game, State, Symmetry
from ramify.games.registry import games, make, presets, register, register_family, register_presets

__all__ = [
    "Game",
    "IllegalAction",
    "InvalidInput",
    "State",
    "Symmetry",
    "games",
    "make",
    "presets",
    "register",
    "register_family",
    "register_presets",
    "restore_game",
    "restore_state",
    "state_attribute",
]
