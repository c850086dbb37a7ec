"""What other packages add to this one: games, networks, players and presets, by entry points.

A package names them in its pyproject.toml, one entry point each, in the group ``ramify.games``, ``ramify.networks``,
``ramify.players`` or ``ramify.presets``::

    [project.entry-points."ramify.games"]
    nim = "my_package.nim:Nim"

Names are read from the metadata of installed packages, where a name is unknown here or a list is asked for; the module
behind a name is imported when that name is used. So a package that does not work stands in nobody's way.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

WHAT = {"games": "game", "networks": "network", "players": "player", "presets": "preset"}


class PluginError(ImportError):
    """What a package offers cannot be had. The message names the package and the reason."""


def names(group: str) -> list[str]:
    """The names that installed packages offer in a group; nothing is imported."""
    return sorted(_offers(group))


def package_of(group: str, name: str) -> str | None:
    """The package that offers a name, with its version; None if there is none."""
    entries = _offers(group).get(name)
    return None if entries is None else " and ".join(map(_package, entries))


def load(group: str, name: str) -> Any:
    """What a package offers under a name; None if no package does. Raises PluginError if it cannot be imported."""
    entries = _offers(group).get(name)
    if entries is None:
        return None
    if len(entries) > 1:
        several = package_of(group, name)
        raise PluginError(
            f"the {WHAT[group]} {name!r} is offered by several packages, {several}: uninstall all but one"
        )
    try:
        return entries[0].load()
    except (Exception, SystemExit) as error:  # whatever the code of others does
        raise wrong(group, name, f"{type(error).__name__}: {error}") from error


def wrong(group: str, name: str, why: str) -> PluginError:
    """The error that says why what a package offers under a name cannot be used."""
    behind = ", ".join(entry.value for entry in _offers(group).get(name, ()))
    return PluginError(f"the {WHAT[group]} {name!r} of the package {package_of(group, name)} ({behind}): {why}")


def _offers(group: str) -> dict[str, list[EntryPoint]]:
    return _found(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _found(group: str, path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """{name: entry points}, read once for every search path."""
    del path
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=f"ramify.{group}"):
        found.setdefault(entry.name, []).append(entry)
    return found


def _package(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
