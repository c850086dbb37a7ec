"""Print what pip has to install before this package: its dependencies, the extras named, its build tools.

The package itself is then installed with --no-deps --no-build-isolation: isolation cannot be switched off for
it alone, and some of its dependencies have to be built too.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

CMAKE = ["cmake", "ninja"]  # what scikit-build-core would bring into an isolated build


def requirements(text: str, extras: list[str]) -> list[str]:
    """Requirement lines from the text of a pyproject.toml."""
    data = tomllib.loads(text)
    optional = data["project"]["optional-dependencies"]
    if unknown := [extra for extra in extras if extra not in optional]:
        sys.exit(f"ramify: no extra named {', '.join(unknown)}; there are {', '.join(optional)}")
    chosen = [line for extra in extras for line in optional[extra]]
    return [*data["build-system"]["requires"], *CMAKE, *data["project"]["dependencies"], *chosen]


if __name__ == "__main__":
    pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
    wanted = [extra for extra in "".join(sys.argv[1:]).split(",") if extra]
    print("\n".join(requirements(pyproject.read_text(encoding="utf-8"), wanted)))
