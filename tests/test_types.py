"""Types that users meet are real: what public functions return is annotated, and no Any hides behind it.

`make lint` checks programs of users against them: ``tests/typed/``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

PACKAGES = (
    "ramify",
    "ramify.games",
    "ramify.engine",
    "ramify.arena",
    "ramify.evaluators",
    "ramify.networks",
    "ramify.selfplay",
    "ramify.training",
    "ramify.store",
)

# Where Any is the truth, by what a reader should know of it.
PLAIN_DATA = r"dict\[str, Any\]"  # parameters, records and settings: what JSON or YAML can hold
ARRAYS = r"NDArray\[Any\]"  # an array, of a type that depends on what was given
A_POSITION = "a position is whatever the author of the game chooses"
ALLOWED = {
    "ramify.games.python_game.PythonGame.start": A_POSITION,
    "ramify.games.python_game.PythonGame.apply": A_POSITION,
    "ramify.games.python_game.PythonGame.transform": A_POSITION,
    "ramify.games.python_state.PythonState.position": A_POSITION,
}


def modules() -> Iterator[tuple[str, Any]]:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    yield from ((name, importlib.import_module(name)) for name in PACKAGES)


def functions(package: str, module: Any) -> Iterator[tuple[str, Any]]:
    """Public functions, and public methods and properties of public classes, that are written in this project."""
    for name in module.__all__:
        public = getattr(module, name)
        if inspect.isfunction(public):
            yield f"{package}.{name}", public
        elif inspect.isclass(public) and public.__module__.startswith("ramify"):
            for member, value in list(vars(public).items()):  # a look at a class of settings builds its validator
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{public.__module__}.{public.__qualname__}.{member}", function


def returned(function: Any) -> str:
    """The annotation of what a function returns, as text."""
    annotation = getattr(function, "__annotations__", {}).get("return", "missing")
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def hides_something(annotation: str) -> bool:
    rest = re.sub(f"{PLAIN_DATA}|{ARRAYS}", "", annotation)
    return annotation == "missing" or re.search(r"\bAny\b", rest) is not None


def test_no_public_function_returns_any() -> None:
    seen = {name: returned(function) for package, module in modules() for name, function in functions(package, module)}
    assert len(seen) > 250, "the walk has lost its way"
    assert {name: text for name, text in seen.items() if hides_something(text) and name not in ALLOWED} == {}
    assert set(ALLOWED) <= {name for name, text in seen.items() if hides_something(text)}, "an exception is out of date"
