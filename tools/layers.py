"""The layers of the project, and the check that every import and #include respects them.

A module imports only from its own package and from layers above it in the list. There are no exceptions: an
import inside a function counts, and so does one for type checkers only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent

# Top to bottom. Names on one line are neighbours that do not know each other. `ramify` itself is the front
# door of the package: it re-exports what lies above it.
PYTHON_LAYERS: tuple[tuple[str, ...], ...] = (
    ("ramify._core",),
    ("ramify.base",),
    ("ramify.cluster",),
    ("ramify.games",),
    ("ramify.engine",),
    ("ramify.networks",),
    ("ramify.evaluators",),
    ("ramify.selfplay",),
    ("ramify.training",),
    ("ramify.arena",),
    ("ramify.adapters",),
    ("ramify.store",),
    ("ramify.sweeps",),
    ("ramify.chess", "ramify.hex", "ramify.pyrat", "ramify.muzero"),
    ("ramify.protocols",),
    ("ramify.presentation",),
    ("ramify",),
    ("ramify.dashboard",),
    ("ramify.cli",),
    ("ramify.__main__",),
)
CPP_LAYERS = ("base", "games", "search", "bind")

# Heavy packages, and the layers or modules that may import them: nothing else loads them by accident.
HOMES = {
    "torch": (
        "ramify.networks",
        "ramify.evaluators.network",
        "ramify.evaluators.backends",
        "ramify.evaluators.cpu",
        "ramify.evaluators.cuda",
        "ramify.evaluators.eager",
        "ramify.evaluators.latent",
        "ramify.evaluators.torch_threads",
        "ramify.evaluators.weights",
        "ramify.training",
    ),
    "sqlalchemy": ("ramify.store",),
    "alembic": ("ramify.store",),
    "psycopg": ("ramify.store",),
    "optuna": ("ramify.sweeps",),
    "ray": ("ramify.cluster",),
    "nicegui": ("ramify.dashboard",),
    "uvicorn": ("ramify.dashboard",),
}
# Optional or slow to load: imported where they are used, never when a module loads.
LAZY = frozenset(
    {
        "chess",
        "gymnasium",
        "jax",
        "keras",
        "onnx",
        "onnxruntime",
        "open_spiel",
        "openvino",
        "pettingzoo",
        "pgx",
        "pyspiel",
        "ray",
    }
)
# Modules with subclasses of what these packages define, which are themselves imported where they are used.
SUBCLASSING = frozenset(
    {"ramify.adapters.gymnasium_envs", "ramify.adapters.openspiel_games", "ramify.adapters.pettingzoo_envs"}
)


@dataclass(frozen=True)
class Import:
    """One imported module, and where."""

    target: str
    line: int
    at_load: bool


def package_of(module: str) -> tuple[int, str] | None:
    """The layer's number and the package a module belongs to; None if it belongs to no layer."""
    for number, names in enumerate(PYTHON_LAYERS):
        for name in names:
            if module == name or (name != "ramify" and module.startswith(name + ".")):
                return number, name
    return None


