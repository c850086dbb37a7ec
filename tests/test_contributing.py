"""The recipe for a network in CONTRIBUTING.md works as a reader would copy it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_recipe_for_a_network_searches_trains_and_loads(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (recipe,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "mine.py").write_text(recipe, encoding="utf-8")
    command = [sys.executable, "mine.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    action, kind = done.stdout.splitlines()
    assert re.fullmatch("[a-e][1-5]", action)
    assert kind == "mine"
