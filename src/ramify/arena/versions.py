"""Versions of a player's code: declared versions, and checksums of source files.

They are part of a player's identity, so that stored games are not reused after its code has changed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from weakref import WeakKeyDictionary

_codes: WeakKeyDictionary[type, str] = WeakKeyDictionary()


@functools.cache
def package_version() -> str:
    """The installed version of ramify."""
    try:
        return version("ramify")
    except PackageNotFoundError:
        return "unknown"


def code_version(kind: type) -> str:
    """The version of a class of players: its declared ``version``, or a checksum of its module and of the user's own
    modules that it imports. A class without a source file (typed at a prompt) gets a version that is valid only in
    this process."""
    if "version" in vars(kind):
        return f"declared {vars(kind)['version']}"
    if kind not in _codes:
        file = source_file(kind)
        _codes[kind] = secrets.token_hex(8) if file is None else sources_checksum(kind.__module__, file)
    return _codes[kind]


def source_file(kind: type) -> Path | None:
    """The source file of a class; None if there is none, or the class is not in it."""
    module = sys.modules.get(kind.__module__)
    name = getattr(module, "__file__", None)
    if name is None or not name.endswith(".py"):
        return None
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return Path(name) if f"class {kind.__name__}" in text else None


def sources_checksum(module: str, file: Path) -> str:
    """Checksum of a module and of the user's own modules that it imports: not installed packages, the standard library
    or ramify, which have versions. Comments count; file names do not."""
    waiting, texts = [(module, file)], dict[Path, str]()
    while waiting:
        name, path = waiting.pop()
        path = path.resolve()
        if path in texts:
            continue
        texts[path] = path.read_text(encoding="utf-8")  # line ends are the same on all systems
        if not name.startswith("ramify."):
            waiting += own_imports(name, path, texts[path])
    sums = sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts.values())
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:16]


def own_imports(module: str, file: Path, text: str) -> Iterator[tuple[str, Path]]:
    """The user's own modules that a source imports anywhere, with their files."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for name in imported_names(text, package):
        spec = own_spec(name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            yield name, Path(spec.origin)


def imported_names(text: str, package: str) -> Iterator[str]:
    """Absolute names in import statements. Names after ``from x import`` may be modules, too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            except ImportError:  # relative, in a file that is run as a script: it could not be imported either
                continue
            if base:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def own_spec(name: str) -> ModuleSpec | None:
    """The location of one of the user's own modules; None for others. Imports no installed package."""
    top = name.partition(".")[0]
    if top == "ramify" or top in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(top)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
        if any(place and {"site-packages", "dist-packages"} & set(Path(place).parts) for place in places):
            return None
        return spec if name == top else find_spec(name)
    except (ImportError, ValueError, AttributeError):  # not found, or not a module
        return None


def named_files(command: str, others: Iterable[str] = ()) -> list[Path]:
    """Files named by a command: the program, and arguments that are files, also after ``=``; and ``others``."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    program = shutil.which(words[0]) if words else None
    texts = [*words[1:], *others]
    values = [value for text in texts for value in (text, text.partition("=")[2]) if value]
    found = [Path(program)] if program else []
    return [*found, *(path for path in map(Path, values) if is_file(path))]


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not a valid file name
        return False


def checksums(files: Iterable[Path]) -> dict[Path, str]:
    """Checksums of files."""
    found = {}
    for path in files:
        try:
            status = path.stat()
            found[path] = _checksum(path, status.st_size, status.st_mtime_ns)
        except OSError:
            continue
    return found


@functools.lru_cache(maxsize=256)
def _checksum(path: Path, size: int, changed: int) -> str:
    del size, changed  # only part of the cache key: a file with the same size and time is taken as unchanged
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
