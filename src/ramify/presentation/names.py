"""Games, players and durations as people call them."""

from __future__ import annotations

from typing import Any

from ramify.games import Game

PLAYERS = {  # as drawn in pictures; other games have a first and a second player
    "hex": ("Red", "Blue"),
    "connect_four": ("Red", "Yellow"),
    "tictactoe": ("X", "O"),
    "chess": ("White", "Black"),
    "pyrat": ("The rat", "The python"),
}


def player_name(game: Game, player: int) -> str:
    """What a game calls one of its players."""
    return PLAYERS.get(game.name, ("The first player", "The second player"))[player]


def seat_name(game: Game, player: int) -> str:
    """A player in tables of searches: White and Black in chess, where nobody says anything else, else by number."""
    return player_name(game, player) if game.name == "chess" else f"player {player}"


def duration(seconds: float) -> str:
    """A duration as text."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def game_title(game: Game) -> str:
    """The game's name as text."""
    params = game.params
    if game.name == "hex":
        return f"Hex {params['size']}×{params['size']}{' with the swap rule' if params['swap'] else ''}"
    if game.name == "pyrat":
        return f"PyRat {params['width']}×{params['height']}"
    if game.name == "goofspiel":
        return f"Goofspiel with {params['cards']} cards"
    if game.name == "pig":
        return f"Pig to {params['target']}"
    if game.name in (known := {"tictactoe": "tic-tac-toe", "connect_four": "Connect Four", "chess": "chess"}):
        return known[game.name]
    family, _, name = game.name.partition(":")
    words = (name or family).replace("_", " ").replace("-", " ")
    given = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in params.items() if is_short(value))
    return f"{words} ({given})" if given else words


def is_short(value: Any) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) <= 20
