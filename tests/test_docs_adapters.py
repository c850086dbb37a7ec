"""The examples of docs/adapters.md run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.children import run_program

PAGE = (Path(__file__).resolve().parent.parent / "docs/adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
LAST = ["True", "True", "True", "2", "True"]
NEEDS = ["pettingzoo", "gymnasium", "pyspiel", "pettingzoo", "gymnasium"]


@pytest.mark.parametrize(("number", "last"), list(enumerate(LAST)))
def test_an_example_runs(number: int, last: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[number])
    ended = run_program(EXAMPLES[number], folder=tmp_path)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, last), ended.err


def test_every_example_is_tested() -> None:
    assert len(EXAMPLES) == len(LAST)
