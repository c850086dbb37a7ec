"""Networks of other libraries through ``Function``: the examples run where the library is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(("name", "library"), [("jax_evaluator", "jax"), ("keras_evaluator", "keras")])
def test_example(name: str, library: str, tmp_path: Path) -> None:
    found = find_spec(library) and (library != "keras" or find_spec("torch"))
    assert run(name, "torch", tmp_path).startswith("visits: [" if found else "this example needs")


def test_keras_without_its_backend_says_how_to_choose_one(tmp_path: Path) -> None:
    """Keras takes TensorFlow unless it is told otherwise."""
    assert "KERAS_BACKEND" in run("keras_evaluator", "nothing", tmp_path)


def run(name: str, backend: str, home: Path) -> str:
    """What an example prints. Keras writes its settings into a folder, and takes its backend from the environment."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "KERAS_HOME": str(home)}
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
