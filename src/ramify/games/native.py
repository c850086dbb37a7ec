"""Python support of native games: pictures, extra attributes, pickling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ramify import _core

_attributes: dict[tuple[str, str], Callable[[_core.State], object]] = {}
F = TypeVar("F", bound=Callable[[_core.State], object])


def state_attribute(game: str, name: str) -> Callable[[F], F]:
    """Decorator that defines the attribute ``state.NAME`` of a native game."""

    def add(function: F) -> F:
        _attributes[game, name] = function
        return function

    return add


def _attribute(state: _core.State, name: str) -> Any:
    if not name.startswith("_"):
        if (state.game.name, name) in _attributes:
            return _attributes[state.game.name, name](state)
        fields = state.fields
        if name in fields:
            return fields[name]
    raise AttributeError(f"a state of {state.game.name} has no attribute {name!r}")


def _svg(state: _core.State) -> str:
    from ramify.games.pictures import draw  # imported on first use, because drawing is rare

    return draw(state)


def restore_game(name: str, params: dict[str, Any]) -> _core.Game:
    """Rebuild a pickled native game."""
    return _core.make_game(name, params)


def restore_state(game: _core.Game, fields: dict[str, Any], first: float, second: float) -> _core.State:
    """Rebuild a pickled native state."""
    state = game.state(**fields)
    state._set_returns(first, second)
    return state


_core.hooks.update(svg=_svg, attribute=_attribute)
