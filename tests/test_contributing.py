"""The recipe for a network in CONTRIBUTING.md works as a reader would copy it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.children import run_program

PAGE = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_recipe_for_a_network_searches_trains_and_loads(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (recipe,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    ended = run_program(recipe, folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    action, kind = ended.out.splitlines()
    assert re.fullmatch("[a-e][1-5]", action)
    assert kind == "mine"
