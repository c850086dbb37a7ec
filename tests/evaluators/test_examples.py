"""Networks of other libraries through ``Function``: the examples run where the library is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(("name", "library"), [("jax_evaluator", "jax"), ("keras_evaluator", "keras")])
def test_example(name: str, library: str) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=True)
    expected = "visits: [" if find_spec(library) else "this example needs"
    assert done.stdout.startswith(expected)
