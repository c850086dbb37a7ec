"""Games: the protocol, the registry, games written in Python, and the checker for game authors."""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from ramify._core import IllegalAction, InvalidInput
from ramify.base.deprecation import warn_renamed
from ramify.games import chess as _chess  # noqa: F401  # adds state.board
from ramify.games import pyrat as _pyrat  # noqa: F401  # adds presets and derived attributes
from ramify.games.broken import BrokenGame
from ramify.games.check import check_game
from ramify.games.native import restore_game, restore_state, state_attribute
from ramify.games.protocol import Game, State, Symmetry, number_of_players
from ramify.games.python_game import PythonGame
from ramify.games.python_state import PythonState
from ramify.games.registry import families, list_games, make, presets, register, register_family, register_presets
from ramify.games.report import Problem, Report
from ramify.games.stable import stable_key
from ramify.games.symmetry import PythonSymmetry, cell_symmetry, square_symmetries


def _family(name: str) -> None:
    """Register a family of games of another library; its module is imported with the first of them."""

    def load(game: str, params: dict[str, _Any]) -> Game:
        made: Game = _import_module(f"ramify.games.{name}").load(game, params)
        return made

    register_family(name, load)


for _name in ("gym", "openspiel", "pettingzoo", "pgx"):
    _family(_name)

__all__ = [
    "BrokenGame",
    "Game",
    "IllegalAction",
    "InvalidInput",
    "Problem",
    "PythonGame",
    "PythonState",
    "PythonSymmetry",
    "Report",
    "State",
    "Symmetry",
    "cell_symmetry",
    "check_game",
    "families",
    "list_games",
    "make",
    "number_of_players",
    "presets",
    "register",
    "register_family",
    "register_presets",
    "restore_game",
    "restore_state",
    "square_symmetries",
    "stable_key",
    "state_attribute",
]


class _CallableModule(_ModuleType):
    """This package, which could be called before version 0.2."""

    def __call__(self) -> list[str]:
        warn_renamed("ramify.games()", "ramify.list_games()")
        return list_games()


_sys.modules[__name__].__class__ = _CallableModule
