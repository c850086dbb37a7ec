"""The registry of games: native games, those registered from Python, families such as ``openspiel:NAME``, plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from ramify import _core
from ramify.base import plugins
from ramify.base.hints import did_you_mean
from ramify.games.protocol import Game

Factory = Callable[..., Game]
F = TypeVar("F", bound=Factory)

_python_games: dict[str, Factory] = {}
_families: dict[str, Callable[[str, dict[str, Any]], Game]] = {}
_presets: dict[str, dict[str, dict[str, Any]]] = {}


def other_reward(game: Game, trained: Any) -> Any:
    """The parameter ``reward`` of a game if a network was trained with another one: its values mean something else.
    None if both are the same, or one of them has none."""
    given = None if trained is None else game.params.get("reward")  # not every game has parameters
    return None if given == trained else given


def checked_game(game: Any, who: str) -> Game:
    """Validate a game; raises a TypeError that explains how to create one from a name."""
    if not hasattr(type(game), "initial_state"):
        given = f"the name {game!r}" if isinstance(game, str) else type(game).__name__
        raise TypeError(f"{who} needs a game (see ramify.make), not {given}")
    found: Game = game
    return found


@overload
def register(name: F) -> F: ...
@overload
def register(name: str | None = None) -> Callable[[F], F]: ...
def register(name: str | F | None = None) -> F | Callable[[F], F]:
    """Class decorator that registers a game written in Python for ``make(name, ...)``.

    ``@register`` without arguments derives the name from the class. Registering a name again replaces the
    game, as happens when a notebook cell runs twice; names of native games cannot be used.
    """
    if callable(name):
        return _register(name, getattr(name, "name", None))
    return lambda factory: _register(factory, getattr(factory, "name", None) if name is None else name)


def _register(factory: F, name: Any) -> F:
    if not isinstance(name, str) or not name or ":" in name:
        raise ValueError(f"name must be a string without ':', not {name!r}")
    if name in _core.game_names():
        raise ValueError(f"{name!r} is the name of a native game: choose another name")
    if isinstance(factory, type):
        factory.name = name  # type: ignore[attr-defined]  # the class learns the name it is known by
    _python_games[name] = factory
    return factory


@contextmanager
def registered_stay() -> Iterator[list[str]]:
    """What registers games within does not replace those registered before; yields the names that it tried to."""
    before, tried = dict(_python_games), list[str]()
    try:
        yield tried
    finally:
        tried += [name for name, factory in before.items() if _python_games[name] is not factory]
        _python_games.update(before)


def registered(name: str) -> Factory | None:
    """The class or function that makes a game registered from Python or offered by a package; None for other names.

    Raises PluginError where the package cannot be used.
    """
    if name in _python_games or name in _core.game_names():
        return _python_games.get(name)
    offered = plugins.load("games", name)
    if offered is None:
        return None
    if name not in _python_games:  # loading it may have registered it
        if not callable(offered):
            raise plugins.wrong("games", name, f"it must be a class or a function that makes a game, not {offered!r}")
        _register(offered, name)
    return _python_games[name]


def register_family(prefix: str, factory: Callable[[str, dict[str, Any]], Game]) -> None:
    """Register a family of games ``prefix:NAME``; the factory gets NAME and the parameters."""
    _families[prefix] = factory


def register_presets(game: str, presets: dict[str, dict[str, Any]]) -> None:
    """Register presets (named sets of parameters) for ``make(game, preset=...)``; explicit parameters override them."""
    _presets[game] = presets


def list_games() -> list[str]:
    """The names of all games for :func:`make`, without families such as ``openspiel:NAME``."""
    return sorted({*_core.game_names(), *_python_games, *plugins.names("games")})


def families() -> list[str]:
    """The prefixes of families of games, such as ``openspiel``."""
    return sorted(_families)


def presets(game: str) -> dict[str, dict[str, Any]]:
    """The presets of a game."""
    return dict(_presets.get(game, {}))


def make(name: str, /, *, preset: str | None = None, **params: Any) -> Game:
    """Create a game by name. ``list_games()`` lists the names, ``ramify games NAME`` the parameters of a game."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    if preset is not None:
        params = {**_preset(name, preset), **params}
    if name in _core.game_names():
        return _core.make_game(name, params)
    prefix, separator, rest = name.partition(":")
    if separator and prefix in _families:
        return _families[prefix](rest, params)
    if (factory := registered(name)) is not None:
        return factory(**params)
    hint = did_you_mean(name, list_games(), after=" ")
    others = ", ".join(f"{family}:NAME" for family in families())
    raise ValueError(
        f"no game named {name!r}; {hint}known games: {', '.join(list_games())}, {others}; "
        "for a game of your own, import the module that registers it (--import MODULE on the command line)"
    )


def _preset(game: str, preset: str) -> dict[str, Any]:
    known = _presets.get(game, {})
    if preset not in known:
        options = ", ".join(known) or "none"
        raise ValueError(f"game {game!r} has no preset {preset!r}; its presets are {options}")
    return known[preset]
