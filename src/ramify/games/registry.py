"""Games by name: the native ones, those registered from Python, and families such as ``openspiel:NAME``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from ramify import _core
from ramify.base.hints import did_you_mean
from ramify.games.protocol import Game

Factory = Callable[..., Game]
F = TypeVar("F", bound=Factory)

_python_games: dict[str, Factory] = {}
_families: dict[str, Callable[[str, dict[str, Any]], Game]] = {}
_presets: dict[str, dict[str, dict[str, Any]]] = {}


def checked_game(game: Any, who: str) -> Game:
    """The game, if it is one; a TypeError that says how to get one for a name otherwise."""
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
    """Class decorator: make a game written in Python available as ``make(name, ...)``.

    ``@register`` alone takes the name from the class. Registering a name again replaces the game, as happens
    when a notebook cell runs twice; names of native games are taken.
    """
    if callable(name):
        return _register(name, getattr(name, "name", None))
    return lambda factory: _register(factory, getattr(factory, "name", None) if name is None else name)


def _register(factory: F, name: Any) -> F:
    if not isinstance(name, str) or not name or ":" in name:
        raise ValueError(f"a game's name is a text without ':', not {name!r}")
    if name in _core.game_names():
        raise ValueError(f"{name!r} is a native game; choose another name")
    if isinstance(factory, type):
        factory.name = name  # type: ignore[attr-defined]  # the class learns the name it is known by
    _python_games[name] = factory
    return factory


def register_family(prefix: str, factory: Callable[[str, dict[str, Any]], Game]) -> None:
    """Make every ``prefix:NAME`` available; the factory gets NAME and the parameters."""
    _families[prefix] = factory


def register_presets(game: str, presets: dict[str, dict[str, Any]]) -> None:
    """Named sets of parameters: ``make(game, preset=...)``; parameters given beside it win."""
    _presets[game] = presets


def list_games() -> list[str]:
    """Names that :func:`make` knows (families such as ``openspiel:NAME`` apart)."""
    return sorted([*_core.game_names(), *_python_games])


def families() -> list[str]:
    """Prefixes of games that :func:`make` finds elsewhere: ``openspiel`` for ``openspiel:NAME``."""
    return sorted(_families)


def presets(game: str) -> dict[str, dict[str, Any]]:
    """The named parameter sets of a game."""
    return dict(_presets.get(game, {}))


def make(name: str, /, *, preset: str | None = None, **params: Any) -> Game:
    """The game of that name. ``list_games()`` lists the names; see API docs for parameters."""
    if not isinstance(name, str):
        raise TypeError(f"a game's name is a text, not {type(name).__name__}")
    if preset is not None:
        params = {**_preset(name, preset), **params}
    if name in _core.game_names():
        return _core.make_game(name, params)
    if name in _python_games:
        return _python_games[name](**params)
    prefix, separator, rest = name.partition(":")
    if separator and prefix in _families:
        return _families[prefix](rest, params)
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
        raise ValueError(f"game {game!r} has no preset {preset!r}; its presets: {options}")
    return known[preset]
