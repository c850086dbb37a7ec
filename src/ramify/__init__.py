"""Neural-guided search in games: turn-based, simultaneous and learned, with one compiled engine."""

from ramify.games import (
    BrokenGame,
    Game,
    IllegalAction,
    InvalidInput,
    PythonGame,
    State,
    check_game,
    games,
    make,
    register,
)

__version__ = "0.1.0"

__all__ = [
    "BrokenGame",
    "Game",
    "IllegalAction",
    "InvalidInput",
    "PythonGame",
    "State",
    "check_game",
    "games",
    "make",
    "register",
]
