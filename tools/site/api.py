"""Pages of the API reference: every public name of every public package, described by its docstring."""

from __future__ import annotations

import importlib
import inspect
import reprlib
from types import ModuleType

from tools.site.markdown import code, table

PACKAGES = {
    "ramify": "The names of `import ramify as rf`.",
    "ramify.games": "Games and states, and what authors of games use.",
    "ramify.engine": "Searches, their settings and results.",
    "ramify.equilibria": "Matrix games, and exact solutions of small games: `rf.equilibria`.",
    "ramify.evaluators": "Policies and values for positions.",
    "ramify.networks": "Networks: make, save, load, register.",
    "ramify.selfplay": "Many games at once, and records of games.",
    "ramify.training": "Training runs.",
    "ramify.arena": "Players, matches, tournaments, ratings.",
    "ramify.adapters": "Games for Gymnasium, PettingZoo and OpenSpiel: `rf.adapters`.",
    "ramify.store": "Stored games, runs and checkpoints.",
    "ramify.sweeps": "Tuning of settings.",
    "ramify.hex": "A complete Hex system.",
    "ramify.chess": "AlphaZero's chess search.",
    "ramify.pyrat": "A PyRat system.",
    "ramify.muzero": "Searches of learned models.",
    "ramify.protocols": "Programs that speak UCI, HTP and PyRat's protocol.",
}


def module_of(package: str) -> ModuleType:
    """The module behind the name of a package; rf.equilibria is one of the engine."""
    return importlib.import_module({"ramify.equilibria": "ramify.engine.equilibria"}.get(package, package))


def public_names(package: str) -> list[str]:
    """The names of a package, without modules: these have a page of their own."""
    module = module_of(package)
    return [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)]


def is_constant(package: str, name: str) -> bool:
    """Whether a name is plain data or the alias of a type: it has no docstring, and its value says what it is."""
    found = getattr(module_of(package), name)
    return not (inspect.isclass(found) or inspect.isroutine(found))


def path(package: str) -> str:
    """The path of a package's page."""
    return f"reference/api/{package.removeprefix('ramify.')}.md"


def pages() -> dict[str, str]:
    """{path: Markdown} of the API reference; mkdocstrings fills them. Names are described once."""
    homes: dict[int, str] = {}
    made = {path(package): page(package, words, homes) for package, words in PACKAGES.items()}
    rows = [[f"[{package}]({path(package).removeprefix('reference/')})", words] for package, words in PACKAGES.items()]
    made["reference/api.md"] = (
        "# API\n\nThe public names of each package. `import ramify as rf` brings those of `ramify`; packages that need "
        f"torch or a database are loaded when they are first used.\n\n{table(['package', 'what it has'], rows)}"
    )
    return made


def page(package: str, words: str, homes: dict[int, str]) -> str:
    """The page of a package; ``homes`` says which objects are described already, and where, and is added to."""
    module, parts, elsewhere = module_of(package), [f"# {package}\n", f"{words}\n"], []
    described, constants = [], []
    for name in public_names(package):
        if is_constant(package, name):
            constants.append([code(name), code(reprlib.repr(getattr(module, name)))])
            continue
        home = homes.setdefault(id(getattr(module, name)), package)
        if home == package:
            described.append(f"::: {module.__name__}.{name}\n")
        else:
            elsewhere.append(f"[{name}]({path(home).rpartition('/')[2]}#{module_of(home).__name__}.{name})")
    if elsewhere:
        parts.append(f"Also here: {', '.join(elsewhere)}.\n")
    if constants:
        parts.append(table(["constant", "value"], constants))
    return "\n".join([*parts, *described])
