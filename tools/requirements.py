"""Print what pip has to install before this package: its build tools, its dependencies and the extras named.

With ``--build`` only the build tools: once they are there, the core can be compiled while the rest is installed.

The package itself is then installed with --no-deps --no-build-isolation: isolation cannot be switched off for
it alone, and some of its dependencies have to be built too.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

CMAKE = ["cmake", "ninja"]  # what scikit-build-core would bring into an isolated build


def build_tools(text: str) -> list[str]:
    """What compiling needs, from the text of a pyproject.toml."""
    return [*tomllib.loads(text)["build-system"]["requires"], *CMAKE]


def requirements(text: str, extras: list[str]) -> list[str]:
    """Requirement lines from the text of a pyproject.toml."""
    data = tomllib.loads(text)
    optional = data["project"]["optional-dependencies"]
    if unknown := [extra for extra in extras if extra not in optional]:
        sys.exit(f"ramify: no extra named {', '.join(unknown)}; there are {', '.join(optional)}")
    chosen = [line for extra in extras for line in optional[extra]]
    return [*build_tools(text), *data["project"]["dependencies"], *chosen]


if __name__ == "__main__":
    pyproject = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    wanted = [extra for extra in "".join(sys.argv[1:]).split(",") if extra]
    print("\n".join(build_tools(pyproject) if wanted == ["--build"] else requirements(pyproject, wanted)))
