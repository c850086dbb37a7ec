"""The type stub of the compiled core: write it, or compare it with what the core says of itself (--check)."""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
from pathlib import Path

from nanobind.stubgen import StubGen, load_pattern_file

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "src/ramify/_core.pyi"
PATTERNS = ROOT / "tools/stub.patterns"


def generate() -> str:
    """The stub of the core that this interpreter loads."""
    module = importlib.import_module("ramify._core")
    generator = StubGen(module, include_private=True, patterns=load_pattern_file(str(PATTERNS)))
    generator.put(module)
    return "\n".join(line.rstrip() for line in generator.get().splitlines()).strip() + "\n"


def difference(committed: str, fresh: str) -> list[str]:
    """What a fresh stub changes, as lines of a diff; empty when the committed one is current."""
    return list(
        difflib.unified_diff(committed.splitlines(), fresh.splitlines(), "committed", "fresh", lineterm="", n=1)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the stub is out of date")
    check = parser.parse_args().check
    fresh = generate()
    if not check:
        STUB.write_text(fresh, encoding="utf-8")
        return 0
    changes = difference(STUB.read_text(encoding="utf-8") if STUB.exists() else "", fresh)
    if changes:
        print("\n".join(changes[:40]))
        print(f"{STUB.relative_to(ROOT)} is out of date: run `make stub` and commit it")
    return bool(changes)


if __name__ == "__main__":
    sys.exit(main())
