"""Deprecated names: they keep working for one version, with a warning that gives the new name."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class RenamedWarning(DeprecationWarning):
    """A deprecated name was used. A separate class, so that the command line can show only these warnings."""


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn that a deprecated name was used, at the line that called the caller."""
    warnings.warn(
        f"{old} is now {new}; the old name will be removed in version 0.3", RenamedWarning, stacklevel=stacklevel
    )


def renamed(module: str, names: Mapping[str, tuple[str, Callable[[], Any]]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module with deprecated names: {old: (new, function that returns the object)}."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new, find = names[name]
        warn_renamed(f"{module}.{name}", new)
        return find()

    return __getattr__


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """Decorator for functions, methods and classes with renamed keyword arguments: ``old="new"``."""

    def decorate(target: F) -> F:
        if isinstance(target, type):
            target.__init__ = decorate(target.__init__)  # type: ignore[misc]
            return target

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in names.keys() & kwargs.keys():
                if names[old] in kwargs:
                    raise TypeError(f"{old} is the old name of {names[old]}: give only {names[old]}")
                warn_renamed(f"the argument {old}", names[old])
                kwargs[names[old]] = kwargs.pop(old)
            return target(*args, **kwargs)

        return cast(F, call)

    return decorate
