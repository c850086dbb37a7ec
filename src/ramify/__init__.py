"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from ramify.games import Game, IllegalAction, InvalidInput, State, games, make, register

__version__ = "0.1.0"

__all__ = [
    "Game",
    "IllegalAction",
    "InvalidInput",
    "State",
    "games",
    "make",
    "register",
]
