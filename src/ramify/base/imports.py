"""Import of user modules, by name or from a file. Such modules register their own games and players."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType

_imported: dict[str, None] = {}  # in the order of import


def imported() -> tuple[str, ...]:
    """The modules imported by :func:`import_modules`; files are given by their absolute paths.

    Child processes import them again: ``import_modules(imported())``.
    """
    return tuple(_imported)


def import_modules(names: Iterable[str]) -> None:
    """Import modules by name (``my_package.my_game``) or from a file (``games/my_game.py``).

    Names are also looked up in the working directory, and a file can import other files of its folder. Each module is
    imported once. Raises an ImportError with the module and the reason if it cannot be imported.
    """
    for name in names:
        if name.endswith(".py") or os.sep in name:
            file = Path(name).resolve()
            if str(file) not in _imported:
                _import_file(file)
            _imported[str(file)] = None
        elif name not in _imported:
            _check_name(name)
            _find_in(Path.cwd())
            _run(name, partial(importlib.import_module, name))
            _imported[name] = None


def forget_module(name: str) -> None:
    """Leave a module out of ``imported()``: child processes do not import it."""
    _imported.pop(name, None)


def _check_name(name: str) -> None:
    """Raise an ImportError if a name cannot be that of a module."""
    if Path(name).is_file():
        raise ImportError(f"cannot import {name!r}: it is not a Python file; its name must end in .py")
    if not all(part.isidentifier() for part in name.split(".")):
        raise ImportError(
            f"cannot import {name!r}: give the name of a module, such as my_game, or a Python file, such as my_game.py"
        )


def _import_file(file: Path) -> None:
    if file.is_dir():
        raise ImportError(f"cannot import {str(file)!r}: it is a folder; give a Python file in it, such as my_game.py")
    if not file.is_file():
        raise ImportError(f"cannot import {str(file)!r}: there is no such file")
    if file.suffix != ".py":
        raise ImportError(f"cannot import {str(file)!r}: it is not a Python file; its name must end in .py")
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
    sys.modules[name] = module  # needed for pickling: a pickled game names the module of its class
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
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            there = "in this folder or among the installed packages"
            if error.name != name:
                what += ", which it imports"
            elif "not a package" not in what:
                what += f" {there}"
        raise ImportError(f"cannot import {name!r}: {what}") from error


def _find_in(folder: Path) -> None:
    """Add a folder to the end of the search path, so that its files do not shadow installed packages."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
