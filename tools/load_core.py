"""Pytest plugin: test the core in the file that RAMIFY_CORE names, in place of the installed one.

`make sanitize` builds that file; see tools/sanitize.sh.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

NAME = "ramify._core"

if not (path := os.environ.get("RAMIFY_CORE")):
    raise RuntimeError("RAMIFY_CORE must name the core to test")
spec = importlib.util.spec_from_file_location(NAME, path)
if spec is None or spec.loader is None:
    raise RuntimeError(f"RAMIFY_CORE={path} is not an extension module")
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
sys.modules[NAME] = core  # from here on, every import of the core means this one


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows that the right core was under test."""
    terminalreporter.write_line(f"core: {path}, sanitizer: {core.build_info()['sanitizer']}")


def pytest_sessionfinish() -> None:
    """No test has gone round this plugin."""
    if sys.modules.get(NAME) is not core:
        raise RuntimeError(f"the tests ran another core than {path}")
