"""Modules of the user, imported by name or from a file: they register games and players of their own."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType

_imported: dict[str, None] = {}  # in their order


def imported() -> tuple[str, ...]:
    """The modules that were imported by :func:`import_modules`, files with their absolute paths.

    A process started by this one imports them again: ``import_modules(imported())``.
    """
    return tuple(_imported)


def import_modules(names: Iterable[str]) -> None:
    """Import modules by name (``my_package.my_game``) or from a file (``games/my_game.py``).

    Names are also looked for in the working directory, and a file may import those beside it. Each module is imported
    once. An ImportError says which one cannot be imported, and why.
    """
    for name in names:
        if name.endswith(".py") or os.sep in name:
            file = Path(name).resolve()
            if str(file) not in _imported:
                _import_file(file)
            _imported[str(file)] = None
        elif name not in _imported:
            _find_in(Path.cwd())
            _run(name, partial(importlib.import_module, name))
            _imported[name] = None


def _import_file(file: Path) -> None:
    if not file.is_file():
        raise ImportError(f"cannot import {str(file)!r}: there is no such file")
    name = file.stem
    there = sys.modules.get(name)
    if there is not None:
        known = getattr(there, "__file__", None)
        if known is not None and Path(known).resolve() == file:
            return
        raise ImportError(f"cannot import {str(file)!r}: there is another module named {name!r}; rename the file")
    _find_in(file.parent)
    _run(str(file), partial(_execute, name, file))


def _execute(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # under its own name: games are pickled by the names of their classes
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _run(name: str, load: Callable[[], ModuleType]) -> None:
    try:
        load()
    except Exception as error:
        what = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ImportError(f"cannot import {name!r}: {what}") from error


def _find_in(folder: Path) -> None:
    """Look for modules in a folder too, after all other places: nothing there takes the place of a package."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