def module_name(path: PurePosixPath) -> str:
    """ramify/games/registry.py -> ramify.games.registry"""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Collector(ast.NodeVisitor):
    def __init__(self, module: str, is_package: bool, known: frozenset[str]) -> None:
        self.package = module if is_package else module.rpartition(".")[0]
        self.known = known
        self.deferred = 0
        self.imports: list[Import] = []

    def _add(self, target: str, node: ast.AST) -> None:
        self.imports.append(Import(target, getattr(node, "lineno", 0), self.deferred == 0))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parents = self.package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            self._add(inner if inner in self.known else base, node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
            self._add(str(node.args[0].value), node)
        self.generic_visit(node)

    def _visit_deferred(self, node: ast.AST) -> None:
        self.deferred += 1
        self.generic_visit(node)
        self.deferred -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_deferred  # noqa: N815

    def visit_If(self, node: ast.If) -> None:
        name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
        if name != "TYPE_CHECKING":
            return self.generic_visit(node)
        self.deferred += 1
        for child in node.body:
            self.visit(child)
        self.deferred -= 1
        for child in node.orelse:
            self.visit(child)
        return None


def _judge(module: str, found: Import) -> str | None:
    """What is wrong with this import, if anything."""
    top = found.target.partition(".")[0]
    here = package_of(module)
    if here is None:
        return f"{module} belongs to no layer"
    if top in HOMES and not any(module == home or module.startswith(f"{home}.") for home in HOMES[top]):
        return f"{top} belongs to {' and '.join(HOMES[top])} only"
    late = (top in LAZY and module not in SUBCLASSING) or found.target in SUBCLASSING
    if late and found.at_load:
        return f"{found.target} is imported when {module} loads; import it inside the function that needs it"
    if top != "ramify":
        return None
    there = package_of(found.target)
    if there is None:
        return f"{found.target} belongs to no layer"
    if there[1] == here[1] or there[0] < here[0]:
        return None
    return f"{here[1]} imports {found.target}, which is not above it"


def python_violations(files: dict[str, str]) -> Iterator[str]:
    """Violations in Python sources, given as {path below src: text}."""
    known = frozenset(module_name(PurePosixPath(path)) for path in files)
    known |= {name for names in PYTHON_LAYERS for name in names}
    for path, text in sorted(files.items()):
        module = module_name(PurePosixPath(path))
        if package_of(module) is None:
            yield f"src/{path}:1: {module} belongs to no layer"
            continue
        collector = _Collector(module, path.endswith("__init__.py"), known)
        collector.visit(ast.parse(text, path))
        for found in collector.imports:
            if problem := _judge(module, found):
                yield f"src/{path}:{found.line}: {problem}"


def _judge_include(path: PurePosixPath, quoted: bool, target: str, known: set[str], games: set[str]) -> str | None:
    layer = path.parts[0]
    if target.startswith("nanobind/") or target == "Python.h":
        return None if layer == "bind" else f"only cpp/bind knows Python, cpp/{layer} includes {target}"
    if not quoted or target.startswith("@"):  # the standard library; a name that CMake fills in
        return None
    if target not in known:
        return f'no file cpp/{target}; includes are written from cpp/, as in "base/hash.hpp"'
    other = target.partition("/")[0]
    if CPP_LAYERS.index(other) > CPP_LAYERS.index(layer):
        return f"cpp/{layer} includes {target}, which is not above it"
    if target in games and layer != "bind" and not _same_game(path, PurePosixPath(target)):
        return f"{target} is one game's own: nothing outside that game may know it"
    return None


def _same_game(path: PurePosixPath, header: PurePosixPath) -> bool:
    if len(header.parts) > 2:  # games/chess/…: the folder is the game
        return path.parts[:2] == header.parts[:2]
    return path.with_suffix("") == header.with_suffix("")


def cpp_violations(files: dict[str, str]) -> Iterator[str]:
    """Violations in C++ sources, given as {path below cpp: text}, with games/list.cmake among them."""
    games = set(re.findall(r'"(games/\S+) \w+"', files.get("games/list.cmake", "")))
    known = set(files)
    for name, text in sorted(files.items()):
        path = PurePosixPath(name)
        if path.parts[0] not in CPP_LAYERS:
            yield f"cpp/{name}:1: belongs to no layer"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if include and (problem := _judge_include(path, include[1] == '"', include[2], known, games)):
                yield f"cpp/{name}:{number}: {problem}"


def read_tree(folder: Path, suffixes: tuple[str, ...]) -> dict[str, str]:
    """{path below the folder: text} of every source file in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.name.endswith(suffixes)
    }


def violations() -> list[str]:
    """Everything in this project that breaks the layers."""
    python = read_tree(ROOT / "src", (".py",))
    cpp = read_tree(ROOT / "cpp", (".hpp", ".cpp", ".h", ".in", ".cmake"))
    return [*python_violations(python), *cpp_violations(cpp)]


def main() -> int:
    found = violations()
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations" if found else "layers: every import and #include is in order")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
